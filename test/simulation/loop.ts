/**
 * The single scheduler of a history: virtual time, and every timer, request and turn of all processes, one after the
 * other. Equal due times are ordered by the seed. After each event, all promises settle before the next one starts.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers';
import { TimerQueue } from '#emulator/control/timer-queue.ts';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { seededRandom, type Random } from '#foundation/platform/random.ts';
import { Faults, type Changes } from './faults.ts';

/** A simulated process. Nothing of a dead one runs or is sent any more. */
export class Process {
  readonly name: string;
  /** Name in the trace: replicas of the daemon have one name, and several labels. */
  readonly label: string;
  alive = true;
  /** Time of the history until which the process is stopped: its events wait. */
  stoppedUntil = 0;
  /** True if its timers run after the bytes that arrived while it was stopped. */
  isSlowToWake = false;
  /** Milliseconds that its monotonic clock has missed, with its machine suspended. Its timers are as late. */
  suspended = 0;
  /** Milliseconds that its wall clock has missed too, until a time server puts it right. */
  missed = 0;
  /** Ends the process at this moment; undefined if it never ends. */
  crash: ((where: string) => void) | undefined;
  /** Offset of its wall clock, in milliseconds. */
  offset = 0;

  constructor(name: string, label = name) {
    this.name = name;
    this.label = label;
  }
}

/** Midnight at the start of each history. */
export const EPOCH = Date.UTC(2026, 10, 20);

/** Likelihood of a crash after each event of a process: about one in three hours. */
const CRASH_AT_STEP = 0.00003;

const owners = new AsyncLocalStorage<Process>();
/** Owner of what no process does. */
export const WORLD = new Process('world');

export function currentProcess(): Process {
  return owners.getStore() ?? WORLD;
}

export interface LoopOptions {
  readonly hasReplicas: boolean;
  readonly isTraced?: boolean | undefined;
  readonly changes?: Changes;
}

export class Loop {
  readonly seed: number;
  readonly hasReplicas: boolean;
  /** Milliseconds since the start of the history. */
  time = 0;
  /** Number of events so far. */
  steps = 0;
  /** Lines of the trace; absent if only its hash is needed. */
  readonly lines: string[] | undefined;
  readonly faults: Faults;
  /** First failure that no process has handled. */
  failure: unknown;
  readonly #queue = new TimerQueue();
  readonly #order: Random;
  readonly #hash = createHash('sha256');
  #unhashed = '';

  constructor(seed: number, { hasReplicas, isTraced = false, changes = {} }: LoopOptions) {
    this.seed = seed;
    this.hasReplicas = hasReplicas;
    this.#order = this.random('order');
    this.faults = new Faults(
      (purpose) => this.random(purpose),
      () => this.time,
      changes,
    );
    if (isTraced) this.lines = [];
  }

  /** Returns a source of random numbers for one purpose: another one does not change it. */
  random(purpose: string): Random {
    return seededRandom(createHash('sha256').update(`${this.seed} ${purpose}`).digest().readUInt32LE());
  }

  after(ms: number, owner: Process, what: string, run: () => void): Timer {
    // A thousandth of a millisecond decides about equal times.
    const due = this.time + Math.max(0, ms) + this.#order() / 1_000;
    let timer: Timer;
    let { suspended } = owner;
    const begin = (): void => {
      if (!owner.alive) return;
      if (what === 'timer' && owner.suspended > suspended) {
        timer = this.#queue.add(due + owner.suspended - suspended, begin);
        suspended = owner.suspended;
        return;
      }
      if (owner.stoppedUntil > this.time) {
        // The queue keeps the order of equal times.
        timer = this.#queue.add(owner.stoppedUntil + (owner.isSlowToWake && what === 'timer' ? 0.001 : 0), begin);
        return;
      }
      this.steps += 1;
      this.note(owner, what);
      owners.run(owner, run);
      // The work that the event has begun does not get further.
      if (owner.crash !== undefined && this.faults.strikes('crash at a step', CRASH_AT_STEP)) owner.crash('at a step');
    };
    timer = this.#queue.add(due, begin);
    const cancel = (): void => timer.cancel();
    return { cancel, [Symbol.dispose]: cancel };
  }

  /** Adds a line to the trace, and to its hash. */
  note(owner: Process, what: string): void {
    this.#unhashed += `${this.time.toFixed(3)} ${owner.label} ${what}\n`;
    if (this.#unhashed.length > 65_536) this.#flush();
    if (what !== 'timer') this.tell(owner, what);
  }

  /** Adds a line to the trace only, for texts that differ from machine to machine. */
  tell(owner: Process, what: string): void {
    this.lines?.push(
      `${new Date(EPOCH + this.time).toISOString().slice(8, 23)} #${this.steps} ${owner.label}: ${what}`,
    );
  }

  hash(): string {
    this.#flush();
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  #flush(): void {
    this.#hash.update(this.#unhashed);
    this.#unhashed = '';
  }

  /** Runs all events for `ms`, or until `isDone`. */
  async run(ms: number, isDone: () => boolean = () => false): Promise<void> {
    const end = this.time + ms;
    await turn();
    while (!isDone()) {
      const due = this.#queue.nextDue;
      if (due === undefined || due > end) break;
      this.time = due;
      this.#queue.takeDue(due)!();
      await turn();
      if (this.failure !== undefined) throw this.failure;
    }
    if (!isDone()) this.time = end;
  }

  clockOf(owner: Process): Clock {
    return {
      now: () => Math.floor(EPOCH + this.time + owner.offset - owner.missed),
      monotonic: () => this.time - owner.suspended,
      after: (ms, run) => this.after(ms, owner, 'timer', run),
    };
  }
}

/** Lets all promises settle: nothing in the simulation waits for the machine. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

let present: Loop | undefined;

/** Sets the history that the replaced modules belong to. */
export function begin(loop: Loop): void {
  present = loop;
}

export function presentLoop(): Loop {
  if (present === undefined) throw new Error('no history runs');
  return present;
}

/** Runs work as this process. All that it starts belongs to the process too. */
export function runAs<T>(owner: Process, work: () => T): T {
  return owners.run(owner, work);
}
