import type { RunFacts } from './guard.ts';

/** Nothing is done while anything says pause. Nothing overrules it. */
export function killSwitch({ paused }: RunFacts): string | undefined {
  return paused;
}
