/**
 * Removes old rows from the ledger. An action stays while its outcome is open or unknown, while its entry may still be
 * listed, and while its lineage or campaign continues.
 */
import { all, run, type Dialect } from './database.ts';
import type { Journal } from './ledger-journal.ts';

const DAY_MS = 86_400_000;
const KEEP_MS = 400 * DAY_MS;
/** Retention of plans that were only displayed. They are large and were never applied. */
const KEEP_SHOWN_MS = 7 * DAY_MS;

/** Maximum rows per call, so that others can write to the store in between. */
const BATCH = 5_000;

/** Outcomes after which an entry has left its list, or can be acted on again. */
const SPOKEN = `('verified', 'failed_again', 'rejected', 'confirmed_applied', 'confirmed_not_applied')`;

/** Returns the query of actions before ?1 that are no longer needed at ?2, oldest first. */
export function forgettable({ jsonNumber }: Dialect): string {
  return `SELECT i.id FROM intents i
  WHERE i.at < ?1
    AND (SELECT outcome FROM outcomes WHERE intent_id = i.id ORDER BY id DESC LIMIT 1) IN ${SPOKEN}
    AND coalesce(${jsonNumber('i.proposal', 'expiresAt')}, 0) < ?2
    AND NOT EXISTS (
      SELECT 1 FROM intents j WHERE j.account = i.account AND j.lineage = i.lineage
        AND (j.at >= ?1 OR j.id IN (SELECT intent_id FROM unsettled))
    )
    AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = i.campaign AND c.state <> 'ended')
  ORDER BY i.at LIMIT ${BATCH}`;
}

export interface Pruned {
  readonly intents: number;
  readonly runs: number;
  readonly plans: number;
  /** True if another call has more to delete. */
  readonly more: boolean;
}

// The last run of a policy is never deleted, except that of a manual plan.
const DELETE_RUNS = `DELETE FROM runs WHERE id IN (
  SELECT r.id FROM runs r WHERE r.at < ?
    AND NOT EXISTS (SELECT 1 FROM intents WHERE run_id = r.id)
    AND (r.id < (SELECT max(id) FROM runs WHERE policy = r.policy) OR r.policy LIKE 'manual:%')
  ORDER BY r.at LIMIT ${BATCH})`;
const DELETE_PLANS = `DELETE FROM plans WHERE expires_at < ?1 OR (state = 'draft' AND expires_at < ?2)`;
const SMALL = [
  'DELETE FROM cap_slices WHERE slice < ?',
  'DELETE FROM pauses WHERE lifted_at < ?',
  'DELETE FROM triggers WHERE at < ?',
  'DELETE FROM alerts WHERE is_firing = 0 AND at < ?',
  'DELETE FROM deploys WHERE at < ?',
  'DELETE FROM dead_letters WHERE learned_at < ?',
  'DELETE FROM operation_claims WHERE operation_id IN (SELECT id FROM operations WHERE at < ?)',
  'DELETE FROM operations WHERE at < ?',
  `DELETE FROM campaigns WHERE state = 'ended' AND begun_at < ?
     AND NOT EXISTS (SELECT 1 FROM intents WHERE campaign = campaigns.id)`,
];

export function createPrune({ database, write }: Journal): (now: number) => Promise<Pruned> {
  const query = forgettable(database.dialect);
  const forgotten = database.dialect.numbers('?1');

  return async (now) =>
    write(function* (tell) {
      const before = now - KEEP_MS;
      const ids = JSON.stringify((yield* all(query, before, now)).map((row) => row['id']));
      yield* run(`DELETE FROM outcomes WHERE intent_id IN ${forgotten}`, ids);
      const intents = yield* run(`DELETE FROM intents WHERE id IN ${forgotten}`, ids);
      const runs = yield* run(DELETE_RUNS, before);
      const plans = yield* run(DELETE_PLANS, before, now - KEEP_SHOWN_MS);
      for (const statement of SMALL) yield* run(statement, before);
      if (intents + runs + plans > 0) yield* tell({ type: 'store.pruned', intents, runs, plans });
      return { intents, runs, plans, more: intents === BATCH || runs === BATCH };
    });
}
