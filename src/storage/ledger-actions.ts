/** Read access to actions for pages. */
import type { Reports } from '#automate/ledger/reports.ts';
import type { Dialect } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { ACTIONS, actionRows } from './ledger-rows.ts';

/** Queries by name. They must stay fast with a million intents. */
export const ACTION_QUERIES = {
  unsettled: `${ACTIONS} WHERE i.id IN (SELECT intent_id FROM unsettled) ORDER BY i.id`,
  recent: `${ACTIONS} ORDER BY i.id DESC LIMIT ?`,
  ofPolicy: `${ACTIONS} WHERE i.policy = ? ORDER BY i.id`,
  action: `${ACTIONS} WHERE i.id = ?`,
} as const;

type ActionReads = Pick<Reports, 'unknownOutcomes' | 'recentActions' | 'actionsOf' | 'action'>;

/** Condition for the actions of a plan: those of its runs, and those on its targets by any run. */
export function ofPlan({ members }: Dialect): string {
  return `JOIN runs r ON r.id = i.run_id WHERE i.policy = ?1 AND i.at BETWEEN ?2 AND ?3
    AND (r.plan_id = ?4 OR i.target IN ${members('?5')})`;
}

/** @param isOwn returns true for the accounts whose unknown outcomes count */
export function createActionReads({ database }: Journal, isOwn: (account: string) => boolean): ActionReads {
  const inPlan = `${ACTIONS} ${ofPlan(database.dialect)} ORDER BY i.id`;

  return {
    async unknownOutcomes() {
      const counts = new Map<string, number>();
      for (const { outcome, proposal } of await database.read(actionRows(ACTION_QUERIES.unsettled))) {
        if (outcome === 'unknown' && isOwn(proposal.account))
          counts.set(proposal.policy, (counts.get(proposal.policy) ?? 0) + 1);
      }
      return counts;
    },
    recentActions: (limit) => database.read(actionRows(ACTION_QUERIES.recent, limit)),
    actionsOf(policy, period) {
      if (period === undefined) return database.read(actionRows(ACTION_QUERIES.ofPolicy, policy));
      const { plan, targets, from, to } = period;
      return database.read(actionRows(inPlan, policy, from, to, plan, JSON.stringify(targets)));
    },
    action: async (id) => (await database.read(actionRows(ACTION_QUERIES.action, id)))[0],
  };
}
