/** Plans that were displayed or are pending approval, one per hash. */
import type { Plan } from '#foundation/domain/plan.ts';
import type { Plans, StoredPlan } from '#automate/ledger/plans.ts';
import type { Journal } from './ledger-journal.ts';
import type { Row } from './ledger-rows.ts';

/** States that a decision can follow. */
const UNDECIDED: readonly StoredPlan['state'][] = ['draft', 'pending'];
/** States of a plan that can expire. */
const ALIVE: readonly StoredPlan['state'][] = [...UNDECIDED, 'approved'];

/** States that each decision can follow. A plan that was used up can be cancelled while its run is in progress. */
const BEFORE: Readonly<Record<Parameters<Plans['decidePlan']>[1]['state'], readonly StoredPlan['state'][]>> = {
  approved: UNDECIDED,
  rejected: UNDECIDED,
  applied: ALIVE,
  cancelled: [...ALIVE, 'applied'],
};

export function createPlans({ db, change }: Journal): Plans {
  // A draft must not overwrite the same plan while it is pending or approved.
  const put = db.prepare(
    `INSERT INTO plans (hash, id, state, saved_at, expires_at, by, reason, plan, targets) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (hash) DO UPDATE SET state = excluded.state, saved_at = excluded.saved_at,
       expires_at = excluded.expires_at, by = excluded.by, reason = excluded.reason, plan = excluded.plan, targets = excluded.targets
     WHERE NOT (excluded.state = 'draft' AND state IN ('pending', 'approved') AND expires_at > excluded.saved_at)`,
  );
  // Hexadecimal digits sort before g: this is the range of all hashes with this prefix.
  const selectByHash = db.prepare(
    `SELECT * FROM plans WHERE hash >= ?1 AND hash < ?1 || 'g' AND length(?1) >= length(id)`,
  );
  const selectByState = db.prepare(
    'SELECT * FROM plans WHERE state IN (SELECT value FROM json_each(?)) ORDER BY saved_at DESC',
  );
  const decide = db.prepare(
    'UPDATE plans SET state = ?, by = ?, reason = coalesce(?, reason), expires_at = ? WHERE hash = ?',
  );

  /**
   * Returns the plan for a hash prefix. If several plans share it, returns the only one that is still valid, else none.
   */
  function find(id: string, now: number): StoredPlan | undefined {
    const found = selectByHash.all(id).map((row) => storedOf(row, now));
    if (found.length <= 1) return found[0];
    const alive = found.filter(({ state }) => ALIVE.includes(state));
    return alive.length === 1 ? alive[0] : undefined;
  }

  return {
    savePlan: ({ plan, targets, savedAt, expiresAt, state, by, reason }) =>
      change((tell) => {
        const { hash, id, policy, account } = plan;
        const { changes } = put.run(
          hash,
          id,
          state,
          savedAt,
          expiresAt,
          by ?? null,
          reason ?? null,
          JSON.stringify(plan),
          JSON.stringify(targets),
        );
        if (changes === 0) return;
        const { matched, chosen, manual } = plan;
        tell({
          type: 'plan.saved',
          policy,
          account,
          plan: id,
          planHash: hash,
          state,
          matched,
          chosen: chosen.length,
          covers: targets.length,
          expiresAt,
          by,
          reason,
          ...(manual !== undefined && { origin: 'manual' }),
        });
      }),
    storedPlan: find,
    storedPlans: (states, now) =>
      selectByState
        // An expired plan is stored in its last state.
        .all(JSON.stringify(states.includes('expired') ? [...states, ...ALIVE] : states))
        .map((row) => storedOf(row, now))
        .filter(({ state }) => states.includes(state)),
    decidePlan: (id, { state, at, by, reason, expiresAt }) =>
      change((tell) => {
        const found = find(id, at);
        const from = BEFORE[state];
        if (found === undefined || !from.includes(found.state)) return false;
        const { hash, policy, account, id: plan, manual } = found.plan;
        decide.run(state, by, reason ?? null, expiresAt ?? found.expiresAt, hash);
        const origin = manual === undefined ? {} : { origin: 'manual' };
        const decision = { from: found.state, state, by, reason, ...origin };
        tell({ type: 'plan.decided', policy, account, plan, planHash: hash, ...decision });
        return true;
      }),
  };
}

function storedOf(row: Row, now: number): StoredPlan {
  const state = String(row['state']) as StoredPlan['state'];
  const expiresAt = Number(row['expires_at']);
  return {
    plan: JSON.parse(String(row['plan'])) as Plan,
    targets: JSON.parse(String(row['targets'])) as readonly string[],
    savedAt: Number(row['saved_at']),
    expiresAt,
    state: ALIVE.includes(state) && expiresAt <= now ? 'expired' : state,
    ...(row['by'] !== null && { by: String(row['by']) }),
    ...(row['reason'] !== null && { reason: String(row['reason']) }),
  };
}
