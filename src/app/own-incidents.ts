import type { Incidents } from '#operate/api/api-deps.ts';
import { allPolicies } from './all-policies.ts';
import type { Generation } from './generation.ts';
import { servedIncidents } from './incidents.ts';
import type { Storage } from './storage.ts';

/** Returns the incidents of a generation for the API. */
export function ownIncidents(generation: Generation, storage: Storage): Incidents {
  const { whole: config, accounts, board, attempts, clock, stores, incidents } = generation;
  const policies = () => allPolicies(generation);
  return servedIncidents(incidents, {
    config,
    storage: { ...storage, ...stores },
    accounts,
    board,
    attempts,
    policies,
    clock,
  });
}
