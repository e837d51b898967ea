/**
 * Policy of a manual plan: the operator's selection with the default limits and ramp. It has no schedule, windows,
 * preconditions or probation, and its mode is `approve`: applying the plan is its approval.
 */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { manualPolicyName, type ManualOrigin } from '#foundation/domain/manual-plan.ts';
import type { ActionType } from '#foundation/domain/plan.ts';
import { QUEUE_OF, SELECTION_FILTERS, type ManualAction, type Selection } from '#foundation/domain/selection.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { compilePolicy } from './compile-policy.ts';
import type { MessagePolicy, Policy, PrunePolicy, WorkflowDlqPolicy } from './policy.ts';
import { policySettings } from './settings.ts';

const ACTION_OF: Readonly<Record<ManualAction, ActionType>> = {
  resume: 'workflow-dlq.resume',
  delete: 'workflow-dlq.delete',
  republish: 'message-dlq.republish',
  'delete-messages': 'message-dlq.delete',
  prune: 'message-dlq.prune',
};

interface Manual {
  /** Id of the plan. */
  readonly id: string;
  readonly account: string;
  readonly origin: ManualOrigin;
  /** Folder of the archive of deleted entries. */
  readonly archiveDir: string;
}

/** @param manual its selection must have no fault (foundation/domain/selection.ts) */
export function manualPolicy({ id, account, origin, archiveDir }: Manual): Policy {
  const { selection } = origin;
  const policy = compilePolicy(policySettings.parse(settingsOf(selection, account, archiveDir)), 'manual');
  const { limits } = policy;
  const own = { name: manualPolicyName(id), manual: origin, scope: {}, limits: { ...limits, probationRuns: 0 } };
  switch (selection.action) {
    case 'resume':
    case 'delete': {
      const runs = policy as WorkflowDlqPolicy;
      const action = { ...runs.action, ...('grace' in runs.action && { grace: 0 }) };
      const filter: WorkflowDlqPolicy['filter'] = (now) => ({ ...runs.filter(now), ...sent(selection) });
      return { ...runs, ...own, action, filter, leaves: leaves(selection) } as WorkflowDlqPolicy;
    }
    case 'republish':
    case 'delete-messages': {
      const messages = policy as MessagePolicy;
      const missed: MessagePolicy['missed'] = (deadLetter, now) =>
        leavesMessage(selection, deadLetter) ?? messages.missed(deadLetter, now);
      const edit = selection.edit && { action: { ...messages.action, edit: selection.edit } };
      return { ...messages, ...own, missed, ...edit } as MessagePolicy;
    }
    case 'prune': {
      const prune = policy as PrunePolicy;
      const dates = { ...datesOf(selection), toDate: selection.toDate! };
      return { ...prune, ...own, filter: (now) => ({ ...prune.filter(now), ...dates }) };
    }
  }
}

/** Part of the filter that a configuration cannot have. The service takes one run; several are selected from the listing. */
function sent(selection: Selection) {
  const [only, ...others] = selection.workflowRunId ?? [];
  return { ...datesOf(selection), ...(only !== undefined && others.length === 0 && { workflowRunId: only }) };
}

/** Settings of a policy in the configuration that selects the same, apart from ids and absolute times. */
function settingsOf(selection: Selection, account: string, archiveDir: string): unknown {
  const { action } = selection;
  const filters = SELECTION_FILTERS.filter((name) => name !== 'workflowRunId' && selection[name] !== undefined);
  return {
    name: 'manual',
    account,
    mode: 'approve',
    on: { hand: true },
    select: {
      resource: `${QUEUE_OF[action]}-dlq`,
      ...Object.fromEntries(filters.map((name) => [name === 'label' ? 'anyLabel' : name, selection[name]])),
      // Replaced by the selection's own bound.
      ...(action === 'prune' && { failedBefore: '1h' }),
    },
    // Every entry has an id: the selection alone decides.
    ...(action !== 'prune' && { where: 'entry.dlqId != ""' }),
    action: { type: ACTION_OF[action], ...(action === 'delete' && { archive: { dir: archiveDir } }) },
    // The operator sees the plan with the reason, so applying it answers the tripwire.
    ...(action !== 'prune' && { limits: { onTrip: 'approve' } }),
  };
}

function datesOf({ fromDate, toDate }: Selection) {
  return { ...(fromDate !== undefined && { fromDate }), ...(toDate !== undefined && { toDate }) };
}

function leaves({ ids, workflowRunId }: Selection): (entry: WorkflowDlqEntry) => string | undefined {
  const wanted = ids && new Set(ids);
  const runs = workflowRunId && new Set(workflowRunId);
  return (entry) => {
    if (wanted?.has(entry.dlqId) === false) return 'not among the selected ids';
    return runs?.has(entry.workflowRunId) === false ? 'not among the selected runs' : undefined;
  };
}

function leavesMessage({ ids, fromDate, toDate }: Selection, { dlqId, learnedAt }: DeadLetter): string | undefined {
  if (ids?.includes(dlqId) === false) return 'ids';
  if (fromDate !== undefined && learnedAt < fromDate) return 'fromDate';
  return toDate !== undefined && learnedAt > toDate ? 'toDate' : undefined;
}
