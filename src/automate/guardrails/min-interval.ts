import type { RunFacts } from './guard.ts';

/** Counted from the last intent: an intent whose outcome nobody knows counts as well. */
export function minInterval({ lastIntentAt, minInterval, now }: RunFacts): string | undefined {
  if (lastIntentAt === undefined || minInterval === 0 || now - lastIntentAt >= minInterval) return undefined;
  return `the last act was at ${new Date(lastIntentAt).toISOString()}, the next may be at ${new Date(lastIntentAt + minInterval).toISOString()}`;
}
