/** A clock for real programs whose time passes faster. Processes with the same start and speed have the same time. */
import { systemClock, type Clock } from '#foundation/platform/clock.ts';

export interface FastTime {
  /** Speed of time. */
  readonly speed: number;
  /** Start of the speed, in epoch milliseconds. */
  readonly since: number;
}

export function fastClock({ speed, since }: FastTime): Clock {
  const monotonic = (): number => systemClock.monotonic();
  const start = monotonic();
  return {
    now: () => since + (systemClock.now() - since) * speed,
    monotonic: () => start + (monotonic() - start) * speed,
    after: (ms, run) => systemClock.after(ms / speed, run),
  };
}
