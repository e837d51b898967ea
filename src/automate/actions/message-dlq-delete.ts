/** Deleting a message from the DLQ by its id, as a failure callback told it: one id a request. Cannot be undone. */
import type { ServiceClient } from '#service/api.ts';
import type { MessageDeleteProposal } from '#foundation/domain/plan.ts';
import type { ActResult, MessageDeleteRequest } from './action.ts';

export function describeMessageDelete(proposal: MessageDeleteProposal): MessageDeleteRequest {
  return { operation: 'delete-dlq', account: proposal.account, dlqIds: [proposal.dlqId] };
}

/** `done` 0: the entry was gone already. @throws as the client does */
export async function sendMessageDelete(
  client: ServiceClient,
  request: MessageDeleteRequest,
  signal: AbortSignal,
): Promise<ActResult> {
  const { deleted } = await client.message!.deleteDlq({ dlqIds: request.dlqIds }, { signal });
  return { outcome: 'accepted', done: deleted };
}
