/** Views of runs and actions for the API and the pages. */
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import type { ActionView, RunView } from './status-views.ts';

export function runView(run: RunRecord): RunView {
  const { id, policy, account, planId, trigger, at, finishedAt, outcome, matched, acted, backlog, detail } = run;
  return {
    id,
    policy,
    account,
    ...(planId !== undefined && { planId }),
    trigger: trigger.kind,
    at,
    ...(finishedAt !== undefined && { finishedAt }),
    outcome: outcome ?? 'running',
    ...(matched !== undefined && { matched }),
    acted,
    ...(backlog !== undefined && { backlog }),
    ...(detail !== undefined && { detail }),
  };
}

export function actionView(record: ActionRecord): ActionView {
  const { proposal } = record;
  const { policy, account, action, target, items } = proposal;
  return {
    id: record.id,
    at: record.at,
    runId: record.runId,
    policy,
    account,
    action,
    target,
    items,
    ...('workflowRunId' in proposal && {
      workflowRunId: proposal.workflowRunId,
      workflowUrl: proposal.workflowUrl,
    }),
    ...('attempt' in proposal && { attempt: proposal.attempt }),
    outcome: record.outcome ?? ('pending' as const),
    ...(record.outcomeAt !== undefined && { outcomeAt: record.outcomeAt }),
    ...(record.detail !== undefined && { detail: record.detail }),
    ...(record.newRunId !== undefined && { newRunId: record.newRunId }),
    ...(record.done !== undefined && { done: record.done }),
  };
}
