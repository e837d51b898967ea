/**
 * One run of one collector, told to everybody whom it concerns: the board gets the batch or the failure, the event
 * bus hears of either. The task never rejects, so that one account's trouble is no other's.
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
  /** Why a run is not started: the requests that the daemon allows itself today are used up. Undefined when it is. */
  readonly mayNot?: () => 'quota' | undefined;
  /** Reads a complete batch, or rejects. `previous` is the latest batch, however old. */
  readonly collect: (
    signal: AbortSignal,
    previous: Batch<N> | undefined,
  ) => Promise<{ readonly rows: readonly Observations[N][]; readonly dropped: number }>;
}

/** What a scheduler needs of a task besides its times. */
export interface CollectorTask {
  /** `account/collector`. */
  readonly name: string;
  /** After a failure it asks to be run again before its next slot. */
  readonly run: (signal: AbortSignal) => Promise<{ readonly againInMs: number } | undefined>;
  readonly onSkip: (reason: 'overlap') => void;
}

/** The collector must have been registered on the board. */
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

/** 5 s, then twice as long each time, a minute at most: a source of a long interval is back soon after the service is. */
function backoff(failures: number): number {
  return Math.min(5_000 * 2 ** (failures - 1), 60_000);
}

/** The service, or our own budget, asked for fewer requests; or nobody asks any more. */
const NOT_SOONER: ReadonlySet<string> = new Set(['rate_limited', 'budget', 'aborted']);

/**
 * A closed set, for it becomes a label: the codes of the service's errors, and `internal` for everything else. An
 * abort is told by its cause, whatever the aborted work made of it.
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
