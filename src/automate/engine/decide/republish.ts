/** Plan of a policy that publishes dead messages again, from their kept bodies. */
import { bareUrl } from '#foundation/domain/dead-letter.ts';
import { latestOf } from '#foundation/domain/deploy.ts';
import { withoutStamps } from '#foundation/domain/lineage.ts';
import type { RepublishProposal } from '#foundation/domain/plan.ts';
import { failureCause } from '#foundation/domain/reason.ts';
import type { RepublishPolicy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { campaignsOf } from './campaigns.ts';
import { candidates } from './candidates.ts';
import { capsOf } from './caps.ts';
import { choose } from './choose.ts';
import { readLetters, type LetterEntry } from './dead-letters.ts';
import { groupOf, Population } from './group-facts.ts';
import { allowedBy } from './guarded-entries.ts';
import { messageOwner } from './owners.ts';
import { PlanDraft, type Decision, type PlanContext } from './plan-draft.ts';

/** Schedules whose log one decision reads. */
const MOST_SCHEDULES = 20;

export async function decideRepublish(
  policy: RepublishPolicy,
  context: PlanContext,
  deps: EngineParts,
): Promise<Decision> {
  const { account } = policy;
  const draft = new PlanDraft(policy, context);
  const now = deps.clock.now();
  const { entries, matched, errors, claims, missing } = await readLetters(policy, draft, deps);
  // A letter that was sent stays in the DLQ until its message is delivered. Its next failure is a letter of its own.
  const sent = matched.filter(({ dlqId }) => claims.has(dlqId));
  for (const { dlqId } of sent) draft.tally.add('claim', 'sent before', { dlqId });
  const open = matched.filter(({ dlqId }) => !claims.has(dlqId));
  const known = await candidates(
    account,
    entries.filter(({ dlqId }) => !claims.has(dlqId)),
    deps,
  );
  const campaigns = await campaignsOf(policy, deps);
  const caps = await capsOf(policy, deps);
  const ownerOf = await messageOwner(policy, open, deps);
  const ids = open.map(({ dlqId }) => dlqId);
  const bodies = await deps.bodies?.states(account, ids, deps.ledger);
  const repeated = await repeatedSchedules(policy, open, context, deps);
  const unpublishable = ({ dlqId, deadLetter }: LetterEntry): string | undefined => {
    const { createdAt, learnedAt, scheduleId, url } = deadLetter;
    const body = bodies?.get(dlqId);
    if (body === undefined || 'reason' in body) return body?.reason ?? 'no body is kept';
    if (url === undefined) return 'its destination is unknown';
    if ((createdAt ?? learnedAt) < (policy.action.notBefore ?? -Infinity)) return 'created before action.notBefore';
    return scheduleId && repeated(scheduleId, createdAt ?? learnedAt);
  };
  const { edit } = policy.action;
  if (edit !== undefined) {
    const headers = edit.headers.length === 0 ? '' : `; changed headers: ${edit.headers.join(', ')}`;
    draft.notes.push(`The message is edited: ${edit.size} bytes, SHA-256 ${edit.sha256}${headers}.`);
  }
  noteLeft(policy, open, draft, deps);
  const allowed = allowedBy<LetterEntry>(
    policy,
    {
      matched: open,
      candidateOf: (entry) => ({
        ...known.of(entry, {
          ownedBy: ownerOf(entry.deadLetter),
          deploy: campaigns.deploys && (latestOf(campaigns.deploys, entry.workflowUrl) ?? null),
        }),
        entry,
        unpublishable: unpublishable(entry),
      }),
      entries: entries.length,
      errors,
      population: deps.facts.dlqMessages(account),
    },
    { now, draft },
    deps,
  );
  if ('plan' in allowed) return allowed;
  const retention = deps.accounts.get(account)?.dlqRetentionMs;
  const propose = (entry: LetterEntry): RepublishProposal => {
    const { dlqId, workflowRunId: messageId, workflowUrl: url, createdAt: failedAt, responseStatus: status } = entry;
    const body = bodies?.get(dlqId);
    const { retries } = policy.action;
    return {
      policy: policy.name,
      account,
      action: 'message-dlq.republish',
      target: dlqId,
      group: groupOf(policy, entry),
      items: 1,
      dlqId,
      messageId,
      url,
      failedAt,
      expiresAt: retention && failedAt + retention,
      labels: withoutStamps(entry.labels),
      cause: failureCause(status, undefined),
      status,
      lineage: known.lineage(entry),
      attempt: known.attempts(entry) + 1,
      retries,
      size: edit?.size ?? (body !== undefined && 'size' in body ? body.size : 0),
      edit,
    };
  };
  const population = new Population([entries], now);
  const part = choose(policy, allowed, { population, campaigns, now, draft, propose, caps, retention }, deps);
  const decision = draft.finish(
    { matched: matched.length, evaluationErrors: errors, ...part },
    allowed.map(({ dlqId }) => dlqId),
  );
  return { ...decision, missing };
}

/** Notes the messages whose destination is no longer in its URL Group, as far as the groups are known. */
function noteLeft(
  { account }: RepublishPolicy,
  entries: readonly LetterEntry[],
  draft: PlanDraft,
  { board }: EngineParts,
): void {
  const groups = board.latest(account, 'urlGroups')?.rows;
  if (groups === undefined) return;
  const left = entries.filter(({ deadLetter: { topicName, url } }) => {
    if (topicName === undefined || url === undefined) return false;
    const group = groups.find(({ name }) => name === topicName);
    return group?.endpoints.some((endpoint) => bareUrl(endpoint.url) === url) !== true;
  });
  if (left.length === 0) return;
  draft.notes.push(`Warning: ${left.length} of these messages go to a destination that is no longer in its URL Group.`);
}

/** Returns why a message of a schedule is not needed any more: a later one of the schedule was delivered. */
async function repeatedSchedules(
  { account, action }: RepublishPolicy,
  entries: readonly LetterEntry[],
  { signal }: PlanContext,
  { actions }: EngineParts,
): Promise<(scheduleId: string, createdAt: number) => string | undefined> {
  if (action.evenIfRepeated) return () => undefined;
  const since = new Map<string, number>();
  for (const { deadLetter } of entries) {
    const { scheduleId, createdAt = deadLetter.learnedAt } = deadLetter;
    if (scheduleId !== undefined) since.set(scheduleId, Math.min(createdAt, since.get(scheduleId) ?? Infinity));
  }
  const found = new Map<string, number | string>();
  for (const [scheduleId, fromDate] of [...since].slice(0, MOST_SCHEDULES)) {
    found.set(scheduleId, await actions.lastDelivered(account, { scheduleId, fromDate }, signal));
  }
  return (scheduleId, createdAt) => {
    const last = found.get(scheduleId) ?? 'a later run reads the log of its schedule';
    if (typeof last === 'string') return last;
    return last > createdAt ? 'its schedule has delivered a later message' : undefined;
  };
}
