/** Outcomes that settling records, and the checks before it repeats a request. */
import type { ResumeEnd } from '#foundation/domain/ended-attempts.ts';
import type { Proposal, RepublishProposal, ResumeProposal } from '#foundation/domain/plan.ts';
import type { ActionOutcome, ActionRecord, Intent } from '../../ledger/intents.ts';
import { reportOutcome } from '../act/sending.ts';
import { firstDenial, guardsAt } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';

/** Age after which no read will resolve an outcome any more. */
export const UNRESOLVABLE_AFTER_MS = 86_400_000;

/** Returns true if a request with a lost response must not be repeated: it is not allowed now. */
export async function mayNotRepeat(proposal: Proposal, { byName, guards, authority }: EngineParts): Promise<boolean> {
  const policy = byName.get(proposal.policy);
  // The policy no longer exists or has changed its account or action.
  if (policy?.account !== proposal.account || policy.action.type !== proposal.action) return true;
  if (policy.action.type === 'budget.raise' && proposal.action === 'budget.raise') {
    if (proposal.toUsd > policy.action.ceilingUsd) return true;
  }
  if (firstDenial(guardsAt(guards, 'run'), await authority.runFacts(policy, { first: false }))) return true;
  // It was approved when it was sent first.
  const facts = { mode: authority.mode(policy).mode, isApproved: true, probationLeft: 0 };
  return firstDenial(guardsAt(guards, 'act'), facts) !== undefined;
}

/** Returns true if the log has shown this end of a message of a repair. */
export function logTells(
  proposal: ResumeProposal | RepublishProposal,
  end: ResumeEnd['end'],
  { facts, ledger }: EngineParts,
): boolean {
  const { account, lineage, attempt } = proposal;
  const url = 'url' in proposal ? proposal.url : proposal.workflowUrl;
  return facts.resumeEnded(account, { instance: ledger.instance, lineage, attempt, url }, end);
}

/**
 * Records an outcome, unless the action has got another one since it was read. An unchanged outcome is not reported
 * again.
 *
 * @returns true if the outcome was recorded
 */
export async function record(
  intent: Intent & Pick<ActionRecord, 'outcome'>,
  outcome: ActionOutcome,
  deps: EngineParts,
  detail?: string,
  newRunId?: string,
): Promise<boolean> {
  const { proposal } = intent;
  const isRecorded = await deps.ledger.recordOutcome(intent.id, proposal.account, {
    at: deps.clock.now(),
    outcome,
    detail,
    newRunId,
    after: intent.outcome ?? 'none',
  });
  if (!isRecorded) return false;
  const isDone = outcome === 'verified' || outcome === 'confirmed_applied';
  if (isDone && proposal.action === 'message-dlq.delete') {
    await deps.ledger.forgetDeadLetter(proposal.account, proposal.dlqId);
  }
  if (intent.outcome !== outcome) reportOutcome(proposal, { outcome, durationMs: 0, detail }, deps);
  return true;
}
