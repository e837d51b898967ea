import type { Hold } from '#foundation/domain/hold.ts';
import type { RunFacts } from './guard.ts';

/** Holds every run while a pause is active. Nothing overrules this guard. */
export function killSwitch({ paused }: RunFacts): Hold | undefined {
  if (paused === undefined) return undefined;
  const { reason, remedy, since } = paused;
  return { measured: reason, needed: 'nothing is sent during a pause', remedy, ...(since !== undefined && { since }) };
}
