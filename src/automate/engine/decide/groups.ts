/**
 * Choice by group. Each group's destination, arrivals and campaign limit its entries in this run. A hold of one group
 * does not affect the others.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { latestOf } from '#foundation/domain/deploy.ts';
import {
  denialBy,
  type Denial,
  type MessageDeleteProposal,
  type PlanCampaign,
  type PlanCap,
  type RepublishProposal,
  type ResumeProposal,
  type WorkflowDeleteProposal,
} from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { GroupFacts } from '../../guardrails/guard.ts';
import { nextSizes } from '../../guardrails/campaign.ts';
import type { ActionRecord } from '../../ledger/intents.ts';
import { overruledSettle } from '../../policies/overrule.ts';
import { isRepairing, type MessagePolicy, type RepairPolicy, type WorkflowDlqPolicy } from '../../policies/policy.ts';
import { currentCampaign, settlingFor, type KnownCampaigns } from './campaigns.ts';
import { DELIVERIES_MS, groupOf, hostOfGroup, type Population } from './group-facts.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { guardsAt } from '../guard/checks.ts';
import type { PlanDraft } from './plan-draft.ts';

/** Policy whose entries are chosen by group. */
export type GroupedPolicy = WorkflowDlqPolicy | MessagePolicy;
export type EntryProposal = ResumeProposal | WorkflowDeleteProposal | RepublishProposal | MessageDeleteProposal;

export interface Choosing<E extends WorkflowDlqEntry, P extends EntryProposal> {
  readonly population: Population;
  readonly campaigns: KnownCampaigns;
  readonly caps: readonly PlanCap[];
  /** Milliseconds that the DLQ keeps an entry; undefined if unknown. */
  readonly retention: number | undefined;
  readonly now: number;
  readonly draft: PlanDraft;
  readonly propose: (entry: E) => P;
}

interface ChoosingOne<E extends WorkflowDlqEntry, P extends EntryProposal> extends Choosing<E, P> {
  readonly arrivals: (group: string) => GroupFacts['arrivals'];
}

/** Proposes what each group may do in this run. Most entries wait, and do not become proposals. */
export function chooseByGroup<E extends WorkflowDlqEntry, P extends EntryProposal>(
  policy: GroupedPolicy,
  matched: readonly E[],
  choosing: Choosing<E, P>,
  deps: Pick<EngineDeps, 'facts' | 'guards'>,
): { readonly allowed: readonly P[]; readonly campaigns: readonly PlanCampaign[] } {
  // A delete has no ramp and no destination: its tripwire, grace period and caps limit it.
  if (!isRepairing(policy)) return { allowed: matched.map(choosing.propose), campaigns: [] };
  const byGroup = Map.groupBy(matched, (entry) => groupOf(policy, entry));
  const going = new Map<string, P>();
  const campaigns: PlanCampaign[] = [];
  const holds: Denial[] = [];
  const { deploys = [] } = choosing.campaigns;
  const arrivals = choosing.population.arrivals(
    (entry) => groupOf(policy, entry),
    ({ workflowUrl, createdAt }) => createdAt < (latestOf(deploys, workflowUrl)?.at ?? -Infinity),
  );
  for (const [group, members] of byGroup) {
    const { now, size, held, campaign } = oneGroup(policy, group, members, { ...choosing, arrivals }, deps);
    for (const proposal of now) going.set(proposal.target, proposal);
    campaigns.push({
      group,
      state: campaign.state,
      deploy: campaign.deploy,
      step: campaign.step,
      now: now.length,
      next: nextSizes(campaign, policy.ramp),
      verified: campaign.verified,
      judged: campaign.judged,
      matched: members.length,
      until: campaign.until,
      held,
    });
    if (held !== undefined && size === 0) holds.push(held);
  }
  // The run is held only if every group is held.
  const [first] = holds;
  if (first !== undefined && holds.length === byGroup.size) {
    choosing.draft.hold(
      holds.length === 1
        ? first
        : { ...first, reason: `${first.reason} (and ${holds.length - 1} more groups are held)` },
    );
  }
  return { allowed: matched.flatMap(({ dlqId }) => going.get(dlqId) ?? []), campaigns };
}

/** Returns the campaign of a group as an overruled `ramp.settle` changes it. */
function campaignIn(
  { context: { overruled, assumesJudged } }: PlanDraft,
  policy: RepairPolicy,
  { found, acts, now }: { readonly found: Campaign; readonly acts: readonly ActionRecord[]; readonly now: number },
): Campaign {
  if (overruledSettle(policy, overruled) === undefined) return found;
  const campaign = settlingFor(found, acts, policy);
  const isDue = campaign.state === 'settling' && (campaign.until ?? now) <= now;
  return assumesJudged && isDue ? { ...campaign, state: 'ready' } : campaign;
}

function oneGroup<E extends WorkflowDlqEntry, P extends EntryProposal>(
  policy: RepairPolicy,
  group: string,
  members: readonly E[],
  { arrivals, campaigns, now, draft, propose }: ChoosingOne<E, P>,
  deps: Pick<EngineDeps, 'facts' | 'guards'>,
): {
  readonly now: readonly P[];
  readonly size: number;
  readonly held?: Denial;
  readonly campaign: Campaign;
} {
  const urls = new Set(members.map(({ workflowUrl }) => workflowUrl));
  const deploy = latestOf(campaigns.deploys ?? [], ...urls);
  const armedBy = deploy && { id: deploy.id, version: deploy.version };
  const found = currentCampaign(policy, group, { found: campaigns.byGroup.get(group), now, deploy: armedBy });
  const acts = campaigns.acts.get(found.id) ?? [];
  const campaign = campaignIn(draft, policy, { found, acts, now });
  const host = hostOfGroup(group);
  // Attempts before the deploy are about what it replaced.
  const since = deploy && 'afterDeploy' in policy.when ? deploy.at + policy.when.afterDeploy : -Infinity;
  const deliveriesMs = Math.max(0, Math.min(DELIVERIES_MS, now - since));
  const facts: GroupFacts = {
    action: policy.action.type,
    group,
    destination: host,
    matched: members.length,
    deliveries: host === undefined ? undefined : deps.facts.deliveries(policy.account, host, deliveriesMs),
    deliveriesMs,
    arrivals: arrivals(group),
    campaign,
    now,
  };
  let size = members.length;
  let held: Denial | undefined;
  for (const guard of guardsAt(deps.guards, 'group')) {
    const verdict = guard.check(facts);
    draft.checks.push({ guard: guard.name, passed: verdict.passed, reason: verdict.reason });
    if (verdict.allowed < size) {
      size = verdict.allowed;
      if (verdict.hold !== undefined) held ??= denialBy(guard.name, verdict.hold);
    }
  }
  const isCanary = campaign.recent.length === 0 || campaign.halts > 0 || size < Math.min(members.length, campaign.size);
  const chosen = members.slice(0, size).map((entry) => ({
    ...propose(entry),
    // The first entries of a campaign are sent without retries, so that their outcome is known soon.
    ...(isCanary && { retries: 0 }),
  }));
  return { now: chosen, size, campaign, held };
}
