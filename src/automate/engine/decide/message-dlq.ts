/** Plan of a policy that publishes dead letters of messages again, or deletes them. */
import { latestOf } from '#foundation/domain/deploy.ts';
import { withoutStamps } from '#foundation/domain/lineage.ts';
import type { MessageDeleteProposal, RepublishProposal } from '#foundation/domain/plan.ts';
import { failureCause } from '#foundation/domain/reason.ts';
import { evaluateEach } from '../../policies/evaluate.ts';
import { isRepairing, type MessagePolicy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { candidates } from './candidates.ts';
import { choose } from './choose.ts';
import { readDeadLetters, type MessageEntry } from './dead-letters.ts';
import { groupOf, Population } from './group-facts.ts';
import { allowedBy } from './guarded-entries.ts';
import { owners } from './owners.ts';
import { PlanDraft, type Decision, type PlanContext } from './plan-draft.ts';
import { unpublishableOf } from './republish.ts';

export async function decideMessageDlq(
  policy: MessagePolicy,
  context: PlanContext,
  deps: EngineParts,
): Promise<Decision> {
  const { account } = policy;
  const draft = new PlanDraft(policy, context);
  const now = deps.clock.now();
  const all = await readDeadLetters(policy, draft, deps);
  const claims = await deps.ledger.claims(
    account,
    all.map(({ dlqId }) => dlqId),
  );
  const missing = draft.missingFrom(all, `the reported dead letters of ${account}`);
  const { matched, left, errors } = evaluateEach(all, {
    unselected: ({ deadLetter }) => policy.missed(deadLetter, now),
    verdict: ({ deadLetter }) => policy.where.evaluate({ deadLetter, now }, context.trigger),
    failure: ({ responseStatus }) => `status ${responseStatus ?? 'none'}`,
  });
  for (const { guard, reason, dlqId } of left) draft.tally.add(guard, reason, { dlqId });
  // A message that was sent stays in the DLQ until it is delivered. Its next failure is a dead letter of its own.
  const isOpen = ({ dlqId }: MessageEntry): boolean => !claims.has(dlqId);
  for (const entry of matched) if (!isOpen(entry)) draft.tally.add('claim', 'sent before', entry);
  const open = matched.filter(isOpen);
  // A delete counts no attempts.
  const known = await candidates(account, isRepairing(policy) ? all.filter(isOpen) : [], deps);
  const { campaigns, caps } = context.known;
  const retention = deps.accounts.get(account)?.dlqRetentionMs;
  const ids = open.map(({ dlqId }) => dlqId);
  const bodies = (await deps.bodies?.states(account, ids, deps.ledger)) ?? new Map();
  const ownerOf = owners(deps.policies).before(policy, { retention, now, bodies });
  const unpublishable = isRepairing(policy) ? await unpublishableOf(policy, open, { bodies, draft }, deps) : undefined;
  const allowed = allowedBy<MessageEntry>(
    policy,
    {
      matched: open,
      candidateOf: (entry) =>
        known.of(entry, {
          ownedBy: ownerOf(entry, known.attempts(entry)),
          deploy: campaigns.deploys && (latestOf(campaigns.deploys, entry.workflowUrl) ?? null),
          unpublishable: unpublishable?.(entry),
        }),
      entries: all.length,
      errors,
      population: deps.facts.dlqMessages(account),
    },
    { now, draft },
    deps,
  );
  if ('plan' in allowed) return allowed;
  const propose = (entry: MessageEntry): RepublishProposal | MessageDeleteProposal => {
    const { dlqId, workflowRunId: messageId, createdAt: failedAt, responseStatus: status } = entry;
    const common = {
      policy: policy.name,
      account,
      target: dlqId,
      group: '',
      items: 1,
      dlqId,
      messageId,
      failedAt,
      status,
    };
    if (!isRepairing(policy)) return { ...common, action: 'message-dlq.delete', url: entry.deadLetter.url };
    const { retries, edit } = policy.action;
    const body = bodies.get(dlqId)!;
    return {
      ...common,
      action: 'message-dlq.republish',
      group: groupOf(policy, entry),
      url: entry.workflowUrl,
      expiresAt: retention && failedAt + retention,
      labels: withoutStamps(entry.labels),
      cause: failureCause(status, undefined),
      lineage: known.lineage(entry),
      attempt: known.attempts(entry) + 1,
      retries,
      size: edit?.size ?? ('size' in body ? body.size : 0),
      edit,
    };
  };
  const population = new Population([all], now);
  const part = choose(policy, allowed, { campaigns, caps, retention, population, now, draft, propose }, deps);
  const targets = allowed.map(({ dlqId }) => dlqId);
  return { ...draft.finish({ matched: matched.length, evaluationErrors: errors, ...part }, targets), missing };
}
