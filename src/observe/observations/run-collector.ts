/**
 * Runs a collector once and reports the result: the board gets the batch or the failure, the event bus gets both. The
 * task never rejects, so that a failure of one account does not affect another.
 */
import type { Batch, CollectorName, Observations } from '#foundation/domain/observation.ts';
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import type { ObservationBoard } from './board.ts';

export interface CollectorTaskOptions<N extends CollectorName> {
  readonly account: string;
  readonly collector: N;
  readonly board: ObservationBoard;
  readonly events: EventBus;
  readonly clock: Clock;
  /** Returns why a run must not start: the daemon's own daily requests are used up. Else undefined. */
  readonly mayNot?: () => 'quota' | undefined;
  /** Reads a complete batch, or rejects. `previous` is the latest batch, regardless of age. */
  readonly collect: (
    signal: AbortSignal,
    previous: Batch<N> | undefined,
  ) => Promise<{ readonly rows: readonly Observations[N][]; readonly dropped: number }>;
}

/** Task for a scheduler, without its times. */
export interface CollectorTask {
  /** `account/collector`. */
  readonly name: string;
  /** Runs the collector. After a failure it requests another run before the next slot. */
  readonly run: (signal: AbortSignal) => Promise<{ readonly againInMs: number } | undefined>;
  readonly onSkip: (reason: 'overlap') => void;
}

/** Creates the task of a collector, which must be registered on the board. */
export function collectorTask<N extends CollectorName>(options: CollectorTaskOptions<N>): CollectorTask {
  const { account, collector, board, events, clock } = options;
  let failuresInARow = 0;
  return {
    name: `${account}/${collector}`,
    onSkip: (reason) => events.emit({ type: 'collector.skipped', account, collector, reason }),
    async run(signal) {
      const reason = options.mayNot?.();
      if (reason !== undefined) {
        events.emit({ type: 'collector.skipped', account, collector, reason });
        return undefined;
      }
      const startedAt = clock.monotonic();
      const about = { type: 'collector.finished', account, collector } as const;
      try {
        const { rows, dropped } = await options.collect(signal, board.latest(account, collector));
        const durationMs = clock.monotonic() - startedAt;
        const at = clock.now();
        board.publish({ account, collector, at, rows, dropped }, durationMs);
        events.emit({ ...about, at, durationMs });
        failuresInARow = 0;
        return undefined;
      } catch (error) {
        const durationMs = clock.monotonic() - startedAt;
        const failure = { reason: reasonOf(error, signal), message: messageOf(error, signal) };
        board.fail(account, collector, { ...failure, durationMs });
        events.emit({ ...about, at: clock.now(), durationMs, failure });
        failuresInARow += 1;
        return NOT_SOONER.has(failure.reason) ? undefined : { againInMs: backoff(failuresInARow) };
      }
    },
  };
}

/**
 * Returns the delay before the next attempt: 5 s, then doubled each time, at most one minute. A source with a long
 * interval recovers soon after the service does.
 */
function backoff(failures: number): number {
  return Math.min(5_000 * 2 ** (failures - 1), 60_000);
}

/** Failures without an early retry: the service or our own budget asked for fewer requests, or the run was aborted. */
const NOT_SOONER: ReadonlySet<string> = new Set(['rate_limited', 'budget', 'aborted']);

/**
 * Returns the reason as one of a closed set, since it becomes a label: a service error code, or `internal` for
 * everything else. An abort is classified by its cause, not by the error of the aborted work.
 */
function reasonOf(error: unknown, signal: AbortSignal): string {
  const code = serviceErrorCode(error);
  if (code !== undefined && code !== 'aborted') return code;
  if (error instanceof TimeoutError || (signal.aborted && signal.reason instanceof TimeoutError)) return 'timeout';
  return signal.aborted || code === 'aborted' ? 'aborted' : 'internal';
}

function messageOf(error: unknown, signal: AbortSignal): string {
  const told: unknown = signal.aborted && serviceErrorCode(error) === 'aborted' ? signal.reason : error;
  return errorMessage(told);
}
