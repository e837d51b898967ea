/** Deleting a failed workflow run from its DLQ: one id a request, after its entry was archived. Cannot be undone. */
import type { ServiceClient } from '#service/api.ts';
import type { WorkflowDeleteProposal } from '#foundation/domain/plan.ts';
import type { ActResult, WorkflowDeleteRequest } from './action.ts';

export function describeWorkflowDelete(proposal: WorkflowDeleteProposal): WorkflowDeleteRequest {
  return { operation: 'delete-workflow-dlq', account: proposal.account, dlqIds: [proposal.dlqId] };
}

/** `done` 0: the entry was gone already. @throws as the client does */
export async function sendWorkflowDelete(
  client: ServiceClient,
  request: WorkflowDeleteRequest,
  signal: AbortSignal,
): Promise<ActResult> {
  const { deleted } = await client.message!.deleteWorkflowDlq(request.dlqIds, { signal });
  return { outcome: 'accepted', done: deleted };
}
