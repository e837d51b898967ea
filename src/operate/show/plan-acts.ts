/** Effect of a plan in words, for each of the six actions. Pure. */
import { counted, formatCount, formatUsd } from '#foundation/domain/counted.ts';
import type { ActionType, Plan } from '#foundation/domain/plan.ts';
import type { StoredPlanView } from '../contract/plans.ts';

/** Irreversible consequence, for the head of a plan. */
export const CONSEQUENCE: Readonly<Record<ActionType, string>> = {
  'workflow-dlq.resume': 'a resumed run cannot be cancelled',
  'workflow-dlq.delete': 'a deleted entry cannot be restored',
  'message-dlq.republish': 'a published message cannot be taken back',
  'message-dlq.delete': 'a deleted message cannot be restored',
  'message-dlq.prune': 'deleted messages were never listed and cannot be restored',
  'budget.raise': 'a raise can only be reverted manually',
};

/** Effect of a stored plan in a few words: `Resume 27 runs`. */
export function planTitle({ action, covers, matched }: Pick<StoredPlanView, 'action' | 'covers' | 'matched'>): string {
  switch (action) {
    case 'workflow-dlq.resume':
      return `Resume ${counted(covers, 'run')}`;
    case 'workflow-dlq.delete':
      return `Delete ${counted(covers, 'failed run')}`;
    case 'message-dlq.republish':
      return `Publish ${counted(covers, 'failed message')} again`;
    case 'message-dlq.delete':
      return `Delete ${counted(covers, 'failed message')}`;
    case 'message-dlq.prune':
      return `Delete up to ${counted(matched, 'old failed message')} without listing them`;
    case 'budget.raise':
      return 'Raise the budget';
  }
}

/** Effect of applying the plan: `resume 27 runs now, 182 more are left for later`. */
export function actText(plan: Plan): string {
  const { chosen, account, backlog } = plan;
  const now = chosen.length;
  const later = backlog === 0 ? '' : `; ${formatCount(backlog)} more are left for later runs`;
  switch (plan.action) {
    case 'workflow-dlq.resume':
      return `resume ${counted(now, 'run')} of ${account}${later}`;
    case 'workflow-dlq.delete':
      return `delete ${counted(now, 'entry', 'entries')} of the workflow DLQ of ${account}${later}`;
    case 'message-dlq.republish':
      return `publish ${counted(now, 'message')} of ${account} again${later}`;
    case 'message-dlq.delete':
      return `delete ${counted(now, 'message')} of the DLQ of ${account}${later}`;
    case 'message-dlq.prune': {
      const items = chosen.reduce((sum, page) => sum + page.items, 0);
      return `delete up to ${counted(items, 'message')} of the DLQ of ${account} without listing them, in ${counted(now, 'page')}`;
    }
    case 'budget.raise': {
      const [raise] = chosen;
      return raise?.action === 'budget.raise'
        ? `raise the budget of ${account} from ${formatUsd(raise.fromUsd)} to ${formatUsd(raise.toUsd)} a month`
        : `raise the budget of ${account} by nothing`;
    }
  }
}
