/** Read access to actions for pages. */
import type { ActionType } from '#foundation/domain/plan.ts';
import type { Reports } from '#automate/ledger/reports.ts';
import { all, get } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { ACTIONS, actionOf } from './ledger-rows.ts';

/** Queries by name. They must stay fast with a million intents. */
export const ACTION_QUERIES = {
  unsettled: `${ACTIONS} WHERE i.id IN (SELECT intent_id FROM unsettled) ORDER BY i.id`,
  recent: `${ACTIONS} ORDER BY i.id DESC LIMIT ?`,
  ofPolicy: `${ACTIONS} WHERE i.policy = ? ORDER BY i.id`,
  action: `${ACTIONS} WHERE i.id = ?`,
  claim: `${ACTIONS} WHERE i.account = ? AND i.target = ? AND i.active = 1`,
} as const;

export type ActionReads = Pick<Reports, 'unknownOutcomes' | 'recentActions' | 'actionsOf' | 'action'> & {
  /** Reads for callers that cannot wait yet. */
  readonly now: {
    /** Action with the active claim on an entry. */
    actionOn(account: string, dlqId: string): ActionType | undefined;
    /** Failed run that this daemon resumed as this run. */
    resumedFrom(account: string, workflowRunId: string): string | undefined;
  };
};

export function createActionReads({ db, database }: Journal): ActionReads {
  const prepare = (name: keyof typeof ACTION_QUERIES) => db.prepare(ACTION_QUERIES[name]);
  const selectClaim = prepare('claim');
  const selectOperation = db.prepare('SELECT action FROM operation_claims WHERE account = ? AND target = ?');
  const selectResumed = db.prepare(
    'SELECT i.subject FROM outcomes o JOIN intents i ON i.id = o.intent_id WHERE o.new_run_id = ? AND i.account = ? ORDER BY o.id DESC LIMIT 1',
  );

  return {
    async unknownOutcomes() {
      const counts = new Map<string, number>();
      const open = await database.read(all(ACTION_QUERIES.unsettled));
      for (const { outcome, proposal } of open.map(actionOf)) {
        if (outcome === 'unknown') counts.set(proposal.policy, (counts.get(proposal.policy) ?? 0) + 1);
      }
      return counts;
    },
    recentActions: async (limit) => (await database.read(all(ACTION_QUERIES.recent, limit))).map(actionOf),
    actionsOf: async (policy) => (await database.read(all(ACTION_QUERIES.ofPolicy, policy))).map(actionOf),
    async action(id) {
      const row = await database.read(get(ACTION_QUERIES.action, id));
      return row === undefined ? undefined : actionOf(row);
    },
    now: {
      actionOn: (account, dlqId) => {
        const row = selectClaim.get(account, dlqId);
        const operation = selectOperation.get(account, dlqId)?.['action'];
        return row === undefined ? (operation as ActionType | undefined) : actionOf(row).proposal.action;
      },
      resumedFrom(account, workflowRunId) {
        const run = selectResumed.get(workflowRunId, account)?.['subject'];
        return typeof run === 'string' ? run : undefined;
      },
    },
  };
}
