/** Verdicts on the steps of campaigns, and the end of campaigns without entries. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { drained, judgeStep, retimed, sent } from '../../guardrails/campaign.ts';
import type { ActionOutcome, ActionRecord } from '../../ledger/intents.ts';
import { isRepairing, type RepairPolicy } from '../../policies/policy.ts';
import { groupKey, hadNoEffect, settlingFor, stepExtent } from '../decide/campaigns.ts';
import { clockDenial } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';

export interface CampaignChange {
  readonly before: Campaign;
  readonly after: Campaign;
}

/**
 * Judges campaigns after outcomes were recorded, and returns those whose state changed. A step is judged only after all
 * its requests: otherwise its run would overwrite the verdict.
 */
export async function judgeCampaigns(deps: EngineParts): Promise<CampaignChange[]> {
  const now = deps.clock.now();
  const verdict = (campaign: Campaign, acts: readonly ActionRecord[]): Campaign | undefined => {
    if (deps.inStep.has(groupKey(campaign)) || clockDenial(campaign.account, deps) !== undefined) return undefined;
    const policy = deps.byName.get(campaign.policy);
    return policy !== undefined && isRepairing(policy) ? judged(campaign, policy, { acts, now }, deps) : undefined;
  };
  const open = (await deps.ledger.campaigns()).filter(({ state }) => state === 'ready' || state === 'settling');
  const acts = await deps.ledger.stepActs(open);
  const changes: CampaignChange[] = [];
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
export async function overruleSettle(policy: RepairPolicy, { ledger }: EngineParts): Promise<void> {
  for (const campaign of await ledger.campaigns()) {
    if (campaign.policy !== policy.name || campaign.state !== 'settling') continue;
    await ledger.changeCampaign(campaign, (present, acts) => present && settlingFor(present, acts, policy));
  }
}

/** Ends the campaigns of groups without entries, after a complete listing. */
export async function endDrained(
  { groups, campaigns }: { readonly groups: ReadonlySet<string>; readonly campaigns: Iterable<Campaign> },
  { ledger }: EngineParts,
): Promise<void> {
  for (const campaign of campaigns) {
    if (groups.has(campaign.group) || drained(campaign) === campaign) continue;
    await ledger.changeCampaign(campaign, (present) => present && drained(present));
  }
}

function judged(
  campaign: Campaign,
  policy: RepairPolicy,
  { acts, now }: { readonly acts: readonly ActionRecord[]; readonly now: number },
  { breakerMs }: EngineParts,
): Campaign | undefined {
  if (campaign.state !== 'ready' && campaign.state !== 'settling') return undefined;
  if (campaign.state === 'ready') {
    // A crash happened between the last request and the end of the step.
    const left = acts.length > 0 && !acts.every(hadNoEffect);
    return left ? sent(campaign, { ...stepExtent(acts), now, ramp: policy.ramp }) : undefined;
  }
  const results = { verified: 0, failed: 0, undecided: 0 };
  for (const { outcome } of acts) {
    const result = resultOf(outcome);
    if (result !== undefined) results[result]++;
  }
  const ramp = { ...policy.ramp, breaker: breakerMs };
  const after = judgeStep(retimed(campaign, { ...stepExtent(acts), ramp }), results, ramp, now);
  return after === campaign ? undefined : after;
}

/** Verdict of an outcome. Undefined for an action without effect, and if the outcome cannot be resolved. */
function resultOf(outcome: ActionOutcome | undefined): 'verified' | 'failed' | 'undecided' | undefined {
  switch (outcome) {
    case 'verified':
    case 'delivered':
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
