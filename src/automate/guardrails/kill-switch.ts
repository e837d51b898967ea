import type { RunFacts } from './guard.ts';

/** Holds every run while a pause is active. Nothing overrules this guard. */
export function killSwitch({ paused }: RunFacts): string | undefined {
  return paused;
}
