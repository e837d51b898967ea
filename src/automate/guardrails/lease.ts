import type { RunFacts } from './guard.ts';

/**
 * Allows one executor for each store: a second one would repeat the actions of the first. Nothing overrules this guard.
 */
export function lease({ leaseLost }: RunFacts): string | undefined {
  return leaseLost;
}
