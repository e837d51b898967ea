/**
 * Campaigns as a decision reads them. The rules are pure functions (guardrails/campaign.ts). A step is saved before its
 * first intent and after its last (act/group-step.ts), and judged when the outcomes of its actions are known
 * (settle/campaigns.ts). Each change is one transaction with its reading: a run, a verdict and an operator may change a
 * campaign at the same time.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { DEPLOY_ARMS_MS, type Deploy } from '#foundation/domain/deploy.ts';
import type { RepublishProposal, ResumeProposal } from '#foundation/domain/plan.ts';
import { begin, rearmed, reopen, retimed, retryHorizon } from '../../guardrails/campaign.ts';
import type { Campaigns } from '../../ledger/campaigns.ts';
import type { ActionOutcome, ActionRecord } from '../../ledger/intents.ts';
import { isRepairing, type Policy, type RepairPolicy } from '../../policies/policy.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

/** Campaigns of a policy by group, with the actions of their current steps by campaign, and its deploys. */
export interface KnownCampaigns {
  readonly byGroup: ReadonlyMap<string, Campaign>;
  readonly acts: Awaited<ReturnType<Campaigns['stepActs']>>;
  readonly deploys: Awaited<ReturnType<typeof deploysOf>>;
}

const NO_CAMPAIGNS: KnownCampaigns = { byGroup: new Map(), acts: new Map(), deploys: undefined };

/** Reads the campaigns of a policy, and the deploys that it waits for. */
export async function campaignsOf(policy: Policy, deps: Pick<EngineDeps, 'ledger' | 'clock'>): Promise<KnownCampaigns> {
  if (!isRepairing(policy)) return NO_CAMPAIGNS;
  const { ledger } = deps;
  const [campaigns, deploys] = await Promise.all([ledger.campaigns(), deploysOf(policy, deps)]);
  const own = campaigns.filter((campaign) => campaign.policy === policy.name);
  const acts = await ledger.stepActs(own.filter(({ state }) => state === 'settling'));
  return { byGroup: new Map(own.map((campaign) => [campaign.group, campaign])), acts, deploys };
}

/** Returns the deploys of the account, newest first; undefined if the policy waits for none. */
export async function deploysOf(
  { account, when }: Policy,
  { ledger, clock }: Pick<EngineDeps, 'ledger' | 'clock'>,
): Promise<readonly Deploy[] | undefined> {
  return 'afterDeploy' in when ? ledger.deploys([account], clock.now() - DEPLOY_ARMS_MS) : undefined;
}

/**
 * Returns the current campaign of a group: half-open once its breaker's open time has passed, and new for a new group.
 *
 * @param of.found campaign in the ledger
 * @param of.deploy deploy that arms the group, for a policy that waits for one
 */
export function currentCampaign(
  policy: RepairPolicy,
  group: string,
  of: { readonly found: Campaign | undefined; readonly now: number; readonly deploy?: Campaign['deploy'] },
): Campaign {
  const { now, deploy } = of;
  // A plan writes nothing, so a new campaign gets its id with its first step.
  const begun = { id: '', policy: policy.name, account: policy.account, group };
  const campaign = of.found ?? begin(begun, { ramp: policy.ramp, now });
  return deploy === undefined ? reopen(campaign, now) : rearmed(campaign, deploy);
}

/** Name of a group in `inStep`. */
export function groupKey({ policy, group }: Pick<Campaign, 'policy' | 'group'>): string {
  return `${policy}\0${group}`;
}

/** Returns a campaign with an overruled `ramp.settle` for its current step. @param acts actions of the step */
export function settlingFor(campaign: Campaign, acts: readonly ActionRecord[], { ramp }: RepairPolicy): Campaign {
  if (campaign.state !== 'settling') return campaign;
  const { horizonMs } = stepExtent(acts);
  return retimed({ ...campaign, settle: ramp.settle }, { horizonMs, ramp });
}

/** Number of actions of a step, and the longest time that their retries may take. */
export function stepExtent(acts: readonly ActionRecord[]): { readonly count: number; readonly horizonMs: number } {
  const horizons = acts.map(({ proposal }) => retryHorizon((proposal as ResumeProposal | RepublishProposal).retries));
  return { count: acts.length, horizonMs: Math.max(0, ...horizons) };
}

/** Returns true if an action provably had no effect. */
export function hadNoEffect({ outcome }: { readonly outcome?: ActionOutcome }): boolean {
  return outcome === 'rejected' || outcome === 'confirmed_not_applied';
}
