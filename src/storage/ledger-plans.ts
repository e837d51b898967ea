/** Plans that were displayed or are pending approval, one per hash. */
import { allowedOf, type Plan } from '#foundation/domain/plan.ts';
import type { Plans, StoredPlan } from '#automate/ledger/plans.ts';
import { all, run, type Row, type Work } from './database.ts';
import type { Journal } from './ledger-journal.ts';

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

const PUT = `INSERT INTO plans (hash, id, state, saved_at, expires_at, by, reason, plan, targets)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (hash) DO UPDATE SET state = excluded.state, saved_at = excluded.saved_at,
    expires_at = excluded.expires_at, by = excluded.by, reason = excluded.reason, plan = excluded.plan,
    targets = excluded.targets
  WHERE plans.expires_at <= excluded.saved_at
    OR excluded.state = 'draft' AND plans.state NOT IN ('pending', 'approved')
    OR excluded.state = 'pending' AND plans.state NOT IN ('approved', 'rejected')`;

// Hexadecimal digits sort before g: this is the range of all hashes with this prefix.
const BY_HASH = `SELECT * FROM plans WHERE hash >= ?1 AND hash < ?1 || 'g' AND length(?1) >= length(id)`;

// The row is as it was read, so that of two decisions at the same time one counts.
const DECIDE = `UPDATE plans SET state = ?, by = ?, reason = coalesce(?, reason), expires_at = ?
  WHERE hash = ? AND state = ? AND expires_at = ?`;

/** Returns the plan for a hash prefix. If several plans share it, returns the only one that is still valid, else none. */
function* find(id: string, now: number): Work<StoredPlan | undefined> {
  const found = (yield* all(BY_HASH, id)).map((row) => storedOf(row, now));
  if (found.length <= 1) return found[0];
  const alive = found.filter(({ state }) => ALIVE.includes(state));
  return alive.length === 1 ? alive[0] : undefined;
}

/** @param isOwn returns true for the accounts whose plans are listed */
export function createPlans({ database, write }: Journal, isOwn: (account: string) => boolean): Plans {
  const byState = `SELECT * FROM plans WHERE state IN ${database.dialect.members('?1')} ORDER BY saved_at DESC`;

  return {
    savePlan: ({ plan, targets, savedAt, expiresAt, state, by, reason }) =>
      write(function* (tell) {
        const { hash, id, policy, account, chosen, manual } = plan;
        const [asText, covered] = [JSON.stringify(plan), JSON.stringify(targets)];
        const values = [hash, id, state, savedAt, expiresAt, by ?? null, reason ?? null, asText, covered];
        if ((yield* run(PUT, ...values)) === 0) return false;
        yield* tell({
          type: 'plan.saved',
          policy,
          account,
          plan: id,
          planHash: hash,
          state,
          matched: allowedOf(plan),
          chosen: chosen.length,
          covers: targets.length,
          expiresAt,
          by,
          reason,
          ...(manual !== undefined && { origin: 'manual' }),
        });
        return true;
      }, plan.account),
    storedPlan: (id, now) => database.read(find(id, now)),
    async storedPlans(states, now) {
      // An expired plan is stored in its last state.
      const stored = states.includes('expired') ? [...states, ...ALIVE] : states;
      const rows = await database.read(all(byState, JSON.stringify(stored)));
      return rows
        .map((row) => storedOf(row, now))
        .filter(({ state, plan }) => states.includes(state) && isOwn(plan.account));
    },
    decidePlan: (id, { state, at, by, reason, expiresAt, account: owned }) =>
      write(function* (tell) {
        const found = yield* find(id, at);
        if (found === undefined || !BEFORE[state].includes(found.state)) return false;
        const { hash, policy, account, id: plan, manual } = found.plan;
        const decision = [state, by, reason ?? null, expiresAt ?? found.expiresAt];
        if ((yield* run(DECIDE, ...decision, hash, found.state, found.expiresAt)) === 0) return false;
        const origin = manual === undefined ? {} : { origin: 'manual' };
        const told = { from: found.state, state, by, reason, ...origin };
        yield* tell({ type: 'plan.decided', policy, account, plan, planHash: hash, ...told });
        return true;
      }, owned),
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
