/** Seeds of histories that failed before the fix of a fault, or that fail without a guard. */
import type { HistoryOptions } from './history.ts';
import { MUTANTS } from './mutants.ts';

/** Fixes whose mutant needs worse faults, or no rest. */
const withMutant: readonly HistoryOptions[] = Object.values(MUTANTS)
  .filter(({ worse, hasRest }) => worse !== undefined || hasRest === false)
  .map(({ within: seed, minutes = 90, store = 'sqlite', worse, hasRest }) => ({
    seed,
    minutes,
    store,
    worse,
    hasRest,
  }));

const isShort = ({ minutes, hasRest }: HistoryOptions): boolean => hasRest === false && minutes <= 20;

/** Histories of about ten seconds each, which CI replays. */
export const SEEDS: readonly HistoryOptions[] = [
  // A full disk at a start: the next record proved that an uncommitted one was committed.
  { seed: 1, minutes: 30 },
  ...withMutant.filter(isShort),
];

/** Histories of at most about a minute each, for the soak. */
export const LONG_SEEDS: readonly HistoryOptions[] = [
  // A commit failed after a request: the run of the policy reported no action.
  { seed: 4, minutes: 90, store: 'sqlite' },
  // A failed run of a prune reported its pages instead of the deleted messages.
  { seed: 5, minutes: 60 },
  // A daemon that started on a full disk stayed in audit mode after the disk had space again.
  { seed: 2038, minutes: 60, store: 'sqlite' },
  // Replicas until the end of all that the faults began. It never failed.
  { seed: 12, minutes: 5, store: 'postgres' },
  ...withMutant.filter((order) => !isShort(order)),
];
