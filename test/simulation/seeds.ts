/**
 * Seeds of histories that failed before the fix of a fault, or that fail without a guard, with the minutes that they need.
 * CI replays them.
 */
import type { HistoryOptions } from './history.ts';
import { MUTANTS } from './mutants.ts';

export const SEEDS: readonly HistoryOptions[] = [
  // A full disk at a start: the next record proved that an uncommitted one was committed.
  { seed: 1, minutes: 30 },
  // A commit failed after a request: the run of the policy reported no action.
  { seed: 4, minutes: 90, store: 'sqlite' },
  // A failed run of a prune reported its pages instead of the deleted messages.
  { seed: 5, minutes: 60 },
  // A daemon that started on a full disk stayed in audit mode after the disk had space again.
  { seed: 2038, minutes: 60, store: 'sqlite' },
  // Fixes whose mutant needs worse faults, or no rest.
  ...Object.values(MUTANTS)
    .filter(({ worse, hasRest }) => worse !== undefined || hasRest === false)
    .map(({ within: seed, minutes = 90, store = 'sqlite', worse, hasRest }) => ({
      seed,
      minutes,
      store,
      worse,
      hasRest,
    })),
];
