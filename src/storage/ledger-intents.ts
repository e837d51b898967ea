/**
 * Intents and their outcomes. Both are append-only. The current state of an intent is its newest outcome. An intent
 * that is proven to have had no effect releases its claim and its cap. A prune page that deleted fewer messages than
 * allowed keeps only those in the cap.
 */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import type { Proposal } from '#foundation/domain/plan.ts';
import type { ActionOutcome, CapLimit, Intents, Premises, Refused } from '#automate/ledger/intents.ts';
import type { AuditEntry } from '#automate/ledger/audit-log.ts';
import { all, get, run, type Work } from './database.ts';
import { afterBudgetChanges, budgetChangesOf } from './ledger-budgets.ts';
import type { Caps } from './ledger-caps.ts';
import type { Journal } from './ledger-journal.ts';
import { ACTIONS, actionRows } from './ledger-rows.ts';
import type { StoreTrust } from './ledger-trust.ts';

/** Outcomes that a later reading will replace. */
const OPEN_OUTCOMES: ReadonlySet<ActionOutcome> = new Set(['accepted', 'delivered', 'unknown']);

/** Outcomes that prove that the action had no effect. */
const WITHOUT_EFFECT: ReadonlySet<ActionOutcome> = new Set(['rejected', 'confirmed_not_applied']);

const INSERT = `INSERT INTO intents
    (run_id, at, epoch, policy, account, action, target, group_name, items, subject, lineage, campaign, step, proposal)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`;
const INSERT_OUTCOME =
  'INSERT INTO outcomes (intent_id, at, outcome, detail, new_run_id, done) VALUES (?, ?, ?, ?, ?, ?)';
const INTENT = 'SELECT at, proposal, items, active FROM intents WHERE id = ?';
const OUTCOME = 'SELECT outcome FROM outcomes WHERE intent_id = ? ORDER BY id DESC LIMIT 1';
const CLAIM = 'SELECT id FROM intents WHERE account = ? AND target = ? AND active = 1';
const OPERATION_CLAIM = 'SELECT operation_id, action FROM operation_claims WHERE account = ? AND target = ?';
const PAUSED = 'SELECT scope, reason FROM pauses WHERE lifted_at IS NULL ORDER BY id';
const ENDED = `SELECT id, state, by, reason FROM plans WHERE id = ? AND state IN ('cancelled', 'rejected')`;
const LAST_OF_LINEAGE = 'SELECT max(at) AS at FROM intents WHERE account = ? AND lineage = ? AND active = 1';

/** Queries of the work list by name. They must stay fast with a million intents. */
export const WORK_LIST = {
  open: `${ACTIONS} WHERE i.id IN (SELECT intent_id FROM unsettled) ORDER BY i.id`,
  // CROSS JOIN: starts at the few unsettled intents instead of scanning all intents by time.
  oldest: `SELECT i.account, min(i.at) AS at FROM unsettled u CROSS JOIN intents i WHERE i.id = u.intent_id
    GROUP BY i.account`,
} as const;

interface IntentRow {
  readonly at: number;
  readonly proposal: string;
  readonly items: number;
  readonly active: 0 | 1;
}

interface IntentDeps {
  readonly caps: Caps;
  readonly trust: StoreTrust;
  /** Returns true for the accounts whose open actions are listed. */
  readonly isOwn: (account: string) => boolean;
}

export function createIntents({ database, epoch, write }: Journal, { caps, trust, isOwn }: IntentDeps): Intents {
  /** Returns the first reason not to act, in display order. */
  function* objection(
    proposal: Proposal,
    at: number,
    { limits, premises }: { readonly limits: readonly CapLimit[]; readonly premises: Premises },
  ): Work<Refused | undefined> {
    const { account, target } = proposal;
    // The transaction itself checks the ownership of the account.
    const lost = yield* trust.lost([]);
    if (lost !== undefined) return { ok: false, guard: 'lease', reason: lost };
    const distrusted = trust.mustBeAdopted();
    if (distrusted !== undefined)
      return { ok: false, guard: 'caps', reason: `all caps count as used up: ${distrusted}` };
    const changed = yield* changedSince(proposal, premises);
    if (changed !== undefined) return { ok: false, ...changed };
    const claim = yield* get(CLAIM, account, target);
    if (claim !== undefined) {
      return { ok: false, guard: 'claim', reason: `already sent as action ${Number(claim['id'])}` };
    }
    const taken = yield* get(OPERATION_CLAIM, account, target);
    const isByHand = proposal.action === 'workflow-dlq.delete' && manualPlanId(proposal.policy) !== undefined;
    if (taken !== undefined && !(isByHand && taken['action'] === 'retrigger')) {
      const operation = Number(taken['operation_id']);
      return { ok: false, guard: 'claim', reason: `already sent by an operator as operation ${operation}` };
    }
    const full = yield* caps.objection(proposal, at, limits);
    return full === undefined ? undefined : { ok: false, guard: 'caps', reason: full };
  }

  return {
    reserve: async (runId, proposal, wantedAt, limits, premises = {}) =>
      write(function* (tell) {
        const isRaise = proposal.action === 'budget.raise';
        const at = isRaise ? yield* afterBudgetChanges(proposal.account, wantedAt) : wantedAt;
        const refused = yield* objection(proposal, at, { limits, premises });
        if (refused !== undefined) return refused;
        const { policy, account, action, target, group, items } = proposal;
        const campaign = 'campaign' in proposal ? proposal.campaign : undefined;
        const row = yield* get(
          INSERT,
          runId,
          at,
          epoch,
          policy,
          account,
          action,
          target,
          group,
          items,
          subjectOf(proposal),
          'lineage' in proposal ? proposal.lineage : null,
          campaign?.id ?? null,
          campaign?.step ?? null,
          JSON.stringify(proposal),
        );
        const intent = { id: Number(row?.['id']), at, runId, epoch, proposal };
        yield* run('INSERT INTO unsettled (intent_id) VALUES (?)', intent.id);
        yield* caps.take(proposal, at);
        yield* tell({ type: 'intent', policy, account, intent: intent.id, run: runId, ...told(proposal) });
        return { ok: true, intent } as const;
      }, proposal.account),
    recordOutcome: async (intentId, account, { at, outcome, detail, newRunId, done, after }) =>
      write(function* (tell) {
        const row = yield* get<IntentRow>(INTENT, intentId);
        if (row === undefined)
          throw new Error(`intent ${intentId} is not in the ledger, so its outcome ${outcome} cannot be stored`);
        if (after !== undefined && after !== ((yield* get(OUTCOME, intentId))?.['outcome'] ?? 'none')) return false;
        const { at: intendedAt, items, active } = row;
        const proposal = JSON.parse(row.proposal) as Proposal;
        yield* run(INSERT_OUTCOME, intentId, at, outcome, detail ?? null, newRunId ?? null, done ?? null);
        if (!OPEN_OUTCOMES.has(outcome)) yield* run('DELETE FROM unsettled WHERE intent_id = ?', intentId);
        const kept = itemsKept(proposal, items, { outcome, done });
        if (active === 1 && kept < items) {
          if (kept > 0) yield* run('UPDATE intents SET items = ? WHERE id = ?', kept, intentId);
          else yield* run('UPDATE intents SET active = 0 WHERE id = ?', intentId);
          yield* caps.giveBack(proposal, intendedAt, items - kept);
        }
        const { policy, target } = proposal;
        yield* tell({ type: 'outcome', policy, account, intent: intentId, target, outcome, newRunId, done });
        return true;
      }, account),
    openActions: async () =>
      (await database.read(actionRows(WORK_LIST.open))).filter(({ proposal }) => isOwn(proposal.account)),
    async oldestOpenAt() {
      const own = (await database.read(all(WORK_LIST.oldest))).filter(({ account }) => isOwn(String(account)));
      return own.length === 0 ? undefined : Math.min(...own.map(({ at }) => Number(at)));
    },
  };
}

/** Returns what has changed since an action was decided; undefined if nothing has. */
function* changedSince(
  proposal: Proposal,
  { pauses, plans = [], since, budgetChanges }: Premises,
): Work<Pick<Refused, 'guard' | 'reason'> | undefined> {
  const { account } = proposal;
  if (pauses !== undefined) {
    const paused = (yield* all(PAUSED)).find((row) => pauses.includes(String(row['scope'])));
    if (paused !== undefined) return { guard: 'kill_switch', reason: String(paused['reason']) };
  }
  for (const plan of plans) {
    const ended = yield* get(ENDED, plan);
    if (ended === undefined) continue;
    const why = ended['reason'] === null ? '' : `: ${String(ended['reason'])}`;
    const by = `${String(ended['state'])} by ${String(ended['by'])}${why}`;
    return { guard: 'interrupted', reason: by };
  }
  if (since !== undefined && 'lineage' in proposal) {
    const at = (yield* get(LAST_OF_LINEAGE, account, proposal.lineage))?.['at'];
    if (typeof at === 'number' && at >= since)
      return { guard: 'claim', reason: 'another action on the same run was sent since the plan' };
  }
  if (budgetChanges !== undefined) {
    const known = yield* budgetChangesOf(account, 0);
    if (JSON.stringify(known) !== JSON.stringify(budgetChanges))
      return { guard: 'claim', reason: 'the budget was changed since it was read' };
  }
  return undefined;
}

/** Returns how many of `items` an action keeps in its caps after this outcome. */
function itemsKept(
  { action }: Proposal,
  items: number,
  { outcome, done = items }: { readonly outcome: ActionOutcome; readonly done: number | undefined },
): number {
  if (WITHOUT_EFFECT.has(outcome)) return 0;
  return action === 'message-dlq.prune' && outcome === 'accepted' ? Math.min(done, items) : items;
}

/** Returns the run or message of the entry. */
function subjectOf(proposal: Proposal): string | null {
  if ('workflowRunId' in proposal) return proposal.workflowRunId;
  return 'messageId' in proposal ? proposal.messageId : null;
}

/** Returns the fields of a proposal for the audit log: its identifiers, never the content of its entry. */
function told(proposal: Proposal): Omit<AuditEntry, 'type'> {
  const { action, target, items } = proposal;
  const common = { action, target, items };
  switch (proposal.action) {
    case 'workflow-dlq.resume': {
      const { workflowRunId, lineage, attempt, campaign } = proposal;
      return { ...common, workflowRunId, lineage, attempt, campaign: campaign?.id, step: campaign?.step };
    }
    case 'message-dlq.republish': {
      const { messageId, lineage, attempt, campaign, size, edit } = proposal;
      const at = { campaign: campaign?.id, step: campaign?.step };
      return { ...common, messageId, lineage, attempt, ...at, size, sha256: edit?.sha256, headers: edit?.headers };
    }
    case 'workflow-dlq.delete':
      return { ...common, workflowRunId: proposal.workflowRunId, lineage: proposal.lineage };
    case 'message-dlq.delete':
      return { ...common, messageId: proposal.messageId };
    case 'message-dlq.prune':
      return {
        ...common,
        page: proposal.page,
        toDate: proposal.filter.toDate,
        filters: Object.keys(proposal.filter).toSorted(),
      };
    case 'budget.raise':
      return { ...common, fromUsd: proposal.fromUsd, toUsd: proposal.toUsd };
  }
}
