/**
 * Lag of each account's log counting behind the local clock, and its catch-up rate. Every watermark is reported here as
 * soon as it is committed, so a later failure of the run hides no progress.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

/** Time over which the catch-up rate is measured. */
const MEASURED_MS = 10 * 60_000;
/** The rate is unknown before this time: a single window says little. */
const MEASURED_AT_LEAST_MS = 60_000;
/** Distance between two marks of the measurement. */
const MARK_EVERY_MS = 10_000;

export interface LogLagReading {
  /** End of the counted log, in epoch milliseconds. */
  readonly watermark: number;
  /** Milliseconds between the watermark and now; absent while the watermark is ahead of the local clock. */
  readonly lagMs?: number;
  /** Seconds of log counted per second, over the last 10 minutes; absent in the first minute. */
  readonly catchUpRatio?: number;
}

/** Watermark and its commit time on the monotonic clock. */
interface Mark {
  readonly at: number;
  readonly watermark: number;
}

interface AccountLag {
  watermark: number;
  marks: Mark[];
}

export class LogLag {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountLag>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records the watermark of an account, after each commit and when a run begins. */
  take(account: string, watermark: number): void {
    const at = this.#clock.monotonic();
    const lag = getOrAdd(this.#accounts, account, () => ({ watermark, marks: [] }));
    // A watermark that was reset starts a new measurement.
    if (watermark < lag.watermark) lag.marks = [];
    lag.watermark = watermark;
    const last = lag.marks.at(-1);
    if (last !== undefined && at - last.at < MARK_EVERY_MS) return;
    // One mark at or before the start of the measured time is the base of the rate.
    const old = lag.marks.findLastIndex((mark) => at - mark.at >= MEASURED_MS);
    lag.marks.splice(0, Math.max(0, old));
    lag.marks.push({ at, watermark });
  }

  /** Returns the lag of an account; undefined before its first run. */
  of(account: string): LogLagReading | undefined {
    const lag = this.#accounts.get(account);
    if (lag === undefined) return undefined;
    const { watermark, marks } = lag;
    const now = this.#clock.monotonic();
    const base = marks.findLast((mark) => now - mark.at >= MEASURED_MS) ?? marks[0];
    const measuredMs = base === undefined ? 0 : now - base.at;
    const lagMs = this.#clock.now() - watermark;
    return {
      watermark,
      ...(lagMs >= 0 && { lagMs }),
      ...(measuredMs >= MEASURED_AT_LEAST_MS && { catchUpRatio: (watermark - base!.watermark) / measuredMs }),
    };
  }
}
