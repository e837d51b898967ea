import type { Campaign } from '#foundation/domain/campaign.ts';
import { latestOf } from '#foundation/domain/deploy.ts';
import { isRepairProposal, type Plan, type PlanCampaign, type Proposal } from '#foundation/domain/plan.ts';
import { sent } from '../../guardrails/campaign.ts';
import { overruledSettle } from '../../policies/overrule.ts';
import { isRepairing, type Policy, type RepairPolicy } from '../../policies/policy.ts';
import { currentCampaign, deploysOf, groupKey, hadNoEffect, stepExtent } from '../decide/campaigns.ts';
import type { EngineParts } from '../guard/engine-parts.ts';

/**
 * Step of a group's campaign, saved before its first intent and after its last. After a crash, the step and its actions
 * are found.
 */
export class GroupStep {
  readonly #of: { readonly policy: Policy; readonly group: string; readonly plan: Plan };
  readonly #deps: EngineParts;
  #campaign: Campaign | undefined;

  constructor(of: { readonly policy: Policy; readonly group: string; readonly plan: Plan }, deps: EngineParts) {
    this.#of = of;
    this.#deps = deps;
  }

  /** Adds an action that may be sent to the step. @returns undefined if the step cannot begin */
  async join(proposal: Proposal): Promise<Proposal | undefined> {
    const { policy } = this.#of;
    if (!isRepairProposal(proposal) || !isRepairing(policy)) return proposal;
    const url = proposal.action === 'workflow-dlq.resume' ? proposal.workflowUrl : proposal.url;
    if (await this.#isReplaced(policy, url)) return undefined;
    this.#campaign ??= await this.#begin(policy);
    const { id, step } = this.#campaign ?? {};
    return id === undefined || step === undefined ? undefined : { ...proposal, campaign: { id, step } };
  }

  /** Ends the step after the last request, whatever the outcome of the run. */
  async end(): Promise<void> {
    const { ledger, clock, inStep } = this.#deps;
    const { policy } = this.#of;
    const campaign = this.#campaign;
    try {
      if (campaign === undefined || !isRepairing(policy)) return;
      await ledger.changeCampaign(campaign, (present, acts) => {
        if (present?.id !== campaign.id || acts.every(hadNoEffect)) return undefined;
        return sent(present, { ...stepExtent(acts), now: clock.now(), ramp: policy.ramp });
      });
    } finally {
      inStep.delete(this.#key);
    }
  }

  /** @returns undefined if the campaign is no longer the one on which the plan was decided */
  async #begin(policy: RepairPolicy): Promise<Campaign | undefined> {
    const { ledger, clock, inStep } = this.#deps;
    // First: from here on, settling does not judge the campaign.
    inStep.add(this.#key);
    const { group, plan } = this.#of;
    const planned = this.#planned;
    const settle = overruledSettle(policy, plan.overruled);
    return ledger.changeCampaign({ policy: policy.name, account: policy.account, group }, (found) => {
      const present = currentCampaign(policy, group, { found, now: clock.now(), deploy: planned?.deploy });
      if (planned !== undefined && (present.state !== planned.state || present.step !== planned.step)) return undefined;
      return { ...present, settle };
    });
  }

  /** A deploy since the plan replaces what the plan was about, or takes it back. */
  async #isReplaced(policy: RepairPolicy, url: string): Promise<boolean> {
    const deploys = await deploysOf(policy, this.#deps);
    return deploys !== undefined && (latestOf(deploys, url)?.id ?? 0) > (this.#planned?.deploy?.id ?? 0);
  }

  get #planned(): PlanCampaign | undefined {
    return this.#of.plan.campaigns.find(({ group }) => group === this.#of.group);
  }

  get #key(): string {
    return groupKey({ policy: this.#of.policy.name, group: this.#of.group });
  }
}
