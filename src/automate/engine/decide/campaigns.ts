/**
 * Persistence of campaigns. They are saved before the first intent of a step and after its last, and judged when the
 * outcomes of its actions are known. The rules are pure functions (guardrails/campaign.ts). Each change is one
 * transaction with its reading: a run, a verdict and an operator may change a campaign at the same time.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { PlanCampaign, ResumeProposal } from '#foundation/domain/plan.ts';
import { begin, drained, judge, retimed, reopen, retryHorizon, sent } from '../../guardrails/campaign.ts';
import type { Campaigns } from '../../ledger/campaigns.ts';
import type { ActionOutcome, ActionRecord } from '../../ledger/intents.ts';
import { isResume, type Policy, type ResumePolicy } from '../../policies/policy.ts';
import { clockDenial } from '../guard/clock-denial.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

export interface Change {
  readonly before: Campaign;
  readonly after: Campaign;
}

/** Campaigns of a policy by group, with the actions of their current steps by campaign. */
export interface KnownCampaigns {
  readonly byGroup: ReadonlyMap<string, Campaign>;
  readonly acts: Awaited<ReturnType<Campaigns['stepActs']>>;
}

/** Reads the campaigns of a policy. */
export async function campaignsOf(
  { name }: ResumePolicy,
  { ledger }: Pick<EngineDeps<Campaigns>, 'ledger'>,
): Promise<KnownCampaigns> {
  const own = (await ledger.campaigns()).filter(({ policy }) => policy === name);
  const acts = await ledger.stepActs(own.filter(({ state }) => state === 'settling'));
  return { byGroup: new Map(own.map((campaign) => [campaign.group, campaign])), acts };
}

/**
 * Returns the current campaign of a group: half-open once its breaker's open time has passed, and new for a new group.
 *
 * @param found campaign in the ledger
 */
export function currentCampaign(
  policy: ResumePolicy,
  group: string,
  { found, now }: { readonly found: Campaign | undefined; readonly now: number },
): Campaign {
  if (found === undefined) {
    // A plan writes nothing, so a new campaign gets its id with its first step.
    return begin({ id: '', policy: policy.name, account: policy.account, group, ramp: policy.ramp, now });
  }
  return found.state === 'halted' && (found.until ?? 0) <= now ? reopen(found, now) : found;
}

/** Name of a group in `inStep`. */
export function groupKey({ policy, group }: Pick<Campaign, 'policy' | 'group'>): string {
  return `${policy}\0${group}`;
}

/**
 * Starts a step before the first intent of a group: after a crash, the step and its actions are found. The group is in
 * `inStep` before this call.
 *
 * @param planned campaign on which the plan was decided; undefined if the plan has none
 * @param settle overruled value for this step, in milliseconds
 * @returns undefined if the campaign is no longer the planned one
 */
export async function beginStep(
  policy: ResumePolicy,
  of: {
    readonly group: string;
    readonly planned: Pick<PlanCampaign, 'state' | 'step'> | undefined;
    readonly settle: number | undefined;
  },
  { ledger, clock }: EngineDeps<Campaigns>,
): Promise<Campaign | undefined> {
  const { group, planned, settle } = of;
  return ledger.changeCampaign({ policy: policy.name, account: policy.account, group }, (found) => {
    const { settle: _before, ...present } = currentCampaign(policy, group, { found, now: clock.now() });
    if (planned !== undefined && (present.state !== planned.state || present.step !== planned.step)) return undefined;
    return { ...present, ...(settle !== undefined && { settle }) };
  });
}

/** Ends a step after the last request of a group, whatever the outcome of the run. */
export async function endStep(
  policy: ResumePolicy,
  campaign: Campaign,
  { ledger, clock }: EngineDeps<Campaigns>,
): Promise<void> {
  await ledger.changeCampaign(campaign, (present, acts) => {
    if (present?.id !== campaign.id || acts.every(hadNoEffect)) return undefined;
    return sent(present, { ...stepOf(acts), now: clock.now(), ramp: policy.ramp });
  });
}

/**
 * Judges campaigns after outcomes were recorded, and returns those whose state changed. A step is judged only after all
 * its requests: otherwise its run would overwrite the verdict.
 */
export async function judgeCampaigns(
  policies: ReadonlyMap<string, Policy>,
  deps: EngineDeps<Campaigns> & { readonly inStep: ReadonlySet<string> },
): Promise<Change[]> {
  const now = deps.clock.now();
  const verdict = (campaign: Campaign, acts: readonly ActionRecord[]): Campaign | undefined => {
    if (deps.inStep.has(groupKey(campaign)) || clockDenial(campaign.account, deps) !== undefined) return undefined;
    const policy = policies.get(campaign.policy);
    return policy !== undefined && isResume(policy) ? judged(campaign, policy, { acts, now }, deps) : undefined;
  };
  const open = (await deps.ledger.campaigns()).filter(({ state }) => state === 'ready' || state === 'settling');
  const acts = await deps.ledger.stepActs(open);
  const changes: Change[] = [];
  for (const campaign of open) {
    if (verdict(campaign, acts.get(campaign.id) ?? []) === undefined) continue;
    let before = campaign;
    // A run may have begun a step since: the verdict is that of the transaction.
    const after = await deps.ledger.changeCampaign(campaign, (present, latest) => {
      before = present ?? campaign;
      return present && verdict(present, latest);
    });
    if (after !== undefined && (after.state !== before.state || after.step !== before.step))
      changes.push({ before, after });
  }
  return changes;
}

/** Overrules `ramp.settle` for the open steps of a policy, and moves their verdicts accordingly. */
export async function overruleSettle(policy: ResumePolicy, { ledger }: EngineDeps<Campaigns>): Promise<void> {
  for (const campaign of await ledger.campaigns()) {
    if (campaign.policy !== policy.name || campaign.state !== 'settling') continue;
    await ledger.changeCampaign(campaign, (present, acts) => present && settlingFor(present, acts, policy));
  }
}

/** Returns a campaign with an overruled `ramp.settle` for its current step. @param acts actions of the step */
export function settlingFor(campaign: Campaign, acts: readonly ActionRecord[], { ramp }: ResumePolicy): Campaign {
  if (campaign.state !== 'settling') return campaign;
  const { horizonMs } = stepOf(acts);
  return retimed({ ...campaign, settle: ramp.settle }, { horizonMs, ramp });
}

/** Ends the campaigns of groups without entries, after a complete listing. */
export async function endDrained(
  policy: ResumePolicy,
  groups: ReadonlySet<string>,
  { ledger }: EngineDeps<Campaigns>,
): Promise<void> {
  for (const campaign of await ledger.campaigns()) {
    if (campaign.policy !== policy.name || groups.has(campaign.group) || drained(campaign) === campaign) continue;
    await ledger.changeCampaign(campaign, (present) => present && drained(present));
  }
}

function judged(
  campaign: Campaign,
  policy: ResumePolicy,
  { acts, now }: { readonly acts: readonly ActionRecord[]; readonly now: number },
  { breakerMs }: Pick<EngineDeps, 'breakerMs'>,
): Campaign | undefined {
  if (campaign.state !== 'ready' && campaign.state !== 'settling') return undefined;
  if (campaign.state === 'ready') {
    // A crash happened between the last request and the end of the step.
    const left = acts.length > 0 && !acts.every(hadNoEffect);
    return left ? sent(campaign, { ...stepOf(acts), now, ramp: policy.ramp }) : undefined;
  }
  const results = { verified: 0, failed: 0, undecided: 0 };
  for (const { outcome } of acts) {
    const result = resultOf(outcome);
    if (result !== undefined) results[result]++;
  }
  const ramp = { ...policy.ramp, ...(breakerMs !== undefined && { breaker: breakerMs }) };
  const after = judge(retimed(campaign, { ...stepOf(acts), ramp }), results, ramp, now);
  return after === campaign ? undefined : after;
}

function stepOf(acts: readonly ActionRecord[]): { readonly count: number; readonly horizonMs: number } {
  const horizons = acts.map(({ proposal }) => retryHorizon((proposal as ResumeProposal).retries));
  return { count: acts.length, horizonMs: Math.max(0, ...horizons) };
}

function hadNoEffect({ outcome }: ActionRecord): boolean {
  return outcome === 'rejected' || outcome === 'confirmed_not_applied';
}

/** Verdict of an outcome. Undefined for an action without effect, and if the outcome cannot be resolved. */
function resultOf(outcome: ActionOutcome | undefined): 'verified' | 'failed' | 'undecided' | undefined {
  switch (outcome) {
    case 'verified':
    case 'confirmed_applied':
      return 'verified';
    case 'failed_again':
      return 'failed';
    case 'rejected':
    case 'confirmed_not_applied':
    case 'unresolvable':
      return undefined;
    case 'accepted':
    case 'unknown':
    case 'unverified':
    case undefined:
      return 'undecided';
  }
}
