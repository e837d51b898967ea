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
  // Without the fence, a replica commits about an account that another one has taken.
  { seed: 38, minutes: 3, store: 'postgres', hasRest: false },
  // A machine that had been suspended acted on its old lease.
  { seed: 114, minutes: 3, store: 'postgres', hasRest: false },
  // A pause held at one replica only.
  { seed: 35, minutes: 5, store: 'postgres', hasRest: false },
  // A replica that had been stopped notified about an account that it had lost.
  { seed: 108, minutes: 20, store: 'postgres', hasRest: false },
  // A replica that had lost an account deleted an arrival that only the new owner knows what to do with.
  { seed: 4, minutes: 20, store: 'postgres' },
  // The condition of a store stayed active at its receiver after the end of its process.
  { seed: 32, minutes: 20, store: 'postgres' },
  // An alert ended while a replica was stopped before it stored the trigger, which then stayed pending.
  {
    seed: 5,
    minutes: 12,
    store: 'postgres',
    worse: { alert: 40, 'stop after a commit': 6, 'stop of a process': 6 },
  },
  // A replica without accounts rejected what the service had signed, after its machine had been suspended.
  { seed: 2, minutes: 10, store: 'postgres', worse: { 'suspended machine': 15 } },
  // A slow store made the response to a message of a canary look late.
  { seed: 50, minutes: 20, store: 'postgres', worse: { slow: 5, 'stop of a process': 20 } },
  // A condition of an account was notified before it was saved, and stayed active at its receiver after a kill.
  {
    seed: 28,
    minutes: 15,
    store: 'postgres',
    worse: { 'database commit failed': 6, 'database connection lost': 2, 'crash at a step': 3 },
  },
  // A failed reload was notified before it was saved, and stayed active at its receiver after a kill.
  { seed: 36, minutes: 12, store: 'postgres', worse: { reload: 25, 'database apart': 8, crash: 4 } },
  // Entries that arrived in an outage, after a sweep had begun, were never counted.
  { seed: 93, minutes: 80, store: 'sqlite', worse: { storm: 10, 'late entry': 400 } },
  // A daemon that started on a full disk stayed in audit mode after the disk had space again.
  { seed: 2038, minutes: 60, store: 'sqlite' },
] as const;
