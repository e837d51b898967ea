/** Guards of the evaluation, of single entries, and of the number of allowed entries. */
import { denialBy, type Plan } from '#foundation/domain/plan.ts';
import type { Candidate, EntryRules, GuardedEntry } from '../../guardrails/guard.ts';
import { isResume, type MessagePolicy, type WorkflowDlqPolicy } from '../../policies/policy.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { firstDenial, guardsAt } from '../guard/checks.ts';
import type { Decision, PlanDraft } from './plan-draft.ts';

type EntryPolicy = WorkflowDlqPolicy | MessagePolicy;

/** Entries that a policy matched, before the guards. */
interface Matched<E extends GuardedEntry> {
  readonly matched: readonly E[];
  /** Returns what is known about a matched entry. It is not kept, because there are many entries. */
  readonly candidateOf: (entry: E) => Candidate<E>;
  /** Number of evaluated entries, and of those on which the expression failed. */
  readonly entries: number;
  readonly errors: number;
  /** Number of entries in the DLQ; undefined if unknown. */
  readonly population: number | undefined;
  /** Reading that the plan shows. */
  readonly read?: Plan['read'];
}

/** Milliseconds between the first match of an entry and its delete. */
export function graceOf({ action }: EntryPolicy): number {
  return action.type === 'workflow-dlq.delete' ? action.grace : 0;
}

/** Returns the entries that the guards allow, or the aborted decision. */
export function allowedBy<E extends GuardedEntry>(
  policy: EntryPolicy,
  { matched, candidateOf, entries, errors, population, read }: Matched<E>,
  { draft, now }: { readonly draft: PlanDraft; readonly now: number },
  deps: Pick<EngineDeps, 'guards' | 'settings'>,
): readonly E[] | Decision {
  const misjudged = firstDenial(guardsAt(deps.guards, 'evaluated'), { entries, errors });
  if (misjudged !== undefined) return draft.abort(misjudged, { read, evaluationErrors: errors });
  const allowed = allow(policy, { matched, candidateOf }, { draft, now }, deps);
  const { maxMatched, maxMatchedShare, onTrip } = policy.limits;
  const isApproved = draft.context.only !== undefined;
  const facts = { action: policy.action.type, allowed: allowed.length, maxMatched, maxMatchedShare, onTrip };
  for (const guard of guardsAt(deps.guards, 'matched')) {
    const tripped = guard.check({ ...facts, population, isApproved });
    if (tripped === undefined) continue;
    const denial = denialBy(guard.name, tripped.hold);
    if (tripped.onTrip === 'abort') {
      return draft.abort(denial, { read, matched: matched.length, evaluationErrors: errors });
    }
    draft.needsApproval ??= denial;
  }
  return allowed;
}

/** Applies the entry guards, and denies entries outside an operator's approval. */
function allow<E extends GuardedEntry>(
  policy: EntryPolicy,
  { matched, candidateOf }: Pick<Matched<E>, 'matched' | 'candidateOf'>,
  { draft, now }: { readonly draft: PlanDraft; readonly now: number },
  deps: Pick<EngineDeps, 'guards' | 'settings'>,
): readonly E[] {
  const rules: EntryRules = {
    action: policy.action.type,
    now,
    protectedLabels: deps.settings.protectedLabels,
    failureFunctionStates: isResume(policy) ? policy.failureFunctionStates : [],
    maxAttempts: policy.limits.attempts.max,
    backoff: policy.limits.attempts.backoff,
    afterDeploy: 'afterDeploy' in policy.when ? policy.when.afterDeploy : 0,
    grace: graceOf(policy),
  };
  const guards = guardsAt(deps.guards, 'entry');
  const { only } = draft.context;
  return matched.filter((entry) => {
    const { dlqId } = entry;
    const candidate = candidateOf(entry);
    for (const guard of guards) {
      const objection = guard.check(candidate, rules);
      if (objection === undefined) continue;
      draft.tally.add(guard.name, objection.reason, { dlqId, until: objection.until });
      return false;
    }
    if (only?.has(dlqId) !== false) return true;
    draft.tally.add('approval', 'not in the approved plan', { dlqId });
    return false;
  });
}
