/**
 * Moves the service's time forward, from one timer to the next. Time waits until the deliveries that a timer starts
 * have ended.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { InProgress } from '../delivery/in-progress.ts';
import type { ScriptedDestinations } from './scripted-destinations.ts';
import type { SteerableClock } from './steerable-clock.ts';

export const DEFAULT_PATIENCE_MS = 5_000;

/** Parts of the patience. A process that stands still, in a debugger or without a processor, uses up only one. */
const PARTS = 10;

export const NO_OWN_TIME = 'this service has no clock of its own: start it with `time` or `control`';

interface AdvanceOptions {
  /** Real milliseconds until time no longer waits for a delivery. Default 5,000. */
  readonly patienceMs?: number | undefined;
}

export type Advance = (ms: number, options?: AdvanceOptions) => Promise<void>;

interface AdvanceParts {
  /** Undefined when the service has no time of its own. */
  readonly ownTime: SteerableClock | undefined;
  readonly realTime: Clock;
  /** Called at each step: a reset replaces the service. */
  readonly inProgress: () => InProgress;
  readonly destinations: ScriptedDestinations;
}

/** Creates the function that moves time. The function throws when the service has no time of its own. */
export function createAdvance({ ownTime, realTime, inProgress, destinations }: AdvanceParts): Advance {
  return async (ms, { patienceMs = DEFAULT_PATIENCE_MS } = {}) => {
    if (ownTime === undefined) throw new Error(NO_OWN_TIME);
    const hanging = new Set<string>();
    const waits = (attempt: string): boolean => hanging.has(attempt) || destinations.holds(attempt);
    await ownTime.advance(ms, () => settled(inProgress(), { hanging, waits, clock: realTime, patienceMs }));
  };
}

interface Waiting {
  /** Attempts that used up their real time. */
  readonly hanging: Set<string>;
  /** Returns true for an attempt that waits for the service's time, or hangs. */
  readonly waits: (attempt: string) => boolean;
  readonly clock: Clock;
  readonly patienceMs: number;
}

/**
 * Resolves when every delivery in progress waits for time to move. A delivery that uses up its real time counts as
 * waiting.
 */
export async function settled(inProgress: InProgress, { hanging, waits, clock, patienceMs }: Waiting): Promise<void> {
  // One turn of the event loop starts what the timer triggered.
  await nextTurn();
  const enough = new AbortController();
  const patience = async (): Promise<void> => {
    for (let part = 0; part < PARTS; part++) await sleep(clock, patienceMs / PARTS, enough.signal);
    for (const attempt of inProgress) hanging.add(attempt);
  };
  await Promise.race([inProgress.idleBut(waits), patience().catch(() => undefined)]);
  enough.abort();
}
