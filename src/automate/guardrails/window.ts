import type { RunFacts } from './guard.ts';

/** Outside its windows a policy does nothing, by hand neither. */
export function window({ outsideWindow }: RunFacts): string | undefined {
  return outsideWindow;
}
