/**
 * A flow-control key: its limits, its waiting items (first in, first out) and its figures. Limits can be pinned, so
 * that no message changes them. The key can be paused, so that none of its items starts.
 *
 * Rate periods follow each other without gaps from the creation of the key. The count of the current period is
 * therefore unambiguous at any time, and no period exceeds the rate.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { AccountJournal } from './journal.ts';
import type { FlowControlSetting } from './message.ts';

/** Settings of the key itself, which no message changes. */
export interface FlowHold {
  readonly paused: boolean;
  readonly parallelism?: number;
  readonly rate?: { readonly max: number; readonly periodMs: number };
}

/** Usage of the present rate period. */
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
  /** A Set is a queue in order of arrival that allows the removal of a canceled item at any place. */
  readonly waiting = new Set<T>();
  #active = 0;
  #parallelism: number | undefined;
  #rate: number | undefined;
  #ownPeriodMs = 1_000;
  /** Present length of the period. */
  #periodMs = 1_000;
  #hold = NO_HOLD;
  /** Monotonic start of the period of `#dispatched`. */
  #periodStart: number;
  #dispatched = 0;

  readonly #onPeriod: ((period: FlowPeriod) => void) | undefined;

  /** @param onPeriod called for each dispatch under a rate, and when the period is set */
  constructor(clock: Clock, onPeriod?: (period: FlowPeriod) => void) {
    this.#clock = clock;
    this.#onPeriod = onPeriod;
    this.#periodStart = clock.monotonic();
  }

  /** Restores the period of an earlier process. The period continues, so that a restart opens no gap. */
  restorePeriod({ startedAt, dispatched }: FlowPeriod): void {
    // A wall clock that was set back must not extend the period.
    this.#periodStart = this.#clock.monotonic() - Math.max(0, this.#clock.now() - startedAt);
    this.#dispatched = dispatched;
    // Replaces the period that was reported when the key was created.
    this.#tellPeriod();
  }

  /**
   * Applies the newest message's limits to the key. The period keeps its start and its count, so that a change of
   * limits never opens a gap.
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

  /** Sets the hold. Wake the dispatcher afterwards, because waiting items may be allowed to start. */
  setHold(hold: FlowHold): void {
    this.#roll();
    const holds = hold.paused || hold.parallelism !== undefined || hold.rate !== undefined;
    this.#hold = holds ? hold : NO_HOLD;
    this.#applyPeriod();
  }

  /** Returns true if nothing runs or waits, and the key has no settings of its own. */
  get idle(): boolean {
    return this.#active === 0 && this.waiting.size === 0 && this.#hold === NO_HOLD;
  }

  /**
   * Returns whether another item can start now. Otherwise `inMs` is the time until the rate allows one, or undefined if
   * an item must end first.
   */
  admission(): { readonly open: true } | { readonly open: false; readonly inMs?: number } {
    const [parallelism, rate] = [this.#parallelismNow, this.#rateNow];
    if (this.#hold.paused || (parallelism !== undefined && this.#active >= parallelism)) return { open: false };
    if (rate === undefined) return { open: true };
    this.#roll();
    if (this.#dispatched < rate) return { open: true };
    // At least 1: the clock has fractions, and a rest that rounds to 0 would make the timer fire at the same time
    // forever.
    return { open: false, inMs: Math.max(1, this.#periodStart + this.#periodMs - this.#clock.monotonic()) };
  }

  /** Counts a waiting item as started. */
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

/** The keys of one account. Keys that are unused for a long time are removed. */
export class FlowLanes<T> {
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #journal: AccountJournal | undefined;
  /** Least recently used first. */
  readonly #lanes = new Map<string, { readonly lane: FlowLane<T>; readonly usedAt: number }>();

  constructor(clock: Clock, keepMs: number, journal?: AccountJournal) {
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.#journal = journal;
  }

  get(key: string): FlowLane<T> | undefined {
    return this.#lanes.get(key)?.lane;
  }

  /** Returns every known key. */
  all(): readonly (readonly [key: string, lane: FlowLane<T>])[] {
    return [...this.#lanes].map(([key, { lane }]) => [key, lane]);
  }

  /** Pins limits of a key and pauses it, or removes both. Creates a missing key. */
  hold(key: string, hold: FlowHold): FlowLane<T> {
    const known = this.#lanes.get(key);
    const lane = known?.lane ?? this.#laneFor(key);
    lane.setHold(hold);
    if (known === undefined) this.#lanes.set(key, { lane, usedAt: this.#clock.monotonic() });
    return lane;
  }

  /** Returns the key's lane with these limits. Creates a missing key. */
  use(setting: FlowControlSetting): FlowLane<T> {
    const now = this.#clock.monotonic();
    const lane = this.#lanes.get(setting.key)?.lane ?? this.#laneFor(setting.key);
    lane.configure(setting);
    this.#journal?.put('flowControl', setting.key, setting);
    this.#lanes.delete(setting.key);
    this.#lanes.set(setting.key, { lane, usedAt: now });
    for (const [key, known] of this.#lanes) {
      if (now - known.usedAt < this.#keepMs) break;
      if (!known.lane.idle) continue;
      this.#lanes.delete(key);
      for (const kind of ['flowControl', 'flowPeriod'] as const) this.#journal?.removed(kind, key);
    }
    return lane;
  }

  #laneFor(key: string): FlowLane<T> {
    const journal = this.#journal;
    return new FlowLane<T>(this.#clock, journal && ((period) => journal.put('flowPeriod', key, period)));
  }
}
