/**
 * Delete of a message from the DLQ by the id in its failure callback, with one id in each request. Cannot be undone.
 */
import type { ServiceClient } from '#service/api.ts';
import type { MessageDeleteProposal } from '#foundation/domain/plan.ts';
import type { ActResult, MessageDeleteRequest } from './action.ts';

export function describeMessageDelete(proposal: MessageDeleteProposal): MessageDeleteRequest {
  return { operation: 'delete-dlq', account: proposal.account, dlqIds: [proposal.dlqId] };
}

/**
 * `done` is 0 if the entry was already gone.
 * @throws the client's errors
 */
export async function sendMessageDelete(
  client: ServiceClient,
  request: MessageDeleteRequest,
  signal: AbortSignal,
): Promise<ActResult> {
  const { deleted } = await client.message!.deleteDlq({ dlqIds: request.dlqIds }, { signal });
  return { outcome: 'accepted', done: deleted };
}
