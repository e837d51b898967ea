import { formatDuration } from '#foundation/domain/duration.ts';
import { isoTime, type Hold } from '#foundation/domain/hold.ts';
import type { RunFacts } from './guard.ts';

/** Spaces the actions of a policy. The interval starts at the last intent, even if its outcome is unknown. */
export function minInterval({ lastIntentAt, minInterval, now }: RunFacts): Hold | undefined {
  if (lastIntentAt === undefined || minInterval === 0 || now - lastIntentAt >= minInterval) return undefined;
  return {
    measured: `the last action was at ${isoTime(lastIntentAt)}`,
    needed: `limits.minInterval is ${formatDuration(minInterval)}`,
    windowMs: minInterval,
    since: lastIntentAt,
    until: lastIntentAt + minInterval,
    remedy: 'wait',
  };
}
