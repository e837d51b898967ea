/**
 * When things run. A task never overlaps itself: a tick that comes while the run before goes on is skipped and
 * counted. Stopping waits for runs in progress.
 *
 * All timers are this file's own and count on the monotonic clock. `every` tasks keep to a grid laid at their first
 * run; a cron task waits for its next slot on the wall clock, and a watchdog lays the wait anew when the wall clock
 * was set. Whatever was missed (a blocked event loop, a jump ahead) is made good by one run, never by several.
 */
import type { Clock, Timer } from '../platform/clock.ts';
import type { EventBus } from '../events/events.ts';
import type { Random } from '../platform/random.ts';
import { withTimeout } from '../platform/sleep.ts';
import { cronSlots, type CronSlots } from './cron.ts';
import type { Schedule } from './settings.ts';

export interface Task {
  /** Unique within a scheduler. */
  readonly name: string;
  readonly schedule: Schedule;
  /** A run that takes longer is aborted. */
  readonly timeoutMs: number;
  /** How far the first run may be put off, as a share (0 to 1) of the interval or of a second, whichever is less. */
  readonly jitter: number;
  /** A cron task also runs soon after the start, as `every` tasks do. */
  readonly runAtStart?: boolean;
  /** A run may ask to be repeated before its next slot, as one does that failed. */
  readonly run: (signal: AbortSignal) => Promise<void | RunAgain>;
  readonly onSkip?: (reason: 'overlap') => void;
  /**
   * Called when a run that the schedule asked for rejects, unless its signal was aborted. A task that lacks it handles its
   * failures itself: then a rejection is a bug and stays unhandled, for the process to see.
   */
  readonly onError?: (error: unknown) => void;
}

/** Milliseconds from the end of the run; without effect when the next slot comes sooner. */
interface RunAgain {
  readonly againInMs: number;
}

export interface SchedulerDeps {
  readonly clock: Clock;
  readonly events: EventBus;
  readonly random: Random;
  /** How long `stop` waits for runs in progress before it aborts them, in milliseconds; default 10 s. */
  readonly graceMs?: number;
}

const GRACE_MS = 10_000;
const LONGEST_SPREAD_MS = 1_000;
const WATCH_EVERY_MS = 5_000;
/** A wall clock that is off by less than this since the last look was slewed or read late, not set. */
const JUMP_MS = 1_000;
const NO_REPEAT_MS = 60_000;

interface Entry {
  readonly task: Task;
  /** Absent for `every` tasks. */
  readonly slots?: CronSlots;
  timer?: Timer;
  /** Cron: the slot waited for, epoch milliseconds. */
  slot?: number;
  /** Cron: the slot last run. */
  lastSlot?: number;
  /** The moment waited for on the monotonic clock: of an `every` task, or of a cron task's run at start. */
  due?: number;
  /** Waits to repeat a run that asked for it. */
  again?: Timer;
  running?: Promise<void | RunAgain>;
}

export class Scheduler implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #events: EventBus;
  readonly #random: Random;
  readonly #graceMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #abort = new AbortController();
  #state: 'new' | 'started' | 'stopped' = 'new';
  #stopped: Promise<void> | undefined;
  #watchdog: Timer | undefined;
  /** Wall minus monotonic time at the last look. */
  #wallOffset = 0;

  constructor(deps: SchedulerDeps) {
    this.#clock = deps.clock;
    this.#events = deps.events;
    this.#random = deps.random;
    this.#graceMs = deps.graceMs ?? GRACE_MS;
  }

  /**
   * Before or after the start; a task that comes after it starts at once.
   *
   * @throws {Error} when the name is taken, the cron expression is not valid, or the scheduler was stopped
   */
  add(task: Task): void {
    if (this.#state === 'stopped') throw new Error(`task ${task.name} came after the scheduler was stopped`);
    if (this.#entries.has(task.name)) throw new Error(`there are two tasks named ${task.name}`);
    const entry: Entry =
      'every' in task.schedule ? { task } : { task, slots: cronSlots(task.schedule.cron, task.schedule.timezone) };
    this.#entries.set(task.name, entry);
    if (this.#state === 'started') this.#begin(entry);
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'started';
    this.#wallOffset = this.#clock.now() - this.#clock.monotonic();
    this.#watch();
    for (const entry of this.#entries.values()) this.#begin(entry);
  }

  /** Epoch milliseconds of the next run; undefined when none is planned. */
  nextRunAt(name: string): number | undefined {
    const entry = this.#entries.get(name);
    if (entry?.due !== undefined) return this.#clock.now() + Math.max(0, entry.due - this.#clock.monotonic());
    return entry?.slot;
  }

  /**
   * Runs a task now, beside its schedule. A run in progress is not doubled: then this one is skipped and counted.
   *
   * @throws what the run rejects with
   */
  async runNow(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new Error(`there is no task named ${name}`);
    if (this.#state === 'stopped') throw new Error(`task ${name} cannot run: the scheduler was stopped`);
    await this.#run(entry, { forgiveAbort: false });
  }

  /** No new runs; those in progress are aborted after the grace. Resolves when all have ended. */
  stop(): Promise<void> {
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #drain(): Promise<void> {
    this.#state = 'stopped';
    this.#watchdog?.cancel();
    const running: Promise<unknown>[] = [];
    for (const entry of this.#entries.values()) {
      this.#disarm(entry);
      entry.again?.cancel();
      if (entry.running !== undefined) running.push(entry.running);
    }
    if (running.length === 0) return;
    using _grace = this.#clock.after(this.#graceMs, () => {
      this.#abort.abort(new DOMException('the scheduler stops', 'AbortError'));
    });
    await Promise.allSettled(running);
  }

  #begin(entry: Entry): void {
    const { schedule, jitter, runAtStart } = entry.task;
    if (entry.slots !== undefined && runAtStart !== true) {
      this.#armSlot(entry);
      return;
    }
    const spread = 'every' in schedule ? Math.min(schedule.every, LONGEST_SPREAD_MS) : LONGEST_SPREAD_MS;
    this.#armDue(entry, this.#clock.monotonic() + this.#random() * jitter * spread);
  }

  #armDue(entry: Entry, due: number): void {
    entry.due = due;
    entry.timer = this.#clock.after(due - this.#clock.monotonic(), () => this.#onDue(entry, due));
  }

  #onDue(entry: Entry, due: number): void {
    const { schedule } = entry.task;
    this.#disarm(entry);
    if ('every' in schedule) {
      // The next moment of the grid that is still to come: those missed in between are left out.
      const passed = Math.floor((this.#clock.monotonic() - due) / schedule.every);
      this.#armDue(entry, due + (passed + 1) * schedule.every);
    } else {
      this.#armSlot(entry);
    }
    this.#tick(entry);
  }

  #armSlot(entry: Entry): void {
    const now = this.#clock.now();
    const { lastSlot = now } = entry;
    // A clock that was set back a little does not repeat a slot; one set back far does not silence the task.
    const after = lastSlot > now && lastSlot - now <= NO_REPEAT_MS ? lastSlot : now;
    const slot = entry.slots?.next(after);
    if (slot === undefined) return;
    entry.slot = slot;
    this.#awaitSlot(entry, slot);
  }

  #awaitSlot(entry: Entry, slot: number): void {
    entry.timer = this.#clock.after(slot - this.#clock.now(), () => {
      // Early by the wall clock: it was slewed or set back while this waited.
      if (this.#clock.now() < slot) {
        this.#awaitSlot(entry, slot);
        return;
      }
      this.#disarm(entry);
      entry.lastSlot = slot;
      this.#armSlot(entry);
      this.#tick(entry);
    });
  }

  #disarm(entry: Entry): void {
    entry.timer?.cancel();
    delete entry.timer;
    delete entry.slot;
    delete entry.due;
  }

  #watch(): void {
    this.#watchdog = this.#clock.after(WATCH_EVERY_MS, () => {
      this.#watch();
      const wallOffset = this.#clock.now() - this.#clock.monotonic();
      const jumpMs = wallOffset - this.#wallOffset;
      this.#wallOffset = wallOffset;
      if (Math.abs(jumpMs) >= JUMP_MS) this.#rearm(jumpMs);
    });
  }

  /** The wall clock was set: slots are where it says now. One that was jumped over is run, once. */
  #rearm(jumpMs: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.slot === undefined) continue;
      const jumpedOver = entry.slot <= this.#clock.now();
      this.#disarm(entry);
      this.#armSlot(entry);
      this.#events.emit({ type: 'schedule.rearmed', name: entry.task.name, jumpMs: Math.round(jumpMs) });
      if (jumpedOver) this.#tick(entry);
    }
  }

  /** A run that the schedule asks for. */
  #tick(entry: Entry): void {
    const { onError } = entry.task;
    const run = this.#run(entry, { forgiveAbort: true });
    if (onError !== undefined) run.catch(onError);
    else void run;
  }

  async #run(entry: Entry, options: { readonly forgiveAbort: boolean }): Promise<void> {
    const { task } = entry;
    if (entry.running !== undefined) {
      task.onSkip?.('overlap');
      return;
    }
    entry.again?.cancel();
    let aborted = false;
    const run = withTimeout(this.#clock, task.timeoutMs, this.#abort.signal, async (signal) => {
      try {
        return await task.run(signal);
      } catch (error) {
        aborted = signal.aborted;
        throw error;
      }
    });
    entry.running = run;
    let asked: void | RunAgain = undefined;
    try {
      asked = await run;
    } catch (error) {
      if (!aborted || !options.forgiveAbort) throw error;
    } finally {
      delete entry.running;
    }
    if (asked !== undefined) this.#armAgain(entry, asked.againInMs);
  }

  #armAgain(entry: Entry, ms: number): void {
    const next = this.nextRunAt(entry.task.name) ?? Infinity;
    if (this.#state !== 'started' || next - this.#clock.now() <= ms) return;
    entry.again = this.#clock.after(ms, () => this.#tick(entry));
  }
}
