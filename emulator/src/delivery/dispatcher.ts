/**
 * Selects the next delivery. It has a bounded number of workers. Lanes wait for their own limits and for shared limits.
 * Lanes take turns, so that a long queue does not delay other lanes. An item holds a worker only while it runs.
 */
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { FlowLane } from '../state/flow-lane.ts';
import type { Hold } from './shared-limits.ts';

export interface DispatcherOptions<T> {
  readonly clock: Clock;
  /** Limits that lanes share; none when absent. */
  readonly shared?: {
    readonly holding: (item: T) => Hold | undefined;
    readonly begin: (item: T) => void;
    /** Returns the holds that the item's end may have opened. */
    readonly end: (item: T) => readonly Hold[];
  };
  /** Maximum number of items that run concurrently. */
  readonly workers: number;
  /** Begins an item. Must not throw. The caller reports the item's end with `done`. */
  readonly start: (item: T, lane: FlowLane<T>) => void;
}

/** Number of a lane's items searched for one that no shared limit holds. Items behind them wait. */
const LOOK_AHEAD = 64;

export class Dispatcher<T> {
  readonly #options: DispatcherOptions<T>;
  /** Lanes that may have an item to start, in turn. */
  readonly #ready = new Set<FlowLane<T>>();
  /** Timers of lanes that only their rate holds. */
  readonly #timers = new Map<FlowLane<T>, Timer>();
  /** Lanes whose items a shared limit holds, in turn. */
  readonly #held = new Map<Hold, Set<FlowLane<T>>>();
  readonly #holdTimers = new Map<Hold, Timer>();
  /** Lanes released by the opening of holds. If a hold is still open after its lane, it releases the next. */
  readonly #letGo = new Map<FlowLane<T>, Set<Hold>>();
  #running = 0;
  #pumping = false;
  #stopped = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: DispatcherOptions<T>) {
    this.#options = options;
  }

  offer(item: T, lane: FlowLane<T>): void {
    lane.waiting.add(item);
    this.wake(lane);
  }

  /** Rechecks a lane whose limits may have changed. */
  wake(lane: FlowLane<T>): void {
    this.#timers.get(lane)?.cancel();
    this.#timers.delete(lane);
    this.#ready.add(lane);
    this.#pump();
  }

  /** Rechecks lanes after a change of the shared limits. */
  wakeHeld(): void {
    for (const hold of this.#held.keys()) this.#letOneGo(hold);
    this.#pump();
  }

  done(item: T, lane: FlowLane<T>): void {
    lane.release();
    this.#running--;
    for (const hold of this.#options.shared?.end(item) ?? []) this.#letOneGo(hold);
    if (lane.waiting.size > 0) this.#ready.add(lane);
    this.#pump();
    if (this.#running > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** Resolves when no item runs. Items that wait for time or a lane do not run. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Starts no more items. */
  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    for (const timer of this.#holdTimers.values()) timer.cancel();
    this.#holdTimers.clear();
  }

  #wakeIn(lane: FlowLane<T>, ms: number): void {
    this.#timers.get(lane)?.cancel();
    const timer = this.#options.clock.after(ms, () => this.wake(lane));
    this.#timers.set(lane, timer);
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (!this.#stopped && this.#running < this.#options.workers) {
      const [lane] = this.#ready;
      if (lane === undefined) break;
      this.#ready.delete(lane);
      this.#turnOf(lane);
      const holds = this.#letGo.get(lane);
      this.#letGo.delete(lane);
      for (const hold of holds ?? []) {
        // The hold holds this lane again, so its item does not fit. A further release would loop forever.
        if (hold.isOpen() && this.#held.get(hold)?.has(lane) !== true) this.#letOneGo(hold);
      }
    }
    this.#pumping = false;
  }

  /** Starts one item of the lane, or schedules the next check of the lane. */
  #turnOf(lane: FlowLane<T>): void {
    if (lane.waiting.size === 0) return;
    const admission = lane.admission();
    if (!admission.open) {
      if (admission.inMs !== undefined) this.#wakeIn(lane, admission.inMs);
      return;
    }
    const holds = new Set<Hold>();
    let looked = 0;
    for (const item of lane.waiting) {
      const hold = this.#options.shared?.holding(item);
      if (hold === undefined) {
        lane.take(item);
        this.#options.shared?.begin(item);
        this.#running++;
        // Moves the lane behind the others: each lane starts one item per turn.
        this.#ready.add(lane);
        this.#options.start(item, lane);
        return;
      }
      holds.add(hold);
      if (++looked === LOOK_AHEAD) break;
    }
    for (const hold of holds) this.#hold(lane, hold);
  }

  #hold(lane: FlowLane<T>, hold: Hold): void {
    getOrAdd(this.#held, hold, () => new Set()).add(lane);
    this.#openInTime(hold);
  }

  #openInTime(hold: Hold): void {
    if (hold.opensInMs === undefined || this.#holdTimers.has(hold)) return;
    const timer = this.#options.clock.after(hold.opensInMs(), () => {
      this.#holdTimers.delete(hold);
      this.#letOneGo(hold);
      this.#pump();
    });
    this.#holdTimers.set(hold, timer);
  }

  #letOneGo(hold: Hold): void {
    const lanes = this.#held.get(hold);
    const [lane] = lanes ?? [];
    if (lanes === undefined || lane === undefined) return;
    lanes.delete(lane);
    if (lanes.size === 0) this.#held.delete(hold);
    // Rearms the timer for the lanes that still wait.
    else this.#openInTime(hold);
    getOrAdd(this.#letGo, lane, () => new Set()).add(hold);
    this.#ready.add(lane);
  }
}
