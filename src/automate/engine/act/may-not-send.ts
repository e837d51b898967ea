import { foundBy, type Denial } from '#foundation/domain/plan.ts';
import type { AuthorityFacts } from '../../guardrails/guard.ts';
import type { Policy } from '../../policies/policy.ts';
import type { ExecuteDeps, Run } from './execute-deps.ts';
import { firstDenial, guardsAt, interrupted } from '../guard/guards-at.ts';

/** Checks the guards again, right before a request. */
export async function mayNotSend(
  policy: Policy,
  run: Run,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<Denial | undefined> {
  const { needsApproval, trigger } = run.plan;
  const denial = firstDenial(
    guardsAt(deps.guards, 'run'),
    await deps.authority.runFacts(policy, { first: false, trigger }),
  );
  if (signal.aborted) return interrupted(signal);
  const facts: AuthorityFacts = {
    ...deps.authority.mode(policy),
    isApproved: run.isApproved,
    ...(needsApproval !== undefined && { needsApproval: `${needsApproval.guard}: ${foundBy(needsApproval)}` }),
    probationLeft: run.probationLeft,
  };
  return denial ?? firstDenial(guardsAt(deps.guards, 'act'), facts);
}
