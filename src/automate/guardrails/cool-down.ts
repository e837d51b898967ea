import type { RunFacts } from './guard.ts';

const COOL_DOWN_MS = 3_600_000;

/** A prune of which nobody knows what it deleted may still be under way: the next one waits. */
export function coolDown({ lastUnknownAt, now }: RunFacts): string | undefined {
  if (lastUnknownAt === undefined || now - lastUnknownAt >= COOL_DOWN_MS) return undefined;
  const [at, until] = [lastUnknownAt, lastUnknownAt + COOL_DOWN_MS].map((time) => new Date(time).toISOString());
  return `what the prune at ${at} deleted is not known; the next may be at ${until}`;
}
