/** Decision: read, test, choose. It neither acts nor writes. A run and a dry run are the same up to this point. */
import type { BudgetPolicy, MessagePolicy, Policy, PrunePolicy, WorkflowDlqPolicy } from '../../policies/policy.ts';
import { decideBudget } from './budget.ts';
import { decideMessageDlq } from './message-dlq.ts';
import { decidePrune } from './prune.ts';
import { decideWorkflowDlq } from './workflow-dlq.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { PlanDraft, type Decision, type PlanContext } from './plan-draft.ts';

/**
 * Decides by the action's type. The casts are needed, since a switch over a nested member does not narrow the union.
 */
export async function decide(policy: Policy, context: PlanContext, deps: EngineParts): Promise<Decision> {
  switch (policy.action.type) {
    case 'workflow-dlq.resume':
    case 'workflow-dlq.delete':
      return decideWorkflowDlq(policy as WorkflowDlqPolicy, context, deps);
    case 'message-dlq.republish':
    case 'message-dlq.delete':
      return decideMessageDlq(policy as MessagePolicy, context, deps);
    case 'message-dlq.prune':
      return decidePrune(policy as PrunePolicy, context, deps);
    case 'budget.raise':
      return decideBudget(policy as BudgetPolicy, context, deps);
  }
}

/** Decision without a read: an earlier guard has already denied the run. */
export function unreadPlan(policy: Policy, context: PlanContext): Decision {
  return new PlanDraft(policy, context).finish({});
}
