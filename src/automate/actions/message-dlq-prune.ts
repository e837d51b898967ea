/**
 * Deleting one page of old messages from the DLQ by filters. Nobody sees what is deleted: the service has no list of
 * it. So each request has an upper bound in time and in number, and is sent once: a second one deletes the next page.
 */
import type { DlqFilter, ServiceClient } from '#service/api.ts';
import type { PruneProposal } from '#foundation/domain/plan.ts';
import type { ActResult, PruneRequest } from './action.ts';

export function describePrune(proposal: PruneProposal): PruneRequest {
  // Only what is there: the client refuses a member that is present and undefined.
  const given = Object.entries(proposal.filter).filter(([, value]) => value !== undefined);
  return {
    operation: 'delete-dlq',
    account: proposal.account,
    filter: { ...Object.fromEntries(given), toDate: proposal.filter.toDate, count: proposal.items } satisfies DlqFilter,
  };
}

/** @throws as the client does */
export async function sendPrune(client: ServiceClient, request: PruneRequest, signal: AbortSignal): Promise<ActResult> {
  const { deleted } = await client.message!.deleteDlq(request.filter, { signal });
  return { outcome: 'accepted', done: deleted };
}
