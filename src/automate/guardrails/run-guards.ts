/** Guards of a run: before anything is read, and again before every request. */
import { MAX_CLOCK_SKEW_MS, clockFault } from '#foundation/domain/clock-skew.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { isoTime, type Hold } from '#foundation/domain/hold.ts';
import type { RunFacts } from './guard.ts';

/**
 * Holds every run while a pause is active: by the kill switch file, an operator, or the daemon itself. A file whose
 * existence cannot be determined counts as present. Never overridden. Remedy: find out why it was paused; remove the
 * file, or run `opsd unpause --reason TEXT`.
 */
export function killSwitch({ paused }: RunFacts): Hold | undefined {
  if (paused === undefined) return undefined;
  const { reason, remedy, since } = paused;
  return { measured: reason, needed: 'nothing is sent during a pause', remedy, since };
}

/**
 * Allows one executor for each store. Also holds every run if the store file is damaged, moved, or removed. Never
 * overridden. Remedy: stop the other daemon, or restore the store.
 */
export function lease({ leaseLost }: RunFacts): Hold | undefined {
  if (leaseLost === undefined) return undefined;
  return {
    measured: leaseLost,
    needed: 'only the one owner of an intact store sends requests',
    remedy: 'stop the other process, or restore the store',
  };
}

/**
 * Holds a run unless the service has responded and the local clock differs from its `Date` by at most 60 s. Without a
 * `Date`, the clock must agree with the time elapsed since the start. Never overridden. Remedy: correct the clock. If
 * the service sends no `Date`, restart the daemon.
 */
export function clock({ clockSkewMs }: RunFacts): Hold | undefined {
  const measured =
    clockSkewMs === undefined
      ? 'no response from the service since the daemon started, so the local clock is not checked'
      : clockFault(clockSkewMs);
  if (measured === undefined) return undefined;
  const remedy = clockSkewMs === undefined ? 'check that the service responds' : 'correct the clock';
  return { measured, needed: `the difference must be at most ${MAX_CLOCK_SKEW_MS / 1_000} s`, remedy };
}

/** Defers a run outside the policy's `windows`, a manual one as well. Remedy: wait, or change `windows`. */
export function window({ opensAt }: RunFacts): Hold | undefined {
  if (opensAt === undefined) return undefined;
  return {
    measured: 'the policy is outside its windows',
    needed: opensAt === Infinity ? 'no window opens within two weeks' : 'requests are sent only inside',
    until: opensAt === Infinity ? undefined : opensAt,
    remedy: opensAt === Infinity ? 'change `windows`' : 'wait, or change `windows`',
  };
}

/**
 * Requires all preconditions to be true: an unknown one holds the run too. Remedy: check the fact that it uses. If it
 * is unknown, its collector fails.
 */
export function precondition({ unmet }: RunFacts): Hold | undefined {
  if (unmet.length === 0) return undefined;
  return {
    measured: unmet.map(({ name, verdict }) => `${name} ${verdict === 'no' ? 'is false' : 'is unknown'}`).join(', '),
    needed: 'every precondition must be true',
    remedy: unmet.some(({ verdict }) => verdict === 'error')
      ? 'check the collectors of the unknown facts'
      : 'check the facts that it uses',
  };
}

/**
 * Defers a run until `limits.minInterval` (0) has passed since the last action, even if its outcome is unknown. Remedy:
 * wait.
 */
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

const COOL_DOWN_MS = 3_600_000;

/** Holds the next prune for 1 h after one whose result is unknown: that prune may still be deleting. Remedy: wait. */
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
