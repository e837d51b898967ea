/**
 * Delete of a failed workflow run from its DLQ, after its entry was archived, with one id in each request. Cannot be
 * undone.
 */
import type { ServiceClient } from '#service/api.ts';
import type { WorkflowDeleteProposal } from '#foundation/domain/plan.ts';
import type { ActResult, WorkflowDeleteRequest } from './action.ts';

export function describeWorkflowDelete(proposal: WorkflowDeleteProposal): WorkflowDeleteRequest {
  return { operation: 'delete-workflow-dlq', account: proposal.account, dlqIds: [proposal.dlqId] };
}

/**
 * `done` is 0 if the entry was already gone.
 * @throws the client's errors
 */
export async function sendWorkflowDelete(
  client: ServiceClient,
  request: WorkflowDeleteRequest,
  signal: AbortSignal,
): Promise<ActResult> {
  const { deleted } = await client.message!.deleteWorkflowDlq(request.dlqIds, { signal });
  return { outcome: 'accepted', done: deleted };
}
