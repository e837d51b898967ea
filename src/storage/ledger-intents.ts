/**
 * Intents and their outcomes. Both are append-only. The current state of an intent is its newest outcome. An intent
 * that is proven to have had no effect releases its claim and its cap. A prune page that deleted fewer messages than
 * allowed keeps only those in the cap.
 */
import type { Proposal } from '#foundation/domain/plan.ts';
import type { History } from '#automate/ledger/history.ts';
import type { ActionOutcome, Intents, Reservation } from '#automate/ledger/intents.ts';
import type { AuditEntry } from '#automate/ledger/audit-log.ts';
import type { Caps } from './ledger-caps.ts';
import type { Journal } from './ledger-journal.ts';
import type { OperationClaims } from './ledger-operations.ts';
import { intentOf } from './ledger-rows.ts';

/** Outcomes that a later reading will replace. */
const OPEN_OUTCOMES: ReadonlySet<ActionOutcome> = new Set(['accepted', 'unknown']);

/** Outcomes that prove that the action had no effect. */
const WITHOUT_EFFECT: ReadonlySet<ActionOutcome> = new Set(['rejected', 'confirmed_not_applied']);

interface Authority {
  leaseLost(): string | undefined;
  mustBeAdopted(): string | undefined;
}

export function createIntents(
  { db, epoch, change }: Journal,
  caps: Caps,
  { authority, operations }: { readonly authority: Authority; readonly operations: OperationClaims },
): Pick<Intents, 'reserve' | 'recordOutcome'> & Pick<History, 'isClaimed' | 'actionOn'> {
  const insertIntent = db.prepare(
    `INSERT INTO intents
       (run_id, at, epoch, policy, account, action, target, group_name, items, subject, lineage, campaign, step, proposal)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const selectIntent = db.prepare('SELECT id, at, run_id, epoch, proposal, items, active FROM intents WHERE id = ?');
  const releaseClaim = db.prepare('UPDATE intents SET active = 0 WHERE id = ?');
  const setItems = db.prepare('UPDATE intents SET items = ? WHERE id = ?');
  const insertOutcome = db.prepare(
    'INSERT INTO outcomes (intent_id, at, outcome, detail, new_run_id, done) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const insertUnsettled = db.prepare('INSERT INTO unsettled (intent_id) VALUES (?)');
  const deleteUnsettled = db.prepare('DELETE FROM unsettled WHERE intent_id = ?');
  const selectClaim = db.prepare('SELECT id, action FROM intents WHERE account = ? AND target = ? AND active = 1');

  /** Returns the first reason not to act, in display order. */
  function objection(
    proposal: Proposal,
    at: number,
    limits: Parameters<Intents['reserve']>[3],
  ): Reservation | undefined {
    const lost = authority.leaseLost();
    if (lost !== undefined) return { ok: false, guard: 'lease', reason: lost };
    const distrusted = authority.mustBeAdopted();
    if (distrusted !== undefined)
      return { ok: false, guard: 'caps', reason: `all caps count as used up: ${distrusted}` };
    const claim = selectClaim.get(proposal.account, proposal.target);
    if (claim !== undefined) {
      return { ok: false, guard: 'claim', reason: `already sent as action ${Number(claim['id'])}` };
    }
    const taken = operations.claimOf(proposal.account, proposal.target);
    if (taken !== undefined)
      return { ok: false, guard: 'claim', reason: `already sent by an operator as operation ${taken.operation}` };
    const full = caps.objection(proposal, at, limits);
    return full === undefined ? undefined : { ok: false, guard: 'caps', reason: full };
  }

  return {
    reserve: (runId, proposal, at, limits) =>
      change((tell): Reservation => {
        const refused = objection(proposal, at, limits);
        if (refused !== undefined) return refused;
        const { policy, account, action, target, group, items } = proposal;
        const campaign = action === 'workflow-dlq.resume' ? proposal.campaign : undefined;
        const { lastInsertRowid } = insertIntent.run(
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
        insertUnsettled.run(lastInsertRowid);
        caps.take(proposal, at);
        const intent = { id: Number(lastInsertRowid), at, runId, epoch, proposal };
        tell({ type: 'intent', policy, account, intent: intent.id, run: runId, ...told(proposal) });
        return { ok: true, intent };
      }),
    recordOutcome: (intentId, { at, outcome, detail, newRunId, done }) =>
      change((tell) => {
        const row = selectIntent.get(intentId);
        if (row === undefined)
          throw new Error(`intent ${intentId} is not in the ledger, so its outcome ${outcome} cannot be stored`);
        const { proposal, at: intendedAt } = intentOf(row);
        insertOutcome.run(intentId, at, outcome, detail ?? null, newRunId ?? null, done ?? null);
        if (!OPEN_OUTCOMES.has(outcome)) deleteUnsettled.run(intentId);
        const items = Number(row['items']);
        const kept = itemsKept(proposal, items, { outcome, done });
        if (row['active'] === 1 && kept < items) {
          if (kept > 0) setItems.run(kept, intentId);
          else releaseClaim.run(intentId);
          caps.giveBack(proposal, intendedAt, items - kept);
        }
        const { policy, account } = proposal;
        tell({ type: 'outcome', policy, account, intent: intentId, target: proposal.target, outcome, newRunId, done });
      }),
    isClaimed: (account, target) =>
      selectClaim.get(account, target) !== undefined || operations.claimOf(account, target) !== undefined,
    actionOn: (account, dlqId) =>
      (selectClaim.get(account, dlqId)?.['action'] as Proposal['action'] | undefined) ??
      operations.claimOf(account, dlqId)?.action,
  };
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
