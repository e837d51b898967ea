/**
 * Seeds of histories that failed before the fix of a fault, or that fail without a guard, with the minutes that they need.
 * CI replays them.
 */
export const SEEDS = [
  // A full disk at a start: the next record proved that an uncommitted one was committed.
  { seed: 1, minutes: 30 },
  // A commit failed after a request: the run of the policy reported no action.
  { seed: 4, minutes: 90, store: 'sqlite' },
  // A failed run of a prune reported its pages instead of the deleted messages.
  { seed: 5, minutes: 60 },
  // A message was forgotten before a sweep found its last entry, which counted it as in flight again.
  { seed: 22, minutes: 90, store: 'sqlite' },
  // An entry that arrived in an outage, after a sweep had begun, was never counted.
  { seed: 21, minutes: 40, store: 'postgres' },
  // A pause held at one replica only.
  { seed: 208, minutes: 20, store: 'postgres', hasRest: false },
  // A machine that had been suspended acted on its old lease.
  { seed: 100, minutes: 40, store: 'postgres', hasRest: false },
  // A replica that had been stopped notified about an account that it had lost.
  { seed: 14, minutes: 10, store: 'postgres', hasRest: false },
  // Without the fence, a replica commits about an account that another one has taken.
  { seed: 49, minutes: 8, store: 'postgres', hasRest: false },
  // A replica that was cut off from the database notified a condition that only it knew.
  { seed: 40, minutes: 40, store: 'postgres' },
  // A daemon that started on a full disk stayed in audit mode after the disk had space again.
  { seed: 2038, minutes: 60, store: 'sqlite' },
] as const;
