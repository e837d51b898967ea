/** A clock for real programs whose time passes faster. Processes with the same start and speed have the same time. */
import type { RunningEmulator } from '#emulator/emulator.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';

export interface FastTime {
  /** Speed of time. 0: it moves only on command of the test. */
  readonly speed: number;
  /** Start of the speed, in epoch milliseconds. */
  readonly since: number;
}

/** Returns a clock with the time of a service, in which waits take real time, `speed` times as fast. */
export function clockOf(emulator: RunningEmulator, speed: number): Clock {
  return {
    now: () => emulator.control.clock().now,
    monotonic: () => systemClock.monotonic() * speed,
    after: (ms, run) => systemClock.after(ms / speed, run),
  };
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
