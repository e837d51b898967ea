/**
 * Runs tasks on schedule. A task never overlaps itself: if a run is due while the previous one is active, it is skipped
 * and counted. Stopping waits for active runs.
 *
 * The scheduler owns all timers, which use the monotonic clock. `every` tasks follow a grid that starts at their first
 * run. A cron task waits for its next slot on the wall clock, and a watchdog restarts the wait when the wall clock was
 * set. Missed runs (a blocked event loop, a jump ahead) are replaced by one run, never by several.
 */
import type { Clock, Timer } from '../platform/clock.ts';
import type { EventBus } from '../events/events.ts';
import type { Random } from '../platform/random.ts';
import { withTimeout } from '../platform/sleep.ts';
import { cronSlots, type CronSlots } from '../settings/cron.ts';
import type { Schedule } from '../settings/schedule.ts';

export interface Task {
  /** Unique within a scheduler. */
  readonly name: string;
  readonly schedule: Schedule;
  /** Time limit of a run; then it is aborted. */
  readonly timeoutMs: number;
  /** Maximum delay of the first run, as a share (0 to 1) of the interval or of one second, whichever is less. Default: 0. */
  readonly jitter?: number;
  /** True for a cron task that also runs soon after the start, as `every` tasks do. */
  readonly runAtStart?: boolean;
  /** Runs the task. A run can request a repetition before its next slot, for example after a failure. */
  readonly run: (signal: AbortSignal) => Promise<void | RunAgain>;
  readonly onSkip?: (reason: 'overlap') => void;
  /**
   * Called when a scheduled run rejects, unless its signal was aborted. A task without it handles its failures itself.
   * A rejection is then a bug and stays unhandled, so that the process sees it.
   */
  readonly onError?: (error: unknown) => void;
}

/** Milliseconds after the end of the run. No effect if the next slot is earlier. */
interface RunAgain {
  readonly againInMs: number;
}

export interface SchedulerDeps {
  readonly clock: Clock;
  readonly events: EventBus;
  readonly random: Random;
  /** Time that `stop` waits for active runs before it aborts them, in milliseconds. Default: 10 s. */
  readonly graceMs?: number;
}

const GRACE_MS = 10_000;
const LONGEST_SPREAD_MS = 1_000;
const WATCH_EVERY_MS = 5_000;
/** Tolerated offset of the wall clock since the last check. A smaller one is slewing or a late check, not a jump. */
const JUMP_MS = 1_000;
const NO_REPEAT_MS = 60_000;

interface Entry {
  readonly task: Task;
  /** Absent for `every` tasks. */
  readonly slots?: CronSlots;
  timer?: Timer;
  /** Next slot of a cron task, in epoch milliseconds. */
  slot?: number;
  /** Last slot that a cron task ran. */
  lastSlot?: number;
  /** Monotonic due time of an `every` task, or of a cron task's run at start. */
  due?: number;
  /** Timer of a requested repetition. */
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
  /** Wall-clock minus monotonic time at the last check. */
  #wallOffset = 0;

  constructor(deps: SchedulerDeps) {
    this.#clock = deps.clock;
    this.#events = deps.events;
    this.#random = deps.random;
    this.#graceMs = deps.graceMs ?? GRACE_MS;
  }

  /**
   * Adds a task. After the start of the scheduler, the task starts immediately.
   *
   * @throws {Error} if the name is taken, the cron expression is invalid, or the scheduler was stopped
   */
  add(task: Task): void {
    if (this.#state === 'stopped') throw new Error(`task ${task.name} was added after the scheduler was stopped`);
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

  /** Returns the epoch milliseconds of the next run; undefined if none is scheduled. */
  nextRunAt(name: string): number | undefined {
    const entry = this.#entries.get(name);
    if (entry?.due !== undefined)
      return Math.ceil(this.#clock.now() + Math.max(0, entry.due - this.#clock.monotonic()));
    return entry?.slot;
  }

  /** Starts no new runs, and aborts active ones after the grace period. Resolves when all have ended. */
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
      this.#abort.abort(new DOMException('the scheduler is stopping', 'AbortError'));
    });
    await Promise.allSettled(running);
  }

  #begin(entry: Entry): void {
    const { schedule, jitter = 0, runAtStart } = entry.task;
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
      // The next future moment of the grid; missed ones are skipped.
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
    // A clock that was set back slightly does not repeat a slot. One that was set back far does not silence the task.
    const after = lastSlot > now && lastSlot - now <= NO_REPEAT_MS ? lastSlot : now;
    const slot = entry.slots?.next(after);
    if (slot === undefined) return;
    entry.slot = slot;
    this.#awaitSlot(entry, slot);
  }

  #awaitSlot(entry: Entry, slot: number): void {
    entry.timer = this.#clock.after(slot - this.#clock.now(), () => {
      // The wall clock is early: it was slewed or set back during the wait.
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

  /**
   * Restarts the waits after the wall clock was set, with the slots of the new time. A slot that was jumped over runs
   * once.
   */
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

  /** Starts a scheduled run. */
  #tick(entry: Entry): void {
    const { onError } = entry.task;
    const run = this.#run(entry);
    if (onError !== undefined) run.catch(onError);
    else void run;
  }

  async #run(entry: Entry): Promise<void> {
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
      if (!aborted) throw error;
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
