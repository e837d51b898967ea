/**
 * When the service is at rest, and the skips of time between its rests. Time skips from one timer to the next while no
 * request and no delivery is in progress. A delivery that uses up its real time counts as hanging, so that time reaches
 * its timeout.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { ApiError } from '../state/api-error.ts';
import type { Engine } from '../delivery/engine.ts';
import type { Activity } from './activity.ts';
import { DEFAULT_PATIENCE_MS, settled } from './advance.ts';
import { busyText } from './busy-text.ts';
import type { ScriptedDestinations } from './scripted-destinations.ts';
import type { SteerableClock, TimeMode } from './steerable-clock.ts';

/** Below the limit that test runners give a test, so that the test shows what it waits for. */
const DEFAULT_LIMIT_MS = 4_000;

/** Longest pause between two looks in real time. */
const LOOK_MS = 50;

interface RestParts {
  readonly clock: SteerableClock;
  readonly realTime: Clock;
  readonly activity: Activity;
  /** Called at each step: a reset replaces it. */
  readonly engine: () => Engine;
  readonly destinations: Pick<ScriptedDestinations, 'holds'>;
}

export class Rest {
  readonly #parts: RestParts;
  /** Attempts that used up their real time while time skipped. */
  readonly #hanging = new Set<string>();
  /** Identifies the present run of skips; undefined while time does not skip. */
  #skipping: symbol | undefined;

  constructor(parts: RestParts) {
    this.#parts = parts;
  }

  get mode(): TimeMode | 'skip' {
    return this.#skipping === undefined ? this.#parts.clock.mode : 'skip';
  }

  /** Changes the mode after any move in progress. The new mode continues from the present time. */
  async setMode(mode: TimeMode | 'skip'): Promise<void> {
    this.#skipping = undefined;
    await this.#parts.clock.setMode(mode === 'real' ? 'real' : 'virtual');
    if (mode === 'skip') this.skip();
  }

  /** Begins to skip. The clock must be in virtual mode. */
  skip(): void {
    const run = Symbol('skips');
    this.#skipping = run;
    void this.#skipWhile(() => this.#skipping === run);
  }

  /** Ends the skips. */
  close(): void {
    this.#skipping = undefined;
  }

  /**
   * Resolves when every message is delivered or has failed, or waits for something outside: in virtual time, that is the
   * next move of the clock too.
   *
   * @throws {ApiError} 409 that names what keeps the service busy, after `limitMs` of real time
   */
  async idle({ limitMs = DEFAULT_LIMIT_MS }: { readonly limitMs?: number | undefined } = {}): Promise<void> {
    const { clock, realTime, engine } = this.#parts;
    const before = engine().submitted;
    const limit = new AbortController();
    const over = new Promise<void>((resolve) => limit.signal.addEventListener('abort', () => resolve()));
    using _timer = realTime.after(limitMs, () => limit.abort());
    const rest = async (): Promise<void> => {
      while (!limit.signal.aborted) {
        await this.#settle();
        if (!this.#isAtRest) continue;
        if (clock.nextIn === undefined || this.mode === 'virtual') return;
        if (this.mode === 'skip') await this.#step(() => !limit.signal.aborted);
        else await sleep(realTime, Math.min(clock.nextIn, LOOK_MS), NEVER);
      }
    };
    await Promise.race([rest(), over]);
    if (limit.signal.aborted) throw new ApiError(409, `not idle after ${limitMs} ms: ${busyText(this.#parts, before)}`);
  }

  async #skipWhile(isWanted: () => boolean): Promise<void> {
    const { clock } = this.#parts;
    while (isWanted()) {
      if (clock.nextIn === undefined) await clock.timerAdded();
      await this.#settle();
      await this.#step(isWanted);
    }
  }

  /** Moves to the next timer, unless something began in between. */
  async #step(isWanted: () => boolean): Promise<void> {
    await this.#parts.clock.skip(
      () => this.#isAtRest && isWanted(),
      () => this.#deliveries(),
    );
  }

  async #settle(): Promise<void> {
    await this.#deliveries();
    await this.#parts.activity.calm();
  }

  /** Resolves when no delivery is in progress that could end without a move of time. */
  async #deliveries(): Promise<void> {
    const { realTime, engine } = this.#parts;
    const patienceMs = this.mode === 'skip' ? DEFAULT_PATIENCE_MS : Infinity;
    const waiting = { hanging: this.#hanging, waits: this.#waits, clock: realTime, patienceMs };
    await settled(engine().inProgress, waiting);
  }

  get #isAtRest(): boolean {
    return this.#parts.activity.isCalm && [...this.#parts.engine().inProgress].every(this.#waits);
  }

  readonly #waits = (attempt: string): boolean =>
    this.#parts.destinations.holds(attempt) || (this.mode === 'skip' && this.#hanging.has(attempt));
}

const NEVER = new AbortController().signal;
