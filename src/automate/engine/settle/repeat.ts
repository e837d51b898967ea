/**
 * Returns true if an action with a lost response must not be repeated: what is not allowed now must not be repeated.
 */
import type { Proposal } from '#foundation/domain/plan.ts';
import type { Policy } from '../../policies/policy.ts';
import type { Authority } from '../guard/authority.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { firstDenial, guardsAt } from '../guard/guards-at.ts';

export async function mayNotRepeat(
  proposal: Proposal,
  deps: Pick<EngineDeps, 'guards'> & { readonly authority: Authority; readonly byName: ReadonlyMap<string, Policy> },
): Promise<boolean> {
  const policy = deps.byName.get(proposal.policy);
  // The policy no longer exists or has changed its account or action.
  if (policy?.account !== proposal.account || policy.action.type !== proposal.action) return true;
  if (policy.action.type === 'budget.raise' && proposal.action === 'budget.raise') {
    if (proposal.toUsd > policy.action.ceilingUsd) return true;
  }
  if (firstDenial(guardsAt(deps.guards, 'run'), await deps.authority.runFacts(policy, { first: false }))) return true;
  // It was approved when it was sent first.
  const facts = { mode: deps.authority.mode(policy).mode, isApproved: true, probationLeft: 0 };
  return firstDenial(guardsAt(deps.guards, 'act'), facts) !== undefined;
}
