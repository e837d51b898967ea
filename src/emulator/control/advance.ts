/**
 * Moves the service's time on, from one timer to the next, and lets what each sets off be delivered and answered before
 * time goes on.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { InProgress } from '../delivery/in-progress.ts';
import type { ScriptedDestinations } from './scripted-destinations.ts';
import type { SteerableClock } from './steerable-clock.ts';

const DEFAULT_PATIENCE_MS = 5_000;

export const NO_OWN_TIME = 'this service runs on a clock that is not its own: start it with `time` or `control`';

interface AdvanceOptions {
  /** Real milliseconds after which a delivery is no longer waited for. Default 5,000. */
  readonly patienceMs?: number | undefined;
}

export type Advance = (ms: number, options?: AdvanceOptions) => Promise<void>;

interface AdvanceParts {
  /** Undefined when the service has no time of its own. */
  readonly ownTime: SteerableClock | undefined;
  readonly realTime: Clock;
  /** Asked at each step: a reset puts a new one in its place. */
  readonly inProgress: () => InProgress;
  readonly destinations: ScriptedDestinations;
}

/** What it makes throws when there is no time to move. */
export function createAdvance({ ownTime, realTime, inProgress, destinations }: AdvanceParts): Advance {
  return async (ms, { patienceMs = DEFAULT_PATIENCE_MS } = {}) => {
    if (ownTime === undefined) throw new Error(NO_OWN_TIME);
    const hanging = new Set<string>();
    const waits = (attempt: string): boolean => hanging.has(attempt) || destinations.holds(attempt);
    await ownTime.advance(ms, () => settled(inProgress(), { hanging, waits, clock: realTime, patienceMs }));
  };
}

interface Waiting {
  /** Attempts that have had real time enough. */
  readonly hanging: Set<string>;
  /** Whether an attempt waits for the service's time, or hangs. */
  readonly waits: (attempt: string) => boolean;
  readonly clock: Clock;
  readonly patienceMs: number;
}

/** No delivery is in progress but those that wait for time to go on; whoever has had real time enough joins them. */
async function settled(inProgress: InProgress, { hanging, waits, clock, patienceMs }: Waiting): Promise<void> {
  // A turn of the event loop: what a timer has set off has begun.
  await new Promise((resolve) => setImmediate(resolve));
  const enough = new AbortController();
  const patience = sleep(clock, patienceMs, enough.signal).then(
    () => {
      for (const attempt of inProgress) hanging.add(attempt);
    },
    () => undefined,
  );
  await Promise.race([inProgress.idleBut(waits), patience]);
  enough.abort();
}
