/**
 * From a policy to its plan: read, test, choose. Nothing here acts or writes; a run and a dry run are the same up to
 * this point.
 */
import type { Denial } from '#foundation/domain/plan.ts';
import type { BudgetPolicy, MessageDeletePolicy, Policy, PrunePolicy, WorkflowDlqPolicy } from '../policies/policy.ts';
import { decideBudget } from './decide-budget.ts';
import { decideDeadLetters } from './decide-dead-letters.ts';
import { decidePrune } from './decide-prune.ts';
import { decideWorkflowDlq } from './decide-workflow-dlq.ts';
import type { DecideDeps } from './decide-deps.ts';
import { Draft, type Decision, type PlanContext } from './plan-draft.ts';

/** The type of an action tells the policy's own: a switch over a member's member does not narrow it by itself. */
export async function decide(policy: Policy, context: PlanContext, deps: DecideDeps): Promise<Decision> {
  switch (policy.action.type) {
    case 'workflow-dlq.resume':
    case 'workflow-dlq.delete':
      return decideWorkflowDlq(policy as WorkflowDlqPolicy, context, deps);
    case 'message-dlq.delete':
      return decideDeadLetters(policy as MessageDeletePolicy, context, deps);
    case 'message-dlq.prune':
      return decidePrune(policy as PrunePolicy, context, deps);
    case 'budget.raise':
      return decideBudget(policy as BudgetPolicy, context, deps);
  }
}

/** Nothing was read, because something already said no. */
export function unread(policy: Policy, context: PlanContext, stopped: Denial): Decision {
  return new Draft(policy, { ...context, stopped }).finish({});
}
