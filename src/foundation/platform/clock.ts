/**
 * Clock passed as a dependency. Code outside `platform/` never reads the machine's clock or sets a timer. So tests and
 * the embedded service can control time (`manual-clock.ts`).
 */
import { performance } from 'node:perf_hooks';
import { runInNewContext } from 'node:vm';
import { timers } from './timers.ts';

export interface Timer extends Disposable {
  /** Idempotent. */
  cancel(): void;
}

export interface Clock {
  /** Wall-clock time in epoch milliseconds. It may jump. */
  now(): number;
  /** Milliseconds since an arbitrary moment; never decreases. */
  monotonic(): number;
  /** Calls `run` once, at least `ms` from now on the monotonic clock. The timer does not keep the process alive. */
  after(ms: number, run: () => void): Timer;
}

/**
 * Functions at load. Tests of applications run the emulator in their process, and replace the global ones by fake ones,
 * before or after this file is loaded. Modules keep theirs; a fake `Date` is no native code.
 */
const monotonic = performance.now.bind(performance);
const isRealDate = String(Date.now).includes('[native code]');
const now: () => number = isRealDate ? Date.now.bind(Date) : (runInNewContext('Date.now') as () => number);

/** Longest timer. Node clamps longer ones to 1 ms, so longer waits are split. */
const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => now(),
  monotonic: () => monotonic(),
  after(ms, run) {
    const due = monotonic() + Math.max(0, ms);
    let handle: NodeJS.Timeout;
    const arm = (): void => {
      handle = timers.setTimeout(
        () => {
          if (monotonic() < due) arm();
          else run();
        },
        Math.min(Math.ceil(Math.max(0, due - monotonic())), LONGEST_TIMER_MS),
      );
      handle.unref();
    };
    arm();
    const cancel = (): void => timers.clearTimeout(handle);
    return { cancel, [Symbol.dispose]: cancel };
  },
};

/** Keeps the process alive during a wait that does not do so itself, since timers of a Clock do not. */
export function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, LONGEST_TIMER_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
