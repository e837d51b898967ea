import { isoTime, type Hold } from '#foundation/domain/hold.ts';
import type { RunFacts } from './guard.ts';

const COOL_DOWN_MS = 3_600_000;

/** Holds the next prune after one whose result is unknown: that prune may still be deleting. */
export function coolDown({ lastUnknownAt, now }: RunFacts): Hold | undefined {
  if (lastUnknownAt === undefined || now - lastUnknownAt >= COOL_DOWN_MS) return undefined;
  return {
    measured: `the result of the prune at ${isoTime(lastUnknownAt)} is unknown`,
    needed: 'the next prune waits for one hour',
    windowMs: COOL_DOWN_MS,
    since: lastUnknownAt,
    until: lastUnknownAt + COOL_DOWN_MS,
    remedy: 'compare the number of messages in the DLQ with the expected number',
  };
}
