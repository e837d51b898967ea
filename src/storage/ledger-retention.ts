/**
 * Removes old rows from the ledger. An action stays while its outcome is open or unknown, while its entry may still be
 * listed, and while its lineage or campaign continues.
 */
import type { SQLInputValue } from 'node:sqlite';
import type { Journal } from './ledger-journal.ts';

const DAY_MS = 86_400_000;
const KEEP_MS = 400 * DAY_MS;
/** Retention of plans that were only displayed. They are large and were never applied. */
const KEEP_SHOWN_MS = 7 * DAY_MS;

/** Maximum rows per call, so that others can write to the store in between. */
const BATCH = 5_000;

/** Outcomes after which an entry has left its list, or can be acted on again. */
const SPOKEN = `('verified', 'failed_again', 'rejected', 'confirmed_applied', 'confirmed_not_applied')`;

/** Actions before ?1 that are no longer needed at ?2, oldest first. */
export const FORGETTABLE = `
  SELECT i.id FROM intents i
  WHERE i.at < ?1
    AND (SELECT outcome FROM outcomes WHERE intent_id = i.id ORDER BY id DESC LIMIT 1) IN ${SPOKEN}
    AND coalesce(json_extract(i.proposal, '$.expiresAt'), 0) < ?2
    AND NOT EXISTS (
      SELECT 1 FROM intents j WHERE j.account = i.account AND j.lineage = i.lineage
        AND (j.at >= ?1 OR j.id IN (SELECT intent_id FROM unsettled))
    )
    AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = i.campaign AND c.state <> 'ended')
  ORDER BY i.at LIMIT ${BATCH}`;

export interface Pruned {
  readonly intents: number;
  readonly runs: number;
  readonly plans: number;
  /** True if another call has more to delete. */
  readonly more: boolean;
}

export function createPrune({ db, change }: Journal): (now: number) => Pruned {
  db.exec('CREATE TEMP TABLE IF NOT EXISTS forgotten (id INTEGER PRIMARY KEY)');
  const select = db.prepare(`INSERT INTO temp.forgotten ${FORGETTABLE}`);
  const clear = db.prepare('DELETE FROM temp.forgotten');
  const deleteOutcomes = db.prepare('DELETE FROM outcomes WHERE intent_id IN (SELECT id FROM temp.forgotten)');
  const deleteIntents = db.prepare('DELETE FROM intents WHERE id IN (SELECT id FROM temp.forgotten)');
  // The last run of a policy is never deleted, except that of a manual plan.
  const deleteRuns = db.prepare(
    `DELETE FROM runs WHERE id IN (
       SELECT r.id FROM runs r WHERE r.at < ?
         AND NOT EXISTS (SELECT 1 FROM intents WHERE run_id = r.id)
         AND (r.id < (SELECT max(id) FROM runs WHERE policy = r.policy) OR r.policy LIKE 'manual:%')
       ORDER BY r.at LIMIT ${BATCH})`,
  );
  const deletePlans = db.prepare(`DELETE FROM plans WHERE expires_at < ?1 OR (state = 'draft' AND expires_at < ?2)`);
  const small = [
    'DELETE FROM cap_slices WHERE slice < ?',
    'DELETE FROM pauses WHERE lifted_at < ?',
    'DELETE FROM triggers WHERE at < ?',
    'DELETE FROM alerts WHERE is_firing = 0 AND at < ?',
    'DELETE FROM dead_letters WHERE learned_at < ?',
    'DELETE FROM operation_claims WHERE operation_id IN (SELECT id FROM operations WHERE at < ?)',
    'DELETE FROM operations WHERE at < ?',
    `DELETE FROM campaigns WHERE state = 'ended' AND begun_at < ?
       AND NOT EXISTS (SELECT 1 FROM intents WHERE campaign = campaigns.id)`,
  ].map((sql) => db.prepare(sql));

  const count = (
    statement: { run(...values: SQLInputValue[]): { changes: number | bigint } },
    ...values: number[]
  ): number => Number(statement.run(...values).changes);

  return (now) =>
    change((tell) => {
      const before = now - KEEP_MS;
      clear.run();
      select.run(before, now);
      deleteOutcomes.run();
      const intents = count(deleteIntents);
      const runs = count(deleteRuns, before);
      const plans = count(deletePlans, before, now - KEEP_SHOWN_MS);
      for (const statement of small) statement.run(before);
      if (intents + runs + plans > 0) tell({ type: 'store.pruned', intents, runs, plans });
      return { intents, runs, plans, more: intents === BATCH || runs === BATCH };
    });
}
