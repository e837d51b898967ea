/**
 * Raise of an account's monthly budget to an absolute value. Someone who knows the old value can restore it manually.
 */
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

/**
 * @param to `accountId` is the account's id in the management API
 * @throws the client's errors
 */
export async function sendBudgetRaise(
  client: ServiceClient,
  request: BudgetRequest,
  to: { readonly accountId: string; readonly signal: AbortSignal },
): Promise<ActResult> {
  await client.management!.updateBudget(to.accountId, request.dollars, { signal: to.signal });
  return { outcome: 'accepted', done: 1 };
}
