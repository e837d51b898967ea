/** Raising the monthly budget of an account to an absolute value. Can be set back by hand, if the old one is known. */
import type { ServiceClient } from '#service/api.ts';
import type { BudgetProposal } from '#foundation/domain/plan.ts';
import type { ActResult, BudgetRequest } from './action.ts';

export function describeBudgetRaise(proposal: BudgetProposal): BudgetRequest {
  return {
    operation: 'update-budget',
    account: proposal.account,
    dollars: proposal.toUsd,
    aboveUsd: proposal.fromUsd,
  };
}

/** @param to `accountId` as the management API knows the account @throws as the client does */
export async function sendBudgetRaise(
  client: ServiceClient,
  request: BudgetRequest,
  to: { readonly accountId: string; readonly signal: AbortSignal },
): Promise<ActResult> {
  await client.management!.updateBudget(to.accountId, request.dollars, { signal: to.signal });
  return { outcome: 'accepted', done: 1 };
}
