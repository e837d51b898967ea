/**
 * The embedded service's own time. In real mode it runs with the clock it was given; in virtual mode it stands still
 * until it is moved. In both it can be moved forward, timer by timer, and what a timer set off is let come to its end
 * before time goes on. It never goes back.
 */
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { TimerQueue } from './timer-queue.ts';

export type TimeMode = 'real' | 'virtual';

export interface SteerableClockOptions {
  /** What real time is. */
  readonly base: Clock;
  readonly mode: TimeMode;
  /** Epoch milliseconds of the first moment; the base's when absent. */
  readonly startAt?: number | undefined;
}

export class SteerableClock implements Clock {
  readonly #base: Clock;
  readonly #timers = new TimerQueue();
  /** How far this clock is ahead of the base: in real mode. */
  #wallLead: number;
  #monotonicLead = 0;
  /** Where this clock stands: in virtual mode. */
  #frozen: { wall: number; monotonic: number } | undefined;
  /** The base's timer for the first timer of ours, and when it fires: in real mode. */
  #armed: { readonly timer: Timer; readonly due: number } | undefined;
  #moving: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: SteerableClockOptions) {
    this.#base = options.base;
    // Read once: a second look at the base may be a millisecond later.
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
    // A whole millisecond, as `#freeze` has it: moving to a timer moves the wall by a whole number too.
    const timer = this.#timers.add(Math.ceil(this.monotonic() + Math.max(0, ms)), run);
    this.#arm();
    return timer;
  }

  /** How many timers wait. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due, 0 when it is late; undefined when none waits. */
  get nextIn(): number | undefined {
    const due = this.#timers.nextDue;
    return due === undefined ? undefined : Math.max(0, due - this.monotonic());
  }

  /** Once a move in progress has ended: from real to virtual time stops where it is, from virtual to real it goes on from there. */
  setMode(mode: TimeMode): Promise<void> {
    return this.#inTurn(() => {
      if (mode === 'virtual') this.#freeze();
      else this.#thaw();
    });
  }

  /**
   * Moves time on by `ms`, from one timer to the next, each at its own moment. `settled` is awaited before the first
   * step and after each: time does not move while it is pending. Moves that overlap follow each other. A clock in real
   * mode goes on by itself afterwards.
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

  /** No timer fires any more, and a move in progress ends. */
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
    // Whole milliseconds: sums of fractions would make a timer of 12,182 ms one of 12,181.99….
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

  /** Sees to it that the base wakes us for the first timer, and in virtual mode that it does not. */
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
