/** Views of runs and actions for the API and the pages. */
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import type { ActionView, RunView } from '../contract/policies.ts';

export function runView(run: RunRecord): RunView {
  const { id, policy, account, planId, trigger, at, finishedAt, outcome, matched, acted, backlog, detail } = run;
  return {
    id,
    policy,
    account,
    planId,
    trigger: trigger.kind,
    at,
    finishedAt,
    outcome: outcome ?? 'running',
    matched,
    acted,
    backlog,
    detail,
  };
}

export function actionView(record: ActionRecord): ActionView {
  const { id, at, runId, outcome = 'pending', outcomeAt, detail, newRunId, done, proposal } = record;
  const { policy, account, action, target, items } = proposal;
  return {
    id,
    at,
    runId,
    policy,
    account,
    action,
    target,
    items,
    workflowRunId: 'workflowRunId' in proposal ? proposal.workflowRunId : undefined,
    workflowUrl: 'workflowUrl' in proposal ? proposal.workflowUrl : undefined,
    attempt: 'attempt' in proposal ? proposal.attempt : undefined,
    outcome,
    outcomeAt,
    detail,
    newRunId,
    done,
  };
}
