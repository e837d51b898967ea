/** Plan of a policy that resumes or deletes entries of the workflow DLQ. */
import { withoutStamps } from '#foundation/domain/lineage.ts';
import { latestOf } from '#foundation/domain/deploy.ts';
import type { Plan, ResumeProposal, WorkflowDeleteProposal } from '#foundation/domain/plan.ts';
import { failureCause } from '#foundation/domain/reason.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { evaluate } from '../../policies/evaluate.ts';
import type { WorkflowDlqPolicy } from '../../policies/policy.ts';
import { clockMargin, firstDenial, guardsAt, interrupted, isStopped } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { candidates, type Candidates } from './candidates.ts';
import { choose } from './choose.ts';
import { groupOf, Population } from './group-facts.ts';
import { allowedBy, graceOf } from './guarded-entries.ts';
import { owners } from './owners.ts';
import { PlanDraft, type Decision, type PlanContext } from './plan-draft.ts';
import { notesOf } from './returns.ts';

type RunProposal = ResumeProposal | WorkflowDeleteProposal;

const NO_MATCHES: ReadonlyMap<string, number> = new Map();

export async function decideWorkflowDlq(
  policy: WorkflowDlqPolicy,
  context: PlanContext,
  deps: EngineParts,
): Promise<Decision> {
  const { account } = policy;
  const draft = new PlanDraft(policy, context);
  const filter = policy.filter(context.at);
  const listing = await deps.actions.list(account, filter, context.signal);
  const now = deps.clock.now();
  const board = deps.board.latest(account, 'workflowDlq')?.rows;
  const read: Plan['read'] = {
    pages: listing.pages,
    entries: listing.entries.length,
    complete: listing.complete,
    filterChecked: listing.complete ? listing.entries.length : 0,
    population: board?.length,
    clockSkewMs: listing.clockSkewMs,
  };
  // A stop says nothing about the service. A listing that does not end in time does.
  const { signal } = context;
  if (isStopped(signal) && !listing.complete) return draft.abort(interrupted(signal), { read });
  const unreadable = firstDenial(guardsAt(deps.guards, 'read'), { ...listing, filter, now });
  if (unreadable !== undefined) return draft.abort(unreadable, { read });

  const known = await candidates(account, listing.entries, deps);
  const firstMatches = graceOf(policy) > 0 ? await deps.ledger.firstMatches(policy.name) : NO_MATCHES;
  const { campaigns, caps } = context.known;
  const retention = deps.accounts.get(account)?.dlqRetentionMs;
  const missing = draft.missingFrom(listing.entries, `the workflow DLQ of ${account}`);
  const { trigger } = context;
  const { matched, left, errors } = evaluate(
    policy,
    known.entries,
    { filter, retention, trigger, attempts: known.attempts },
    now,
  );
  for (const { guard, reason, dlqId } of left) draft.tally.add(guard, reason, { dlqId });
  const ownerOf = owners(deps.policies).before(policy, { retention, now });
  const allowed = allowedBy(
    policy,
    {
      matched,
      candidateOf(entry) {
        const matchedAt = firstMatches.get(entry.dlqId);
        return known.of(entry, {
          ownedBy: ownerOf(entry, known.attempts(entry)),
          firstMatchedAt: matchedAt && matchedAt + clockMargin(matchedAt, deps),
          deploy: campaigns.deploys && (latestOf(campaigns.deploys, entry.workflowUrl) ?? null),
          isByHand: policy.manual !== undefined && policy.action.type === 'workflow-dlq.delete',
        });
      },
      entries: known.entries.length,
      errors,
      population: board?.length,
      read,
    },
    { now, draft },
    deps,
  );
  if ('plan' in allowed) return allowed;

  const population = new Population([listing.entries, board ?? [], deps.board.departed(account)], now);
  const propose = (entry: WorkflowDlqEntry): RunProposal => proposalOf(policy, entry, known, deps);
  const part = choose(policy, allowed, { campaigns, caps, retention, population, now, draft, propose }, deps);
  const { chosen, deferred } = part;
  const noted = notesOf([...chosen, ...(deferred ?? [])], listing.entries, deps.ledger.instance);
  noteCauses(policy, allowed, draft);
  noteOwners(policy, allowed, { known, now, draft }, deps);
  const decision = draft.finish(
    {
      read,
      matched: matched.length,
      evaluationErrors: errors,
      ...part,
      chosen: chosen.map(noted),
      deferred: deferred?.map(noted),
    },
    allowed.map(({ dlqId }) => dlqId),
  );
  return { ...decision, meant: matched.map(({ dlqId }) => dlqId), missing };
}

/** Notes the entries of a manual resume that a policy would leave: the selection alone decides, without a `where`. */
function noteCauses(
  { manual, action }: WorkflowDlqPolicy,
  allowed: readonly WorkflowDlqEntry[],
  draft: PlanDraft,
): void {
  if (manual === undefined || action.type !== 'workflow-dlq.resume') return;
  const others = allowed.filter((entry) => causeOf(entry) !== 'transient').length;
  if (others === 0) return;
  draft.notes.push(
    `The default where of policies (entry.cause == "transient") does not apply to a manual plan: ${others} of these entries do not meet it.`,
  );
}

/** Notes the policies that also select entries of a manual plan. */
function noteOwners(
  policy: WorkflowDlqPolicy,
  allowed: readonly WorkflowDlqEntry[],
  { known, now, draft }: { readonly known: Candidates; readonly now: number; readonly draft: PlanDraft },
  deps: EngineParts,
): void {
  if (policy.manual === undefined) return;
  const retention = deps.accounts.get(policy.account)?.dlqRetentionMs;
  const ownersOf = owners(deps.policies).of(policy.account, { retention, now });
  const names = allowed.flatMap((entry) => ownersOf(entry, known.attempts(entry)));
  for (const [name, { length }] of Map.groupBy(names, (one) => one)) {
    draft.notes.push(`Policy ${name} also selects ${length} of these entries; each entry is acted on once.`);
  }
}

function causeOf({ responseStatus, responseText }: WorkflowDlqEntry) {
  return failureCause(responseStatus, responseText);
}

function proposalOf(
  policy: WorkflowDlqPolicy,
  entry: WorkflowDlqEntry,
  known: Candidates,
  deps: EngineParts,
): RunProposal {
  const retentionMs = deps.accounts.get(policy.account)?.dlqRetentionMs;
  const common = {
    policy: policy.name,
    account: policy.account,
    target: entry.dlqId,
    items: 1,
    dlqId: entry.dlqId,
    workflowRunId: entry.workflowRunId,
    workflowUrl: entry.workflowUrl,
    lineage: known.lineage(entry),
    failedAt: entry.createdAt,
    expiresAt: retentionMs && entry.createdAt + retentionMs,
    labels: withoutStamps(entry.labels),
    cause: causeOf(entry),
    status: entry.responseStatus,
  };
  if (policy.action.type === 'workflow-dlq.delete') {
    return { ...common, action: 'workflow-dlq.delete', group: entry.workflowUrl };
  }
  const { retries, flowControlIfAbsent } = policy.action;
  return {
    ...common,
    action: 'workflow-dlq.resume',
    group: groupOf(policy, entry),
    attempt: known.attempts(entry) + 1,
    fingerprint: entry.fingerprint,
    retries,
    flowControlKey: entry.flowControlKey,
    flowControl: entry.flowControlKey === undefined ? flowControlIfAbsent : undefined,
  };
}
