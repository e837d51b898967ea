/**
 * A flow-control key: its limits, who waits (first in, first out) and the figures that the service tells of it. Limits
 * can be pinned, so that no message changes them, and the key can be paused, so that nothing of it is begun.
 *
 * Rate periods follow each other without gaps from the moment the key was made, so "dispatched in the current
 * period" has one answer at any time and no period sees more than the rate.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { FlowControlSetting } from './message.ts';

/** What is set on the key itself: no message changes it. */
export interface FlowHold {
  readonly paused: boolean;
  readonly parallelism?: number;
  readonly rate?: { readonly max: number; readonly periodMs: number };
}

/** How much of the present rate period is used up. */
export interface FlowPeriod {
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly dispatched: number;
}

export interface FlowFigures {
  readonly waitListSize: number;
  readonly parallelismMax?: number;
  readonly parallelismCount: number;
  readonly rateMax?: number;
  readonly rateCount?: number;
  /** Seconds. */
  readonly ratePeriod?: number;
  /** Unix seconds. */
  readonly ratePeriodStart?: number;
  readonly isPinnedParallelism: boolean;
  readonly isPinnedRate: boolean;
  readonly isPaused: boolean;
}

const NO_HOLD: FlowHold = { paused: false };

export class FlowLane<T> {
  readonly #clock: Clock;
  /** A Set is a queue in order of arrival from which a canceled item can be taken at any place. */
  readonly waiting = new Set<T>();
  #active = 0;
  #parallelism: number | undefined;
  #rate: number | undefined;
  #ownPeriodMs = 1_000;
  /** The one in force. */
  #periodMs = 1_000;
  #hold = NO_HOLD;
  /** Monotonic start of the period that `#dispatched` counts in. */
  #periodStart: number;
  #dispatched = 0;

  readonly #onPeriod: ((period: FlowPeriod) => void) | undefined;

  /** @param onPeriod told of each dispatch under a rate, and when the period is set */
  constructor(clock: Clock, onPeriod?: (period: FlowPeriod) => void) {
    this.#clock = clock;
    this.#onPeriod = onPeriod;
    this.#periodStart = clock.monotonic();
  }

  /** Of an earlier process: a period goes on where it was, so that a restart opens no gap. */
  restorePeriod({ startedAt, dispatched }: FlowPeriod): void {
    // A wall clock that was set back must not make the period longer.
    this.#periodStart = this.#clock.monotonic() - Math.max(0, this.#clock.now() - startedAt);
    this.#dispatched = dispatched;
    // In the place of the new one that was told of when the key was made.
    this.#tellPeriod();
  }

  /**
   * The newest message's limits hold for the key. The period goes on from where it began and keeps its count, so that
   * changing limits never opens a gap.
   */
  configure(setting: FlowControlSetting): void {
    this.#roll();
    this.#parallelism = setting.parallelism;
    this.#rate = setting.rate;
    if (setting.periodMs !== undefined) this.#ownPeriodMs = setting.periodMs;
    this.#applyPeriod();
    this.#tellPeriod();
  }

  get hold(): FlowHold {
    return this.#hold;
  }

  /** The dispatcher must be woken after it: what waits may be allowed to start. */
  setHold(hold: FlowHold): void {
    this.#roll();
    const holds = hold.paused || hold.parallelism !== undefined || hold.rate !== undefined;
    this.#hold = holds ? hold : NO_HOLD;
    this.#applyPeriod();
  }

  /** Nothing runs or waits, and nothing is set on the key that must be remembered. */
  get idle(): boolean {
    return this.#active === 0 && this.waiting.size === 0 && this.#hold === NO_HOLD;
  }

  /** Whether another item may start now; else the milliseconds until the rate allows one, or undefined when an end must come first. */
  admission(): { readonly open: true } | { readonly open: false; readonly inMs?: number } {
    const [parallelism, rate] = [this.#parallelismNow, this.#rateNow];
    if (this.#hold.paused || (parallelism !== undefined && this.#active >= parallelism)) return { open: false };
    if (rate === undefined) return { open: true };
    this.#roll();
    if (this.#dispatched < rate) return { open: true };
    // The clock counts in fractions: a rest that rounds to nothing would be asked for in the same moment for ever.
    return { open: false, inMs: Math.max(1, this.#periodStart + this.#periodMs - this.#clock.monotonic()) };
  }

  /** One that waits is counted as started. */
  take(item: T): void {
    this.waiting.delete(item);
    this.#roll();
    this.#active++;
    this.#dispatched++;
    this.#tellPeriod();
  }

  release(): void {
    this.#active--;
  }

  figures(): FlowFigures {
    this.#roll();
    const [parallelism, rate] = [this.#parallelismNow, this.#rateNow];
    const sinceStart = this.#clock.monotonic() - this.#periodStart;
    return {
      waitListSize: this.waiting.size,
      ...(parallelism !== undefined && { parallelismMax: parallelism }),
      parallelismCount: this.#active,
      ...(rate !== undefined && {
        rateMax: rate,
        rateCount: this.#dispatched,
        ratePeriod: this.#periodMs / 1_000,
        ratePeriodStart: Math.floor((this.#clock.now() - sinceStart) / 1_000),
      }),
      isPinnedParallelism: this.#hold.parallelism !== undefined,
      isPinnedRate: this.#hold.rate !== undefined,
      isPaused: this.#hold.paused,
    };
  }

  get #parallelismNow(): number | undefined {
    return this.#hold.parallelism ?? this.#parallelism;
  }

  get #rateNow(): number | undefined {
    return this.#hold.rate?.max ?? this.#rate;
  }

  #tellPeriod(): void {
    if (this.#onPeriod === undefined || this.#rateNow === undefined) return;
    const startedAt = this.#clock.now() - (this.#clock.monotonic() - this.#periodStart);
    this.#onPeriod({ startedAt, dispatched: this.#dispatched });
  }

  #applyPeriod(): void {
    this.#periodMs = this.#hold.rate?.periodMs ?? this.#ownPeriodMs;
  }

  #roll(): void {
    const periods = Math.floor((this.#clock.monotonic() - this.#periodStart) / this.#periodMs);
    if (periods < 1) return;
    this.#periodStart += periods * this.#periodMs;
    this.#dispatched = 0;
  }
}

interface FlowLanesOptions {
  /** Told of each use, whether or not it changed the limits. */
  readonly onUsed?: ((setting: FlowControlSetting) => void) | undefined;
  readonly onPeriod?: ((key: string, period: FlowPeriod) => void) | undefined;
  readonly onForgotten?: ((key: string) => void) | undefined;
}

/** The keys of one account. Keys that nobody used for long are forgotten. */
export class FlowLanes<T> {
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #options: FlowLanesOptions;
  /** Least recently used first. */
  readonly #lanes = new Map<string, { readonly lane: FlowLane<T>; readonly usedAt: number }>();

  constructor(clock: Clock, keepMs: number, options: FlowLanesOptions = {}) {
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.#options = options;
  }

  get(key: string): FlowLane<T> | undefined {
    return this.#lanes.get(key)?.lane;
  }

  /** Every key that is known. */
  all(): readonly (readonly [key: string, lane: FlowLane<T>])[] {
    return [...this.#lanes].map(([key, { lane }]) => [key, lane]);
  }

  /** Pins limits of a key and pauses it, or lets go of both; the key is made when missing. */
  hold(key: string, hold: FlowHold): FlowLane<T> {
    const known = this.#lanes.get(key);
    const lane = known?.lane ?? this.#laneFor(key);
    lane.setHold(hold);
    if (known === undefined) this.#lanes.set(key, { lane, usedAt: this.#clock.monotonic() });
    return lane;
  }

  /** The key's lane with these limits, made when missing. */
  use(setting: FlowControlSetting): FlowLane<T> {
    const now = this.#clock.monotonic();
    const lane = this.#lanes.get(setting.key)?.lane ?? this.#laneFor(setting.key);
    lane.configure(setting);
    this.#options.onUsed?.(setting);
    this.#lanes.delete(setting.key);
    this.#lanes.set(setting.key, { lane, usedAt: now });
    for (const [key, known] of this.#lanes) {
      if (now - known.usedAt < this.#keepMs) break;
      if (!known.lane.idle) continue;
      this.#lanes.delete(key);
      this.#options.onForgotten?.(key);
    }
    return lane;
  }

  #laneFor(key: string): FlowLane<T> {
    const { onPeriod } = this.#options;
    return new FlowLane<T>(this.#clock, onPeriod && ((period) => onPeriod(key, period)));
  }
}
