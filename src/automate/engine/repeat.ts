/** Whether an act whose answer was lost may be sent once more: what may not be done now may not be repeated now. */
import type { Proposal } from '#foundation/domain/plan.ts';
import type { Policy } from '../policies/policy.ts';
import type { Authority } from './authority.ts';
import type { EngineDeps } from './engine-deps.ts';
import { firstDenial, guardsAt } from './guards-at.ts';

export function mayNotRepeat(
  proposal: Proposal,
  deps: Pick<EngineDeps, 'guards'> & { readonly authority: Authority; readonly byName: ReadonlyMap<string, Policy> },
): boolean {
  const policy = deps.byName.get(proposal.policy);
  // Nobody asks for it any more.
  if (policy?.account !== proposal.account || policy.action.type !== proposal.action) return true;
  if (policy.action.type === 'budget.raise' && proposal.action === 'budget.raise') {
    if (proposal.toUsd > policy.action.ceilingUsd) return true;
  }
  // Its approval was given when it was sent first.
  const facts = { mode: deps.authority.mode(policy).mode, isApproved: true, probationLeft: 0 };
  return (
    firstDenial(guardsAt(deps.guards, 'run'), deps.authority.runFacts(policy, { first: false })) !== undefined ||
    firstDenial(guardsAt(deps.guards, 'act'), facts) !== undefined
  );
}
