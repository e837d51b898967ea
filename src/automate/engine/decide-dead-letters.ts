/** Plan of a policy that deletes messages from the DLQ by ids from failure callbacks. */
import { sharedLabel } from '#foundation/domain/labels.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { denialBy, type MessageDeleteProposal } from '#foundation/domain/plan.ts';
import { backingOffRefusal } from '../guardrails/attempts.ts';
import { deadLetterFacts } from '../policies/dead-letter-facts.ts';
import type { MessageDeletePolicy } from '../policies/policy.ts';
import type { History } from '../ledger/history.ts';
import type { Signals } from '../ledger/signals.ts';
import type { Trust } from '../ledger/trust.ts';
import type { Usage } from '../ledger/usage.ts';
import { capsOf } from './cap-limits.ts';
import { withinCaps } from './choose.ts';
import type { DecideDeps } from './decide-deps.ts';
import { guardsAt } from './guards-at.ts';
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
  const { backoff } = policy.limits.attempts;
  const missing = missingIds(policy, deadLetters, draft);
  const proposals: MessageDeleteProposal[] = [];
  let errors = 0;
  for (const deadLetter of deadLetters) {
    const { dlqId } = deadLetter;
    const missed = policy.missed(deadLetter, now);
    if (missed !== undefined) {
      draft.tally.add('select', missed, { dlqId });
      continue;
    }
    const refused = deps.rejections.of(policy.account, dlqId);
    const backingOff = backingOffRefusal(refused?.count ?? 0, refused?.at ?? 0, { now, backoff });
    const verdict = policy.where.evaluate(deadLetterFacts(deadLetter, now), context.trigger);
    if (verdict !== 'match') {
      if (verdict === 'error') errors++;
      const reason = verdict === 'error' ? 'the expression failed' : `status ${deadLetter.status ?? 'none'}`;
      draft.tally.add('where', reason, { dlqId });
    } else if (sharedLabel(deadLetter.labels, deps.settings.protectedLabels) !== undefined) {
      draft.tally.add('protected', 'protected label', { dlqId });
    } else if (backingOff !== undefined) {
      const { reason, until = Infinity } = backingOff;
      draft.tally.add('attempts', reason, { dlqId, until });
    } else if (claims.has(dlqId)) {
      draft.tally.add('claim', 'sent before', { dlqId });
    } else if (context.only !== undefined && !context.only.has(dlqId)) {
      draft.tally.add('approval', 'not in the approved plan', { dlqId });
    } else {
      proposals.push({
        policy: policy.name,
        account: policy.account,
        action: 'message-dlq.delete',
        target: dlqId,
        group: '',
        items: 1,
        dlqId,
        messageId: deadLetter.messageId,
        failedAt: deadLetter.learnedAt,
        ...(deadLetter.url !== undefined && { url: deadLetter.url }),
        ...(deadLetter.status !== undefined && { status: deadLetter.status }),
      });
    }
  }
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
    const shown = { matched: proposals.length, evaluationErrors: errors };
    if (tripped?.onTrip === 'abort') return draft.abort(denialBy(guard.name, tripped.hold), shown);
    if (tripped !== undefined) draft.needsApproval ??= denialBy(guard.name, tripped.hold);
  }
  const chosen = withinCaps(policy, proposals, { draft, caps }, deps);
  const decision = draft.finish(
    {
      selected: proposals.length,
      matched: proposals.length,
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

/** Selected ids of a manual plan that no failure callback has reported. */
function missingIds(policy: MessageDeletePolicy, deadLetters: readonly DeadLetter[], draft: Draft): readonly string[] {
  const known = new Set(deadLetters.map(({ dlqId }) => dlqId));
  const missing = (policy.manual?.selection.ids ?? []).filter((id) => !known.has(id));
  draft.noteMissing(missing, `the reported dead letters of ${policy.account}`);
  return missing;
}
