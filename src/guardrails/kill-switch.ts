import type { AuthorityFacts } from './guard.ts';

/** Nothing is done while anything says pause. */
export function killSwitch({ paused }: AuthorityFacts): string | undefined {
  return paused;
}
