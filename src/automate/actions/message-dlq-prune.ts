/**
 * Delete of one page of old messages from the DLQ by filters. The service cannot list what is deleted. So each request
 * has an upper bound in time and in number, and is sent once: a second request deletes the next page.
 */
import type { DlqFilter, ServiceClient } from '#service/api.ts';
import type { PruneProposal } from '#foundation/domain/plan.ts';
import type { ActResult, PruneRequest } from './action.ts';

export function describePrune(proposal: PruneProposal): PruneRequest {
  // Only defined members: the client rejects a member with the value undefined.
  const given = Object.entries(proposal.filter).filter(([, value]) => value !== undefined);
  return {
    operation: 'delete-dlq',
    account: proposal.account,
    filter: { ...Object.fromEntries(given), toDate: proposal.filter.toDate, count: proposal.items } satisfies DlqFilter,
  };
}

/** @throws the client's errors */
export async function sendPrune(client: ServiceClient, request: PruneRequest, signal: AbortSignal): Promise<ActResult> {
  const { deleted } = await client.message!.deleteDlq(request.filter, { signal });
  return { outcome: 'accepted', done: deleted };
}
