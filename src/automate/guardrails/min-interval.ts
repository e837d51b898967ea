import type { RunFacts } from './guard.ts';

/** Spaces the actions of a policy. The interval starts at the last intent, even if its outcome is unknown. */
export function minInterval({ lastIntentAt, minInterval, now }: RunFacts): string | undefined {
  if (lastIntentAt === undefined || minInterval === 0 || now - lastIntentAt >= minInterval) return undefined;
  return `the last action was at ${new Date(lastIntentAt).toISOString()}, the next may be at ${new Date(lastIntentAt + minInterval).toISOString()}`;
}
