/** Checks right before and after a request, and the report of its outcome. */
import { foundBy, type Denial, type Plan, type Proposal } from '#foundation/domain/plan.ts';
import type { EventOf } from '#foundation/events/events.ts';
import { asked, type ActionRequest, type ActResult } from '../../actions/action.ts';
import type { AuthorityFacts } from '../../guardrails/guard.ts';
import type { Policy } from '../../policies/policy.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { firstDenial, guardsAt, interrupted } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';

/** Run in progress. */
export interface PolicyRun {
  readonly id: number;
  readonly plan: Plan;
  /** Facts for the act guards, in addition to the current mode. */
  readonly isApproved: boolean;
  readonly probationLeft: number;
  /** Ids of the plans that approve it. An operator can take an approval back at any time. */
  readonly approvals: readonly string[];
  /** Counted at once: the store may fail before the result of the run is known. */
  readonly sent: { acted: number };
}

/** Checks the guards again, right before a request. */
export async function mayNotSend(
  policy: Policy,
  run: PolicyRun,
  deps: EngineParts,
  signal: AbortSignal,
): Promise<Denial | undefined> {
  const { trigger } = run.plan;
  const facts = await deps.authority.runFacts(policy, { first: false, trigger });
  if (signal.aborted) return interrupted(signal);
  return firstDenial(guardsAt(deps.guards, 'run'), facts) ?? authorityDenial(policy, run, deps);
}

/** Objection of the mode, of probation, or of a missing approval. */
export function authorityDenial(
  policy: Policy,
  { plan: { needsApproval }, isApproved, probationLeft }: Pick<PolicyRun, 'plan' | 'isApproved' | 'probationLeft'>,
  { guards, authority }: EngineParts,
): Denial | undefined {
  const facts: AuthorityFacts = {
    ...authority.mode(policy),
    isApproved,
    needsApproval: needsApproval && `${needsApproval.guard}: ${foundBy(needsApproval)}`,
    probationLeft,
  };
  return firstDenial(guardsAt(guards, 'act'), facts);
}

/** Pauses the whole engine if the service acted on more than one request allowed. */
export async function pauseIfMore(
  proposal: Proposal,
  request: ActionRequest,
  result: ActResult,
  { guards, authority }: EngineParts,
): Promise<Denial | undefined> {
  if (result.outcome !== 'accepted') return undefined;
  const surplus = firstDenial(guardsAt(guards, 'answer'), { asked: asked(request), done: result.done });
  if (surplus !== undefined)
    await authority.pause('engine', `${surplus.guard} (${proposal.target}): ${surplus.reason}`);
  return surplus;
}

/**
 * Emits the outcome of an action after it was recorded.
 *
 * @param reported.done entries that the service reports it acted on
 */
export function reportOutcome(
  proposal: Proposal,
  reported: Pick<EventOf<'action.outcome'>, 'outcome' | 'durationMs' | 'detail' | 'done'>,
  { events }: Pick<EngineDeps, 'events'>,
): void {
  const { policy, account, action, target, items } = proposal;
  const workflowRunId = 'workflowRunId' in proposal ? proposal.workflowRunId : undefined;
  events.emit({ type: 'action.outcome', policy, account, action, target, workflowRunId, items, ...reported });
}
