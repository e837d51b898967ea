/** Plans that operators keep or that are pending approval. A decided plan never changes: its content gets another plan. */
import { hash } from 'node:crypto';
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { allowedOf, type Plan } from '#foundation/domain/plan.ts';
import type { PlanDecision, Plans, StoredPlan } from '#automate/ledger/plans.ts';
import { all, get, withoutNulls, run, type Nullable, type Work } from './database.ts';
import { ofPlan } from './ledger-actions.ts';
import type { Journal } from './ledger-journal.ts';

/** States that a decision can follow. */
const UNDECIDED: readonly StoredPlan['state'][] = ['draft', 'pending'];
/** States of a plan that can expire. */
const ALIVE: readonly StoredPlan['state'][] = [...UNDECIDED, 'approved'];

/** States that each decision can follow. A plan that was used up can be cancelled while its run is in progress. */
const BEFORE: Readonly<Record<PlanDecision['state'], readonly StoredPlan['state'][]>> = {
  approved: UNDECIDED,
  rejected: ALIVE,
  applied: ALIVE,
  cancelled: [...ALIVE, 'applied'],
  replaced: UNDECIDED,
  expired: ALIVE,
};

const INSERT = `INSERT INTO plans (id, hash, revision, state, saved_at, expires_at, made_by, reason, plan, targets)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
// The author and the reason stay.
const RENEW = 'UPDATE plans SET state = ?, saved_at = ?, expires_at = ?, plan = ?, targets = ? WHERE id = ?';

const PLANS = `SELECT id, revision, state, saved_at AS "savedAt", expires_at AS "expiresAt", made_by AS "madeBy", by, reason,
    decided_at AS "decidedAt", approved_by AS "approvedBy", approved_at AS "approvedAt", replaced_by AS "replacedBy", plan,
    targets FROM plans`;

// Hexadecimal digits sort before g: the second part is the range of all hashes with this prefix.
const FIND = `${PLANS} WHERE id = ?1
  UNION ${PLANS} WHERE hash >= ?1 AND hash < ?1 || 'g' AND length(?1) >= length(id) ORDER BY revision`;
const OF_CONTENT = `${PLANS} WHERE hash = ? ORDER BY revision DESC LIMIT 1`;

// The row is as it was read, so that of two decisions at the same time one counts.
const DECIDE = `UPDATE plans SET state = ?1, by = ?2, decided_at = ?3, reason = ?4, expires_at = ?5,
    replaced_by = ?6, approved_by = CASE WHEN ?1 = 'approved' THEN ?2 ELSE approved_by END,
    approved_at = CASE WHEN ?1 = 'approved' THEN ?3 ELSE approved_at END
  WHERE id = ?7 AND state = ?8 AND expires_at = ?9`;

/**
 * Returns the plan with an id, or with a hash prefix. Of several plans of one content, returns the one that is not
 * decided, else the newest. Of several contents, returns the only plan that is not decided, else none.
 */
function* find(id: string, now: number): Work<StoredPlan | undefined> {
  const found = (yield* all<PlanRow>(FIND, id)).map((row) => storedOf(row, now));
  const exact = found.find(({ plan }) => plan.id === id);
  if (exact !== undefined) return exact;
  const alive = found.filter(({ state }) => ALIVE.includes(state));
  if (alive.length > 0) return alive.length === 1 ? alive[0] : undefined;
  return new Set(found.map(({ plan }) => plan.hash)).size === 1 ? found.at(-1) : undefined;
}

interface Identity {
  readonly id: string;
  readonly revision: number;
  /** Newest stored plan of the content. */
  readonly newest?: StoredPlan;
}

/** Returns the identity of a plan: that of the undecided plan of its content, else a new one. */
function* identify({ hash: content, policy }: Plan, now: number): Work<Identity> {
  const row = yield* get<PlanRow>(OF_CONTENT, content);
  const newest = row && storedOf(row, now);
  if (newest !== undefined && ALIVE.includes(newest.state)) {
    return { id: newest.plan.id, revision: newest.revision, newest };
  }
  let revision = (newest?.revision ?? 0) + 1;
  // The id of a manual plan is part of its policy's name.
  const manual = manualPlanId(policy);
  if (manual !== undefined) return { id: manual, revision, newest };
  for (;;) {
    const free =
      revision === 1 ? content.slice(0, ID_LENGTH) : hash('sha256', `${content} ${revision}`).slice(0, ID_LENGTH);
    if ((yield* get('SELECT id FROM plans WHERE id = ?', free)) === undefined) return { id: free, revision, newest };
    revision++;
  }
}

const ID_LENGTH = 6;

/** Returns true if the stored plan stays as it is. */
function stays({ state }: StoredPlan, wanted: StoredPlan['state']): boolean {
  if (wanted === 'pending') return state !== 'draft' && (ALIVE.includes(state) || state === 'rejected');
  return wanted === 'draft' && (state === 'pending' || state === 'approved');
}

/** @param isOwn returns true for the accounts whose plans are listed */
export function createPlans({ database, write }: Journal, isOwn: (account: string) => boolean): Plans {
  const done = `SELECT count(DISTINCT i.target) AS done FROM intents i ${ofPlan(database.dialect)} AND i.active = 1`;

  /** Counts what is left of a plan whose approval is active. */
  function* withLeft(stored: StoredPlan): Work<StoredPlan> {
    const { plan, targets, approvedAt, state } = stored;
    if (state !== 'approved' || approvedAt === undefined) return stored;
    const of = [plan.policy, approvedAt, Number.MAX_SAFE_INTEGER, plan.id, JSON.stringify(targets)];
    const row = yield* get(done, ...of);
    return { ...stored, left: Math.max(0, targets.length - Number(row?.['done'])) };
  }

  function* found(id: string, now: number): Work<StoredPlan | undefined> {
    const stored = yield* find(id, now);
    return stored && (yield* withLeft(stored));
  }

  const byState = `${PLANS} WHERE state IN ${database.dialect.members('?1')} ORDER BY saved_at DESC`;

  return {
    planId: async (plan, now) => (await database.read(identify(plan, now))).id,
    savePlan: (wanted) =>
      write(function* (tell) {
        const { plan, targets, savedAt, expiresAt, state, by, reason } = wanted;
        const { id, revision, newest } = yield* identify(plan, savedAt);
        // A rejection holds until the rejected plan would have expired.
        if (newest !== undefined && newest.expiresAt > savedAt && stays(newest, state)) return newest;
        const { hash: planHash, policy, account, chosen, manual } = plan;
        const isNew = newest?.plan.id !== id;
        const asText = [JSON.stringify({ ...plan, id }), JSON.stringify(targets)];
        if (isNew)
          yield* run(INSERT, id, planHash, revision, state, savedAt, expiresAt, by ?? null, reason ?? null, ...asText);
        else yield* run(RENEW, state, savedAt, expiresAt, ...asText, id);
        yield* tell({
          type: 'plan.saved',
          policy,
          account,
          plan: id,
          planHash,
          state,
          matched: allowedOf(plan),
          chosen: chosen.length,
          covers: targets.length,
          expiresAt,
          by,
          reason,
          origin: manual && 'manual',
        });
        return storedOf((yield* get<PlanRow>(`${PLANS} WHERE id = ?`, id))!, savedAt);
      }, wanted.plan.account),
    storedPlan: (id, now) => database.read(found(id, now)),
    storedPlans: (states, now) =>
      database.view(async (view) => {
        // An expired plan is stored in its last state.
        const known = states.includes('expired') ? [...states, ...ALIVE] : states;
        const rows = await view.read(all<PlanRow>(byState, JSON.stringify(known)));
        const listed = rows
          .map((row) => storedOf(row, now))
          .filter(({ state, plan }) => states.includes(state) && isOwn(plan.account));
        return Promise.all(listed.map((stored) => view.read(withLeft(stored))));
      }),
    decidePlan: (id, { state, at, by, reason, expiresAt, replacedBy, account: owned }) =>
      write(function* (tell) {
        const found = yield* find(id, at);
        if (found === undefined || !BEFORE[state].includes(found.state)) return false;
        const { hash: planHash, policy, account, id: plan, manual } = found.plan;
        const decision = [state, by, at, reason ?? null, expiresAt ?? found.expiresAt, replacedBy ?? null];
        if ((yield* run(DECIDE, ...decision, plan, found.state, found.expiresAt)) === 0) return false;
        const covers = found.targets.length;
        const told = { from: found.state, state, covers, by, reason, replacedBy, origin: manual && 'manual' };
        yield* tell({ type: 'plan.decided', policy, account, plan, planHash, ...told });
        return true;
      }, owned),
  };
}

type PlanRow = Nullable<Omit<StoredPlan, 'plan' | 'targets' | 'left'>> &
  Readonly<Record<'id' | 'plan' | 'targets', string>>;

function storedOf({ id, plan, targets, ...row }: PlanRow, now: number): StoredPlan {
  const stored = withoutNulls<Omit<StoredPlan, 'plan' | 'targets' | 'left'>>(row);
  const { state, expiresAt, madeBy, by = madeBy } = stored;
  const isOver = ALIVE.includes(state) && expiresAt <= now;
  return {
    plan: { ...(JSON.parse(plan) as Plan), id },
    targets: JSON.parse(targets) as readonly string[],
    ...stored,
    by,
    ...(isOver && { state: 'expired', by: 'engine', decidedAt: expiresAt, reason: OVER[state] }),
  };
}

/** Reasons why plans expire, by their last state. */
const OVER: Readonly<Partial<Record<StoredPlan['state'], string>>> = {
  draft: 'nobody applied it in time',
  pending: 'nobody decided on it in time',
  approved: 'its approval ended before everything was done',
};
