/** Views of runs and actions for the API and the pages. */
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import type { ActionView, RunView } from '../contract/policies.ts';

export function runView({ trigger, outcome, ...run }: RunRecord): RunView {
  return { ...run, trigger: trigger.kind, outcome: outcome ?? 'running' };
}

export function actionView(record: ActionRecord): ActionView {
  const { epoch: _epoch, outcome = 'pending', proposal, ...rest } = record;
  const { policy, account, action, target, items } = proposal;
  return {
    ...rest,
    policy,
    account,
    action,
    target,
    items,
    workflowRunId: 'workflowRunId' in proposal ? proposal.workflowRunId : undefined,
    workflowUrl: 'workflowUrl' in proposal ? proposal.workflowUrl : undefined,
    attempt: 'attempt' in proposal ? proposal.attempt : undefined,
    outcome,
  };
}
