/**
 * Clock of the embedded service. In real mode it follows a base clock; in virtual mode it stops until a move. Both
 * modes allow moves forward, timer by timer. Each move waits until the work of a timer has ended. The clock never moves
 * backward.
 */
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { TimerQueue } from './timer-queue.ts';

export type TimeMode = 'real' | 'virtual';

export interface SteerableClockOptions {
  /** Real time. */
  readonly base: Clock;
  readonly mode: TimeMode;
  /** First time in epoch milliseconds; the base's time when absent. */
  readonly startAt?: number | undefined;
}

export class SteerableClock implements Clock {
  readonly #base: Clock;
  readonly #timers = new TimerQueue();
  /** Lead of this clock over the base, in real mode. */
  #wallLead: number;
  #monotonicLead = 0;
  /** Time of this clock, in virtual mode. */
  #frozen: { wall: number; monotonic: number } | undefined;
  /** Base timer for this clock's first timer, with its due time, in real mode. */
  #armed: { readonly timer: Timer; readonly due: number } | undefined;
  #moving: Promise<void> = Promise.resolve();
  #closed = false;
  #added = Promise.withResolvers<void>();

  constructor(options: SteerableClockOptions) {
    this.#base = options.base;
    // Reads the base once: a second read may be a millisecond later.
    const now = options.base.now();
    const startAt = Math.floor(options.startAt ?? now);
    this.#wallLead = startAt - now;
    if (options.mode === 'virtual') this.#frozen = { wall: startAt, monotonic: Math.ceil(options.base.monotonic()) };
  }

  get mode(): TimeMode {
    return this.#frozen === undefined ? 'real' : 'virtual';
  }

  now(): number {
    return this.#frozen?.wall ?? this.#base.now() + this.#wallLead;
  }

  monotonic(): number {
    return this.#frozen?.monotonic ?? this.#base.monotonic() + this.#monotonicLead;
  }

  after(ms: number, run: () => void): Timer {
    // Rounds up to a whole millisecond, as `#freeze` does. A move to a timer then moves the wall clock by a whole
    // number too.
    const timer = this.#timers.add(Math.ceil(this.monotonic() + Math.max(0, ms)), run);
    this.#added.resolve();
    this.#added = Promise.withResolvers<void>();
    this.#arm();
    return timer;
  }

  /** Number of pending timers. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Returns milliseconds until the next timer: 0 when it is late, undefined when no timer is pending. */
  get nextIn(): number | undefined {
    const due = this.#timers.nextDue;
    return due === undefined ? undefined : Math.max(0, due - this.monotonic());
  }

  /** Resolves when a timer is added. */
  timerAdded(): Promise<void> {
    return this.#added.promise;
  }

  /** Changes the mode after any move in progress. The new mode continues from the present time. */
  setMode(mode: TimeMode): Promise<void> {
    return this.#inTurn(() => {
      if (mode === 'virtual') this.#freeze();
      else this.#thaw();
    });
  }

  /**
   * Moves time by `ms`, from one timer to the next, each at its due time. Before the first step and after each step,
   * the move awaits `settled`; time does not change in between. Overlapping moves run in order. A clock in real mode
   * continues afterwards.
   */
  advance(ms: number, settled: () => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      const { mode } = this;
      const { monotonic } = this.#freeze();
      const end = Math.ceil(monotonic + ms);
      try {
        await settled();
        for (let due = this.#timers.nextDue; due !== undefined && due <= end; due = this.#timers.nextDue) {
          if (this.#closed) return;
          this.#moveTo(due);
          this.#runDue(due);
          await settled();
        }
        this.#moveTo(end);
      } finally {
        if (mode === 'real') this.#thaw();
      }
    });
  }

  /**
   * Moves virtual time to the next timer, and awaits `settled`. It does not move when `isAllowed` returns false after
   * any move in progress.
   */
  skip(isAllowed: () => boolean, settled: () => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      const due = this.#timers.nextDue;
      if (due === undefined || this.#closed || this.#frozen === undefined || !isAllowed()) return;
      this.#moveTo(due);
      this.#runDue(due);
      await settled();
    });
  }

  /** Stops all timers and ends a move in progress. */
  close(): void {
    this.#closed = true;
    this.#armed?.timer.cancel();
  }

  #inTurn(work: () => Promise<void> | void): Promise<void> {
    const turn = this.#moving.then(work);
    this.#moving = turn.catch(() => undefined);
    return turn;
  }

  #freeze(): { wall: number; monotonic: number } {
    // Whole milliseconds: sums of fractions would turn a timer of 12,182 ms into one of 12,181.99….
    this.#frozen ??= { wall: this.now(), monotonic: Math.ceil(this.monotonic()) };
    this.#arm();
    return this.#frozen;
  }

  #thaw(): void {
    if (this.#frozen === undefined) return;
    this.#wallLead = this.#frozen.wall - this.#base.now();
    this.#monotonicLead = this.#frozen.monotonic - this.#base.monotonic();
    this.#frozen = undefined;
    this.#arm();
  }

  #moveTo(monotonic: number): void {
    const frozen = this.#frozen!;
    const by = Math.max(0, monotonic - frozen.monotonic);
    frozen.monotonic += by;
    frozen.wall += by;
  }

  #runDue(by: number): void {
    for (let run = this.#timers.takeDue(by); run !== undefined; run = this.#timers.takeDue(by)) run();
  }

  /** Arms the base's timer for the first timer of this clock; cancels it in virtual mode. */
  #arm(): void {
    const due = this.#frozen === undefined && !this.#closed ? this.#timers.nextDue : undefined;
    if (due === this.#armed?.due) return;
    this.#armed?.timer.cancel();
    this.#armed = undefined;
    if (due === undefined) return;
    const wake = (): void => {
      this.#armed = undefined;
      this.#runDue(this.monotonic());
      this.#arm();
    };
    this.#armed = { timer: this.#base.after(due - this.monotonic(), wake), due };
  }
}
