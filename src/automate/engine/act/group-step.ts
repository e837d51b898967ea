import type { Campaign } from '#foundation/domain/campaign.ts';
import type { Plan, Proposal } from '#foundation/domain/plan.ts';
import { overruledSettle } from '../../policies/overrule.ts';
import { isResume, type Policy, type ResumePolicy } from '../../policies/policy.ts';
import { beginStep, endStep, groupKey } from '../decide/campaigns.ts';
import type { ExecuteDeps } from './execute-deps.ts';

/** Step of a group's campaign, saved before its first intent and after its last. */
export class GroupStep {
  readonly #policy: Policy;
  readonly #group: string;
  readonly #plan: Plan;
  readonly #deps: ExecuteDeps;
  #campaign: Campaign | undefined;

  constructor(policy: Policy, group: string, plan: Plan, deps: ExecuteDeps) {
    this.#policy = policy;
    this.#group = group;
    this.#plan = plan;
    this.#deps = deps;
  }

  /** Adds an action that may be sent to the step. @returns undefined if the step cannot begin */
  async join(proposal: Proposal): Promise<Proposal | undefined> {
    if (proposal.action !== 'workflow-dlq.resume' || !isResume(this.#policy)) return proposal;
    this.#campaign ??= await this.#begin(this.#policy);
    const { id, step } = this.#campaign ?? {};
    return id === undefined || step === undefined ? undefined : { ...proposal, campaign: { id, step } };
  }

  async end(): Promise<void> {
    try {
      if (this.#campaign !== undefined && isResume(this.#policy))
        await endStep(this.#policy, this.#campaign, this.#deps);
    } finally {
      this.#deps.inStep.delete(this.#key);
    }
  }

  async #begin(policy: ResumePolicy): Promise<Campaign | undefined> {
    // First: from here on, settling does not judge the campaign.
    this.#deps.inStep.add(this.#key);
    const { campaigns, overruled } = this.#plan;
    const planned = campaigns.find(({ group }) => group === this.#group);
    const settle = overruledSettle(policy, overruled);
    return beginStep(policy, { group: this.#group, planned, settle }, this.#deps);
  }

  get #key(): string {
    return groupKey({ policy: this.#policy.name, group: this.#group });
  }
}
