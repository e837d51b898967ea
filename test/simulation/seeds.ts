/** Seeds of histories that once failed, with the minutes they need. CI replays them. */
export const SEEDS = [
  // A commit failed after a request: the run of the policy reported no action.
  { seed: 18, minutes: 90 },
  // A full disk at a start: the next record proved that an uncommitted one was committed.
  { seed: 103, minutes: 90 },
  // A failed run of a prune reported its pages instead of the deleted messages.
  { seed: 5, minutes: 60 },
] as const;
