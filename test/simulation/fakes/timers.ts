/** `node:timers`, whose next turn is an event of the history. */
import timers from 'node:timers';
import type { Timer } from '#foundation/platform/clock.ts';
import { currentProcess, presentLoop } from '../loop.ts';

export * from 'node:timers';

export function setImmediate(run: () => void): Timer {
  return presentLoop().after(0, currentProcess(), 'turn', run);
}

export function clearImmediate(turn: Timer | undefined): void {
  turn?.cancel();
}

// oxlint-disable-next-line import/no-default-export -- Node's module has one
export default { ...timers, setImmediate, clearImmediate };
