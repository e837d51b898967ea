/** Plan of a policy that deletes messages from the DLQ by ids from failure callbacks. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { MessageDeleteProposal } from '#foundation/domain/plan.ts';
import type { MessageDeletePolicy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { capsOf, withinCaps } from './caps.ts';
import { allowedBy } from './guarded-entries.ts';
import { PlanDraft, deferredOf, type Decision, type PlanContext } from './plan-draft.ts';

/** Maximum number of dead letters in one run: old ones that no policy deletes must not hide the new ones. */
const MAX_DEAD_LETTERS = 10_000;

export async function decideDeadLetters(
  policy: MessageDeletePolicy,
  context: PlanContext,
  deps: EngineParts,
): Promise<Decision> {
  const { account } = policy;
  const draft = new PlanDraft(policy, context);
  const now = deps.clock.now();
  draft.notes.push('No operation lists these messages: their ids come from failure callbacks.');
  const deadLetters = await deps.ledger.deadLetters(account, MAX_DEAD_LETTERS);
  if (deadLetters.length === MAX_DEAD_LETTERS) draft.notes.push(`Only the newest ${MAX_DEAD_LETTERS} are checked.`);
  const ids = deadLetters.map(({ dlqId }) => dlqId);
  const claims = await deps.ledger.claims(account, ids);
  const caps = await capsOf(policy, deps);
  const missing = draft.missingFrom(deadLetters, `the reported dead letters of ${account}`);
  const { matched, errors } = select(policy, deadLetters, { now, draft });
  const entries = matched.map((deadLetter) => {
    const { dlqId, labels, learnedAt } = deadLetter;
    return { dlqId, labels, createdAt: learnedAt, deadLetter };
  });
  const candidateOf = (entry: (typeof entries)[number]) => {
    const { dlqId } = entry;
    const refused = deps.rejections.of(account, dlqId);
    return {
      entry,
      attempts: 0,
      rejections: refused?.count ?? 0,
      lastRejectedAt: refused?.at,
      sentBefore: claims.has(dlqId),
      lineageTaken: false,
    };
  };
  const population = deps.facts.dlqMessages(account);
  const found = { matched: entries, candidateOf, entries: deadLetters.length, errors, population };
  const allowed = allowedBy(policy, found, { now, draft }, deps);
  if ('plan' in allowed) return allowed;
  const proposals = allowed.map(({ deadLetter }) => proposalOf(policy, deadLetter));
  const chosen = withinCaps(policy, proposals, { draft, caps }, deps);
  const decision = draft.finish(
    {
      matched: matched.length,
      chosen,
      backlog: proposals.length - chosen.length,
      deferred: deferredOf(proposals, chosen),
      evaluationErrors: errors,
      caps,
    },
    proposals.map(({ target }) => target),
  );
  return { ...decision, missing };
}

/** Applies `select` and `where` to every dead letter. */
function select(
  policy: MessageDeletePolicy,
  deadLetters: readonly DeadLetter[],
  { now, draft }: { readonly now: number; readonly draft: PlanDraft },
): { readonly matched: readonly DeadLetter[]; readonly errors: number } {
  let errors = 0;
  const matched = deadLetters.filter((deadLetter) => {
    const { dlqId, status } = deadLetter;
    const missed = policy.missed(deadLetter, now);
    if (missed !== undefined) {
      draft.tally.add('select', missed, { dlqId });
      return false;
    }
    const verdict = policy.where.evaluate({ deadLetter, now }, draft.context.trigger);
    if (verdict === 'match') return true;
    if (verdict === 'error') errors++;
    const reason = verdict === 'error' ? 'the expression failed' : `status ${status ?? 'none'}`;
    draft.tally.add('where', reason, { dlqId });
    return false;
  });
  return { matched, errors };
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
    url,
    status,
  };
}
