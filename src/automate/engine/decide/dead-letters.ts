/** Dead letters of messages for policies, and the plan of a policy that deletes them. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { MessageDeleteProposal } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { MessagePolicy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { capsOf, withinCaps } from './caps.ts';
import { allowedBy } from './guarded-entries.ts';
import { messageOwner } from './owners.ts';
import { PlanDraft, deferredOf, type Decision, type PlanContext } from './plan-draft.ts';

/** Maximum number of dead letters in one run: old ones that no policy deletes must not hide the new ones. */
const MAX_DEAD_LETTERS = 10_000;

/** Dead letter as an entry of a DLQ: its run is its message, its workflow its destination. */
export interface LetterEntry extends WorkflowDlqEntry {
  readonly deadLetter: DeadLetter;
}

export interface ReadLetters {
  /** Oldest first. */
  readonly entries: readonly LetterEntry[];
  readonly matched: readonly LetterEntry[];
  readonly errors: number;
  /** Ids that were sent before, and may have had their effect. */
  readonly claims: { has(dlqId: string): boolean };
  readonly missing: readonly string[];
}

/** Reads the dead letters of the account, and applies `select` and `where` to each. */
export async function readLetters(policy: MessagePolicy, draft: PlanDraft, deps: EngineParts): Promise<ReadLetters> {
  const { account } = policy;
  draft.notes.push('No operation lists these messages: their ids come from failure callbacks.');
  const deadLetters = await deps.ledger.deadLetters(account, MAX_DEAD_LETTERS);
  if (deadLetters.length === MAX_DEAD_LETTERS) draft.notes.push(`Only the newest ${MAX_DEAD_LETTERS} are checked.`);
  const ids = deadLetters.map(({ dlqId }) => dlqId);
  const claims = await deps.ledger.claims(account, ids);
  const missing = draft.missingFrom(deadLetters, `the reported dead letters of ${account}`);
  const entries = deadLetters.map(entryOf);
  return { entries, claims, missing, ...select(policy, entries, { now: deps.clock.now(), draft }) };
}

function entryOf(deadLetter: DeadLetter): LetterEntry {
  const { dlqId, messageId, learnedAt, url = '', labels, status } = deadLetter;
  return {
    dlqId,
    workflowRunId: messageId,
    workflowUrl: url,
    createdAt: learnedAt,
    labels,
    responseStatus: status,
    deadLetter,
  };
}

export async function decideMessageDelete(
  policy: MessagePolicy,
  context: PlanContext,
  deps: EngineParts,
): Promise<Decision> {
  const { account } = policy;
  const draft = new PlanDraft(policy, context);
  const now = deps.clock.now();
  const { entries, matched, errors, claims, missing } = await readLetters(policy, draft, deps);
  const caps = await capsOf(policy, deps);
  const ownerOf = await messageOwner(policy, matched, deps);
  const candidateOf = (entry: LetterEntry) => {
    const { dlqId, deadLetter } = entry;
    const refused = deps.rejections.of(account, dlqId);
    return {
      entry,
      attempts: 0,
      rejections: refused?.count ?? 0,
      lastRejectedAt: refused?.at,
      sentBefore: claims.has(dlqId),
      lineageTaken: false,
      ownedBy: ownerOf(deadLetter),
    };
  };
  const population = deps.facts.dlqMessages(account);
  const found = { matched, candidateOf, entries: entries.length, errors, population };
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

function select(
  policy: MessagePolicy,
  entries: readonly LetterEntry[],
  { now, draft }: { readonly now: number; readonly draft: PlanDraft },
): Pick<ReadLetters, 'matched' | 'errors'> {
  let errors = 0;
  const matched = entries.filter(({ deadLetter }) => {
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

function proposalOf({ name, account }: MessagePolicy, deadLetter: DeadLetter): MessageDeleteProposal {
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
