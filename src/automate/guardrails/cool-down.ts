import type { RunFacts } from './guard.ts';

const COOL_DOWN_MS = 3_600_000;

/** Holds the next prune after one whose result is unknown: that prune may still be deleting. */
export function coolDown({ lastUnknownAt, now }: RunFacts): string | undefined {
  if (lastUnknownAt === undefined || now - lastUnknownAt >= COOL_DOWN_MS) return undefined;
  const [at, until] = [lastUnknownAt, lastUnknownAt + COOL_DOWN_MS].map((time) => new Date(time).toISOString());
  return `the result of the prune at ${at} is unknown; the next prune is allowed at ${until}`;
}
