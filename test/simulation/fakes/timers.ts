/** `node:timers`, whose next turn is an event of the history. */
import timers from 'node:timers';
import type { Timer } from '#foundation/platform/clock.ts';
import { currentProcess, presentLoop, WORLD } from '../loop.ts';

export * from 'node:timers';

export function setImmediate(run: () => void): Timer {
  return presentLoop().after(0, currentProcess(), 'turn', run);
}

export function clearImmediate(turn: Timer | undefined): void {
  turn?.cancel();
}

export function setTimeout(run: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) {
  const owner = currentProcess();
  // PGlite and the simulation itself live in real time.
  if (owner === WORLD) return timers.setTimeout(run, ms, ...values);
  const timer = presentLoop().after(ms, owner, 'timer', () => run(...values));
  return Object.assign(timer, { ref: () => timer, unref: () => timer });
}

export function clearTimeout(timer: Timer | NodeJS.Timeout | undefined): void {
  if (timer !== undefined && 'cancel' in timer) timer.cancel();
  else timers.clearTimeout(timer);
}

// oxlint-disable-next-line import/no-default-export -- Node's module has one
export default { ...timers, setImmediate, clearImmediate };
