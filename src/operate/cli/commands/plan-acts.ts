/** Actions of a plan as text and as rows, for each of the five actions. Pure. */
import { counted, formatCount } from '#foundation/domain/counted.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { ActionType, Plan, Proposal, PruneFilter, PruneProposal } from '#foundation/domain/plan.ts';

/** Irreversible consequence, for the head of a plan. */
export const CONSEQUENCE: Readonly<Record<ActionType, string>> = {
  'workflow-dlq.resume': 'a resumed run cannot be cancelled',
  'workflow-dlq.delete': 'a deleted entry cannot be restored',
  'message-dlq.delete': 'a deleted message cannot be restored',
  'message-dlq.prune': 'deleted messages were never listed and cannot be restored',
  'budget.raise': 'a raise can only be reverted manually',
};

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
    case 'message-dlq.delete':
      return `delete ${counted(now, 'message')} of the DLQ of ${account}${later}`;
    case 'message-dlq.prune': {
      const items = chosen.reduce((sum, page) => sum + page.items, 0);
      return `delete up to ${counted(items, 'message')} of the DLQ of ${account} without listing them, in ${counted(now, 'page')}`;
    }
    case 'budget.raise': {
      const [raise] = chosen;
      return raise?.action === 'budget.raise'
        ? `raise the budget of ${account} from $${formatCount(raise.fromUsd)} to $${formatCount(raise.toUsd)} a month`
        : `raise the budget of ${account} by nothing`;
    }
  }
}

/** Header and rows. */
export function actRows(plan: Plan, proposals: readonly Proposal[]): readonly (readonly string[])[] {
  switch (plan.action) {
    case 'workflow-dlq.resume':
      return [
        ['dlqId', 'run', 'failed', 'cause', 'try', 'expires', 'labels'],
        ...proposals.map((one) => runRow(one, plan)),
      ];
    case 'workflow-dlq.delete':
      return [
        ['dlqId', 'run', 'failed', 'cause', 'labels'],
        ...proposals.map((one) => runRow(one, plan).filter((_cell, index) => index !== 4 && index !== 5)),
      ];
    case 'message-dlq.delete':
      return [['dlqId', 'message', 'learned', 'status', 'destination'], ...proposals.map(messageRow)];
    case 'message-dlq.prune':
      return [['page', 'at most', 'failed before', 'filters'], ...proposals.map(pageRow)];
    case 'budget.raise':
      return [['account', 'from', 'to'], ...proposals.map(budgetRow)];
  }
}

function runRow(one: Proposal, { at }: Plan): string[] {
  if (!('workflowRunId' in one)) return [one.target];
  return [
    one.dlqId,
    one.workflowRunId,
    moment(one.failedAt),
    one.status === undefined ? one.cause : `${one.cause} ${one.status}`,
    'attempt' in one ? String(one.attempt) : '',
    one.expiresAt === undefined ? '' : `in ${formatDuration(Math.max(0, one.expiresAt - at))}`,
    one.labels.join(', '),
  ];
}

function messageRow(one: Proposal): string[] {
  if (one.action !== 'message-dlq.delete') return [one.target];
  const status = one.status === undefined ? 'no response' : String(one.status);
  return [one.dlqId, one.messageId, moment(one.failedAt), status, one.url ?? ''];
}

function pageRow(one: Proposal): string[] {
  if (one.action !== 'message-dlq.prune') return [one.target];
  return [String(one.page), formatCount(one.items), moment(one.filter.toDate), filterText(one.filter)];
}

function budgetRow(one: Proposal): string[] {
  if (one.action !== 'budget.raise') return [one.target];
  return [one.account, `$${formatCount(one.fromUsd)}`, `$${formatCount(one.toUsd)}`];
}

function filterText({ toDate: _bound, ...filters }: PruneProposal['filter']): string {
  return Object.entries(filters as Omit<PruneFilter, 'toDate'>)
    .map(([name, value]) =>
      name === 'fromDate' ? `failed after ${moment(value as number)}` : `${name} ${[value].flat().join(' or ')}`,
    )
    .join(', ');
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `18 Nov 10:02:11Z`. */
function moment(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.toISOString().slice(11, 19)}Z`;
}
