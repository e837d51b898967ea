/**
 * Persistence of campaigns. They are saved before the first intent of a step and after its last, and judged when the
 * outcomes of its actions are known. The rules are pure functions (guardrails/campaign.ts).
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { ResumeProposal } from '#foundation/domain/plan.ts';
import { begin, drained, judge, retimed, reopen, retryHorizon, sent } from '../guardrails/campaign.ts';
import type { Campaigns } from '../ledger/campaigns.ts';
import type { ActionOutcome, ActionRecord } from '../ledger/intents.ts';
import { isResume, type Policy, type ResumePolicy } from '../policies/policy.ts';
import { clockDenial } from './clock-denial.ts';
import type { EngineDeps } from './engine-deps.ts';

export interface Change {
  readonly before: Campaign;
  readonly after: Campaign;
}

/** Current campaign of a group: half-open once its breaker's open time has passed, and new for a new group. */
export function campaignOf(
  policy: ResumePolicy,
  group: string,
  now: number,
  deps: Pick<EngineDeps<Campaigns>, 'ledger'>,
): Campaign {
  const present = deps.ledger.campaign(policy.name, group);
  if (present === undefined) {
    // A plan writes nothing, so a new campaign gets its id with its first step.
    return begin({ id: '', policy: policy.name, account: policy.account, group, ramp: policy.ramp, now });
  }
  return present.state === 'halted' && (present.until ?? 0) <= now ? reopen(present, now) : present;
}

/**
 * Starts a step before the first intent of a group: after a crash, the step and its actions are found.
 *
 * @param settle overruled value for this step, in milliseconds
 */
export function beginStep(
  policy: ResumePolicy,
  { group, settle }: { readonly group: string; readonly settle: number | undefined },
  deps: EngineDeps<Campaigns>,
): Campaign {
  const { settle: _before, ...found } = campaignOf(policy, group, deps.clock.now(), deps);
  const id = found.id === '' ? deps.ledger.nextCampaignId(policy.name) : found.id;
  const campaign = { ...found, id, ...(settle !== undefined && { settle }) };
  deps.ledger.saveCampaign(campaign);
  return campaign;
}

/** Ends a step after the last request of a group, whatever the outcome of the run. */
export function endStep(policy: ResumePolicy, campaign: Campaign, deps: EngineDeps<Campaigns>): void {
  const acts = deps.ledger.stepActs(campaign.id, campaign.step);
  if (acts.every(hadNoEffect)) return;
  deps.ledger.saveCampaign(sent(campaign, { ...stepOf(acts), now: deps.clock.now(), ramp: policy.ramp }));
}

/**
 * Judges campaigns after outcomes were recorded, and returns those whose state changed. A step is judged only after all
 * its requests: otherwise its run would overwrite the verdict.
 */
export function judgeCampaigns(
  policies: ReadonlyMap<string, Policy>,
  deps: EngineDeps<Campaigns> & { readonly inStep: ReadonlySet<string> },
): Change[] {
  const now = deps.clock.now();
  return deps.ledger.campaigns().flatMap((campaign) => {
    if (deps.inStep.has(campaign.id) || clockDenial(campaign.account, deps) !== undefined) return [];
    const policy = policies.get(campaign.policy);
    if (policy === undefined || !isResume(policy)) return [];
    const after = judged(campaign, policy, now, deps);
    if (after === undefined) return [];
    deps.ledger.saveCampaign(after);
    return after.state === campaign.state && after.step === campaign.step ? [] : [{ before: campaign, after }];
  });
}

/** Overrules `ramp.settle` for the open steps of a policy, and moves their verdicts accordingly. */
export function overruleSettle(policy: ResumePolicy, deps: EngineDeps<Campaigns>): void {
  for (const campaign of deps.ledger.campaigns()) {
    if (campaign.policy !== policy.name || campaign.state !== 'settling') continue;
    deps.ledger.saveCampaign(settlingFor(campaign, policy, deps));
  }
}

/** Returns a campaign with an overruled `ramp.settle` for its current step. */
export function settlingFor(campaign: Campaign, { ramp }: ResumePolicy, { ledger }: EngineDeps<Campaigns>): Campaign {
  if (campaign.state !== 'settling') return campaign;
  const { horizonMs } = stepOf(ledger.stepActs(campaign.id, campaign.step));
  return retimed({ ...campaign, settle: ramp.settle }, { horizonMs, ramp });
}

/** Ends the campaigns of groups without entries, after a complete listing. */
export function endDrained(policy: ResumePolicy, groups: ReadonlySet<string>, deps: EngineDeps<Campaigns>): void {
  for (const campaign of deps.ledger.campaigns()) {
    if (campaign.policy !== policy.name || groups.has(campaign.group)) continue;
    const after = drained(campaign);
    if (after !== campaign) deps.ledger.saveCampaign(after);
  }
}

function judged(
  campaign: Campaign,
  policy: ResumePolicy,
  now: number,
  deps: EngineDeps<Campaigns>,
): Campaign | undefined {
  if (campaign.state !== 'ready' && campaign.state !== 'settling') return undefined;
  const acts = deps.ledger.stepActs(campaign.id, campaign.step);
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
  const ramp = { ...policy.ramp, ...(deps.breakerMs !== undefined && { breaker: deps.breakerMs }) };
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
