/** Plan of a policy that resumes or deletes entries of the workflow DLQ. */
import { parseStamp } from '#foundation/domain/lineage.ts';
import { denialBy, type Plan, type ResumeProposal, type WorkflowDeleteProposal } from '#foundation/domain/plan.ts';
import { failureCause } from '#foundation/domain/reason.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Candidate, EntryRules } from '../../guardrails/guard.ts';
import { evaluate } from '../../policies/evaluate.ts';
import { isResume, type WorkflowDlqPolicy } from '../../policies/policy.ts';
import type { Campaigns } from '../../ledger/campaigns.ts';
import type { History } from '../../ledger/history.ts';
import type { PolicyMemory } from '../../ledger/runs.ts';
import type { Identity, Trust } from '../../ledger/trust.ts';
import type { Usage } from '../../ledger/usage.ts';
import { campaignsOf, type KnownCampaigns } from './campaigns.ts';
import { candidates } from './candidates.ts';
import { capsOf } from './cap-limits.ts';
import { withinCaps } from './choose.ts';
import { clockMargin } from '../guard/clock-margin.ts';
import type { DecideDeps } from './decide-deps.ts';
import { drainOf } from './drain.ts';
import { groupOf, Population } from './group-facts.ts';
import { chooseByGroup } from './groups.ts';
import { firstDenial, guardsAt, interrupted, isStopped } from '../guard/guards-at.ts';
import { owners } from './owners.ts';
import { Draft, deferredOf, type Decision, type PlanContext } from './plan-draft.ts';
import { Returns } from './returns.ts';

type RunProposal = ResumeProposal | WorkflowDeleteProposal;

export async function decideWorkflowDlq(
  policy: WorkflowDlqPolicy,
  context: PlanContext,
  deps: WorkflowDlqDeps,
): Promise<Decision> {
  const { account } = policy;
  const draft = new Draft(policy, context);
  const filter = policy.filter(context.at);
  const listing = await deps.actions.list(account, filter, context.signal);
  const now = deps.clock.now();
  const board = deps.board.latest(account, 'workflowDlq')?.rows;
  const read: Plan['read'] = {
    pages: listing.pages,
    entries: listing.entries.length,
    complete: listing.complete,
    filterChecked: listing.complete ? listing.entries.length : 0,
    ...(board !== undefined && { population: board.length }),
    ...(listing.clockSkewMs !== undefined && { clockSkewMs: listing.clockSkewMs }),
  };
  // A stop says nothing about the service. A listing that does not end in time does.
  const { signal } = context;
  if (isStopped(signal) && !listing.complete) return draft.abort(interrupted(signal), { read });
  const unreadable = firstDenial(guardsAt(deps.guards, 'read'), { ...listing, filter, now });
  if (unreadable !== undefined) return draft.abort(unreadable, { read });

  const known = await candidates(account, listing.entries, deps);
  const firstMatches = graceOf(policy) > 0 ? await deps.ledger.firstMatches(policy.name) : NO_MATCHES;
  const campaigns = isResume(policy) ? await campaignsOf(policy, deps) : NO_CAMPAIGNS;
  const caps = await capsOf(policy, deps);
  const missing = missingIds(policy, listing.entries, draft);
  const { matched, evaluationErrors, misjudged } = select(policy, known, { filter, now, draft, context }, deps);
  if (misjudged !== undefined) return draft.abort(misjudged, { read, evaluationErrors });
  const allowed = allow(policy, matched, { now, draft, only: context.only, firstMatches }, deps);
  const shown = { read, matched: matched.length, evaluationErrors };

  for (const guard of guardsAt(deps.guards, 'matched')) {
    const tripped = guard.check({
      action: policy.action.type,
      allowed: allowed.length,
      maxMatched: policy.limits.maxMatched,
      maxMatchedShare: policy.limits.maxMatchedShare,
      onTrip: policy.limits.onTrip,
      ...(board !== undefined && { population: board.length }),
      isApproved: context.only !== undefined,
    });
    if (tripped?.onTrip === 'abort') return draft.abort(denialBy(guard.name, tripped.hold), shown);
    if (tripped !== undefined) draft.needsApproval ??= denialBy(guard.name, tripped.hold);
  }

  const population = new Population([...deps.board.departed(account), ...(board ?? [])], listing.entries, now);
  const refusedAt = deps.facts.refusedAt(account);
  for (const guard of guardsAt(deps.guards, 'account')) {
    const hold = guard.check({
      action: policy.action.type,
      ...(refusedAt !== undefined && { refusedAt }),
      recentArrivals: population.recent(),
      now,
    });
    if (hold !== undefined) draft.hold(denialBy(guard.name, hold));
  }

  const listed = new Returns(listing.entries, deps.ledger.instance);
  const propose = (candidate: Candidate): RunProposal => proposalOf(policy, candidate, listed, deps);
  const groups = chooseByGroup(policy, allowed, { population, campaigns, now, draft, propose }, deps);
  const chosen = withinCaps<RunProposal>(policy, groups.allowed, { draft, caps }, deps);
  const { dlqRetentionMs = Infinity } = deps.accounts.get(account) ?? {};
  const expiries = allowed.map(({ entry }) => entry.createdAt + dlqRetentionMs);
  const drain = drainOf(policy, expiries, groups.campaigns, now);
  noteCauses(policy, allowed, draft);
  noteOwners(policy, allowed, { now, draft }, deps);
  const decision = draft.finish(
    {
      ...shown,
      chosen,
      backlog: allowed.length - chosen.length,
      ...deferredOf(allowed.values().map(propose), chosen),
      campaigns: groups.campaigns,
      caps,
      ...(drain !== undefined && { drain }),
    },
    allowed.map(({ entry }) => entry.dlqId),
  );
  return { ...decision, meant: matched.map(({ entry }) => entry.dlqId), missing };
}

/** Selected ids of a manual plan that the listing does not have. */
function missingIds(policy: WorkflowDlqPolicy, entries: readonly WorkflowDlqEntry[], draft: Draft): readonly string[] {
  const ids = policy.manual?.selection.ids ?? [];
  if (ids.length === 0) return [];
  const listed = new Set(entries.map(({ dlqId }) => dlqId));
  const missing = ids.filter((id) => !listed.has(id));
  draft.noteMissing(missing, `the workflow DLQ of ${policy.account}`);
  return missing;
}

/** Notes the entries of a manual resume that a policy would leave: the selection alone decides, without a `where`. */
function noteCauses({ manual, action }: WorkflowDlqPolicy, allowed: readonly Candidate[], draft: Draft): void {
  if (manual === undefined || action.type !== 'workflow-dlq.resume') return;
  const others = allowed.filter(
    ({ entry }) => failureCause(entry.responseStatus, entry.responseText) !== 'transient',
  ).length;
  if (others === 0) return;
  draft.notes.push(
    `The default where of policies (entry.cause == "transient") does not apply to a manual plan: ${others} of these entries do not meet it.`,
  );
}

/** Notes the policies that also select entries of a manual plan. */
function noteOwners(
  policy: WorkflowDlqPolicy,
  allowed: readonly Candidate[],
  { now, draft }: { readonly now: number; readonly draft: Draft },
  deps: WorkflowDlqDeps,
): void {
  if (policy.manual === undefined) return;
  const owning = owners(deps.policies);
  const retention = deps.accounts.get(policy.account)?.dlqRetentionMs;
  const counts = new Map<string, number>();
  for (const { entry, attempts } of allowed) {
    for (const name of owning.of(policy.account, entry, { attempts, retention, now })) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  for (const [name, count] of counts) {
    draft.notes.push(`Policy ${name} also selects ${count} of these entries; each entry is acted on once.`);
  }
}

interface Selecting {
  readonly filter: ReturnType<WorkflowDlqPolicy['filter']>;
  readonly now: number;
  readonly draft: Draft;
  readonly context: PlanContext;
}

type WorkflowDlqDeps = DecideDeps<Identity & PolicyMemory & History & Campaigns & Trust & Usage>;

/** Applies `select` and `where` to every entry. */
function select(
  policy: WorkflowDlqPolicy,
  listed: readonly Candidate[],
  { filter, now, draft, context }: Selecting,
  deps: WorkflowDlqDeps,
) {
  const known = new Map(listed.map((one) => [one.entry.dlqId, one]));
  const retentionMs = deps.accounts.get(policy.account)?.dlqRetentionMs;
  const { matched, left, errors } = evaluate(
    policy,
    [...known.values()].map(({ entry }) => entry),
    {
      filter,
      trigger: context.trigger,
      attemptsOf: ({ dlqId }) => known.get(dlqId)!.attempts,
      ...(retentionMs !== undefined && { retention: retentionMs }),
    },
    now,
  );
  for (const { guard, reason, dlqId } of left) draft.tally.add(guard, reason, { dlqId });
  const misjudged = firstDenial(guardsAt(deps.guards, 'evaluated'), { entries: listed.length, errors });
  return { matched: matched.map(({ dlqId }) => known.get(dlqId)!), evaluationErrors: errors, misjudged };
}

interface Allowing {
  readonly now: number;
  readonly draft: Draft;
  readonly only: ReadonlySet<string> | undefined;
  readonly firstMatches: ReadonlyMap<string, number>;
}

const NO_MATCHES: ReadonlyMap<string, number> = new Map();
const NO_CAMPAIGNS: KnownCampaigns = { byGroup: new Map(), acts: new Map() };

/** Milliseconds between the first match of an entry and its delete. */
function graceOf({ action }: WorkflowDlqPolicy): number {
  return action.type === 'workflow-dlq.delete' ? action.grace : 0;
}

/** Applies the entry guards, and denies entries outside an operator's approval. */
function allow(
  policy: WorkflowDlqPolicy,
  matched: readonly Candidate[],
  { now, draft, only, firstMatches }: Allowing,
  deps: WorkflowDlqDeps,
): Candidate[] {
  const rules: EntryRules = {
    action: policy.action.type,
    now,
    protectedLabels: deps.settings.protectedLabels,
    failureFunctionStates: isResume(policy) ? policy.failureFunctionStates : [],
    maxAttempts: policy.limits.attempts.max,
    backoff: policy.limits.attempts.backoff,
    grace: graceOf(policy),
  };
  const owning = owners(deps.policies);
  const retention = deps.accounts.get(policy.account)?.dlqRetentionMs;
  const guards = guardsAt(deps.guards, 'entry');
  return matched.flatMap((found) => {
    const { dlqId } = found.entry;
    const ownedBy = owning.before(policy, found.entry, { attempts: found.attempts, retention, now });
    const matchedAt = firstMatches.get(dlqId);
    const firstMatchedAt = matchedAt && matchedAt + clockMargin(matchedAt, deps);
    // Most of the many entries have no further facts, so they are not copied.
    const candidate: Candidate =
      ownedBy === undefined && firstMatchedAt === undefined
        ? found
        : {
            ...found,
            ...(ownedBy !== undefined && { ownedBy }),
            ...(firstMatchedAt !== undefined && { firstMatchedAt }),
          };
    for (const guard of guards) {
      const objection = guard.check(candidate, rules);
      if (objection === undefined) continue;
      const { reason, until } = objection;
      draft.tally.add(guard.name, reason, { dlqId, ...(until !== undefined && { until }) });
      return [];
    }
    if (only !== undefined && !only.has(dlqId)) {
      draft.tally.add('approval', 'not in the approved plan', { dlqId });
      return [];
    }
    return [candidate];
  });
}

function proposalOf(
  policy: WorkflowDlqPolicy,
  { entry, lineage, attempts }: Candidate,
  listed: Returns,
  deps: WorkflowDlqDeps,
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
    lineage,
    failedAt: entry.createdAt,
    ...(retentionMs !== undefined && { expiresAt: entry.createdAt + retentionMs }),
    labels: entry.labels.filter((label) => parseStamp(label) === undefined),
    cause: failureCause(entry.responseStatus, entry.responseText),
    ...(entry.responseStatus !== undefined && { status: entry.responseStatus }),
  };
  if (policy.action.type === 'workflow-dlq.delete') {
    return { ...common, action: 'workflow-dlq.delete', group: entry.workflowUrl };
  }
  const { retries, flowControlIfAbsent } = policy.action;
  return listed.notedIn({
    ...common,
    action: 'workflow-dlq.resume',
    group: groupOf(policy, entry),
    attempt: attempts + 1,
    ...(entry.fingerprint !== undefined && { fingerprint: entry.fingerprint }),
    ...(retries !== undefined && { retries }),
    ...(entry.flowControlKey !== undefined && { flowControlKey: entry.flowControlKey }),
    ...(entry.flowControlKey === undefined && flowControlIfAbsent && { flowControl: flowControlIfAbsent }),
  });
}
