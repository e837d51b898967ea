/** Plan of a policy that deletes messages from the DLQ by ids from failure callbacks. */
import { sharedLabel } from '#foundation/domain/labels.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { denialBy, type MessageDeleteProposal } from '#foundation/domain/plan.ts';
import { backingOffRefusal } from '../../guardrails/entry-guards.ts';
import { deadLetterFacts } from '../../policies/dead-letter-facts.ts';
import type { MessageDeletePolicy } from '../../policies/policy.ts';
import type { History } from '../../ledger/history.ts';
import type { Signals } from '../../ledger/signals.ts';
import type { Trust } from '../../ledger/trust.ts';
import type { Usage } from '../../ledger/usage.ts';
import { capsOf } from './cap-limits.ts';
import { withinCaps } from './choose.ts';
import type { DecideDeps } from './decide-deps.ts';
import { guardsAt } from '../guard/guards-at.ts';
import { Draft, deferredOf, type Decision, type PlanContext } from './plan-draft.ts';

/** Maximum number of dead letters in one run: old ones that no policy deletes must not hide the new ones. */
const MAX_DEAD_LETTERS = 10_000;

export async function decideDeadLetters(
  policy: MessageDeletePolicy,
  context: PlanContext,
  deps: DecideDeps<Signals & History & Trust & Usage>,
): Promise<Decision> {
  const draft = new Draft(policy, context);
  const now = deps.clock.now();
  draft.notes.push('No operation lists these messages: their ids come from failure callbacks.');
  const deadLetters = await deps.ledger.deadLetters(policy.account, MAX_DEAD_LETTERS);
  if (deadLetters.length === MAX_DEAD_LETTERS) draft.notes.push(`Only the newest ${MAX_DEAD_LETTERS} are checked.`);
  const claims = await deps.ledger.claims(
    policy.account,
    deadLetters.map(({ dlqId }) => dlqId),
  );
  const caps = await capsOf(policy, deps);
  const missing = missingIds(policy, deadLetters, draft);
  const { matched, errors } = select(policy, deadLetters, { now, draft, context });
  const proposals = matched
    .filter((deadLetter) => isAllowed(policy, deadLetter, { now, draft, context, claims }, deps))
    .map((deadLetter) => proposalOf(policy, deadLetter));
  for (const guard of guardsAt(deps.guards, 'evaluated')) {
    const hold = guard.check({ entries: deadLetters.length, errors });
    if (hold !== undefined) return draft.abort(denialBy(guard.name, hold), { evaluationErrors: errors });
  }
  for (const guard of guardsAt(deps.guards, 'matched')) {
    const population = deps.facts.dlqMessages(policy.account);
    const tripped = guard.check({
      action: policy.action.type,
      allowed: proposals.length,
      maxMatched: policy.limits.maxMatched,
      maxMatchedShare: policy.limits.maxMatchedShare,
      onTrip: policy.limits.onTrip,
      ...(population !== undefined && { population }),
      isApproved: context.only !== undefined,
    });
    const shown = { matched: matched.length, evaluationErrors: errors };
    if (tripped?.onTrip === 'abort') return draft.abort(denialBy(guard.name, tripped.hold), shown);
    if (tripped !== undefined) draft.needsApproval ??= denialBy(guard.name, tripped.hold);
  }
  const chosen = withinCaps(policy, proposals, { draft, caps }, deps);
  const decision = draft.finish(
    {
      matched: matched.length,
      chosen,
      backlog: proposals.length - chosen.length,
      ...deferredOf(proposals, chosen),
      evaluationErrors: errors,
      caps,
    },
    proposals.map(({ target }) => target),
  );
  return { ...decision, missing };
}

interface Choosing {
  readonly now: number;
  readonly draft: Draft;
  readonly context: PlanContext;
}

/** Applies `select` and `where` to every dead letter. */
function select(
  policy: MessageDeletePolicy,
  deadLetters: readonly DeadLetter[],
  { now, draft, context }: Choosing,
): { readonly matched: readonly DeadLetter[]; readonly errors: number } {
  let errors = 0;
  const matched = deadLetters.filter((deadLetter) => {
    const { dlqId, status } = deadLetter;
    const missed = policy.missed(deadLetter, now);
    if (missed !== undefined) {
      draft.tally.add('select', missed, { dlqId });
      return false;
    }
    const verdict = policy.where.evaluate(deadLetterFacts(deadLetter, now), context.trigger);
    if (verdict === 'match') return true;
    if (verdict === 'error') errors++;
    const reason = verdict === 'error' ? 'the expression failed' : `status ${status ?? 'none'}`;
    draft.tally.add('where', reason, { dlqId });
    return false;
  });
  return { matched, errors };
}

/** Applies the guards of an entry, and denies entries outside an operator's approval. */
function isAllowed(
  policy: MessageDeletePolicy,
  { dlqId, labels }: DeadLetter,
  { now, draft, context, claims }: Choosing & { readonly claims: ReadonlyMap<string, unknown> },
  { rejections, settings }: Pick<DecideDeps, 'rejections' | 'settings'>,
): boolean {
  const refused = rejections.of(policy.account, dlqId);
  const { backoff } = policy.limits.attempts;
  const backingOff = backingOffRefusal(refused?.count ?? 0, refused?.at ?? 0, { now, backoff });
  if (sharedLabel(labels, settings.protectedLabels) !== undefined) {
    draft.tally.add('protected', 'protected label', { dlqId });
  } else if (backingOff !== undefined) {
    const { reason, until = Infinity } = backingOff;
    draft.tally.add('attempts', reason, { dlqId, until });
  } else if (claims.has(dlqId)) {
    draft.tally.add('claim', 'sent before', { dlqId });
  } else if (context.only?.has(dlqId) === false) {
    draft.tally.add('approval', 'not in the approved plan', { dlqId });
  } else return true;
  return false;
}

function proposalOf({ name, account }: MessageDeletePolicy, deadLetter: DeadLetter): MessageDeleteProposal {
  const { dlqId, messageId, learnedAt, url, status } = deadLetter;
  return {
    policy: name,
    account,
    action: 'message-dlq.delete',
    target: dlqId,
    group: '',
    items: 1,
    dlqId,
    messageId,
    failedAt: learnedAt,
    ...(url !== undefined && { url }),
    ...(status !== undefined && { status }),
  };
}

/** Selected ids of a manual plan that no failure callback has reported. */
function missingIds(policy: MessageDeletePolicy, deadLetters: readonly DeadLetter[], draft: Draft): readonly string[] {
  const known = new Set(deadLetters.map(({ dlqId }) => dlqId));
  const missing = (policy.manual?.selection.ids ?? []).filter((id) => !known.has(id));
  draft.noteMissing(missing, `the reported dead letters of ${policy.account}`);
  return missing;
}
