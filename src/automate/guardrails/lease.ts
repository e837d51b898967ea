import type { Hold } from '#foundation/domain/hold.ts';
import type { RunFacts } from './guard.ts';

/**
 * Allows one executor for each store: a second one would repeat the actions of the first. Nothing overrules this guard.
 */
export function lease({ leaseLost }: RunFacts): Hold | undefined {
  if (leaseLost === undefined) return undefined;
  return {
    measured: leaseLost,
    needed: 'only the one owner of an intact store sends requests',
    remedy: 'stop the other process, or restore the store',
  };
}
