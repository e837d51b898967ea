/**
 * Manual plans in progress. Each is a policy of its own for the engine, rebuilt from the stored plan after a restart or
 * a reload. It exists while its plan is approved, or while the outcome of one of its actions is open.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { manualPlanId, type ManualOrigin } from '#foundation/domain/manual-plan.ts';
import { allowedOf, type Plan } from '#foundation/domain/plan.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { ActionRecord } from '../../ledger/intents.ts';
import type { Pause } from '../../ledger/pauses.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import { haltKey } from '../../ledger/shown-group.ts';
import { manualPolicy } from '../../policies/manual-policy.ts';
import { overrule } from '../../policies/overrule.ts';
import type { Policy } from '../../policies/policy.ts';
import { groupKey, hadNoEffect } from '../decide/campaigns.ts';
import type { Decision } from '../decide/plan-draft.ts';
import { policyScope } from '../guard/authority.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { NOTHING_LEFT } from './grants.ts';
import { holdKey } from './report.ts';

export class ManualPlans {
  readonly #deps: EngineParts;
  readonly #reviews = new OneByOne();
  readonly #stops = new Map<string, AbortController>();
  /** Number of runs in progress or waiting, by policy. */
  readonly #underWay = new Map<string, number>();

  constructor(deps: EngineParts) {
    this.#deps = deps;
  }

  /**
   * Policy of a manual plan with its overruled limits.
   *
   * @returns the error in the limits or the account
   */
  policyOf(of: {
    readonly id: string;
    readonly account: string;
    readonly manual: ManualOrigin;
    readonly overruled?: Plan['overruled'];
  }): Policy | string {
    const { accounts, archiveDir } = this.#deps;
    const { id, account, manual, overruled } = of;
    if (!accounts.has(account)) return `there is no account ${account}; accounts: ${[...accounts.keys()].join(', ')}`;
    if (manual.selection.action === 'delete' && archiveDir === undefined) {
      return 'manual plans delete no workflow runs without a folder for the archive, which is beside an SQLite store; a policy with action.archive.dir can delete them';
    }
    const policy = manualPolicy({ id, account, origin: manual, archiveDir: archiveDir ?? '' });
    return overruled === undefined ? policy : overrule(policy, overruled.settings);
  }

  /** Returns the plan of a policy if it is approved now. */
  async approved(name: string): Promise<StoredPlan | undefined> {
    const { ledger, clock } = this.#deps;
    const stored = await ledger.storedPlan(manualPlanId(name) ?? '', clock.now());
    return stored?.state === 'approved' ? stored : undefined;
  }

  /** Registers the policies of plans in progress, and removes those of plans that are over. Reviews never overlap. */
  async review(): Promise<void> {
    return this.#reviews.run(() => this.#review());
  }

  async #review(): Promise<void> {
    const { byName, clock, conditions, ledger } = this.#deps;
    const [open, approved, campaigns, pauses] = await ledger.view((view) =>
      Promise.all([view.openActions(), view.storedPlans(['approved'], clock.now()), view.campaigns(), view.pauses()]),
    );
    const unsettled = unsettledOf(open);
    const wanted = new Map<string, StoredPlan>();
    for (const stored of approved.filter(({ plan }) => plan.manual !== undefined)) {
      const { policy } = stored.plan;
      if (!unsettled.has(policy) && (await this.#isDone(stored))) await this.#finish(stored);
      else wanted.set(policy, stored);
    }
    for (const name of [...unsettled, ...this.#underWay.keys()]) await this.#want(name, wanted);
    for (const campaign of campaigns) {
      if (manualPlanId(campaign.policy) !== undefined && !wanted.has(campaign.policy)) await this.#end(campaign);
    }
    for (const [name, { plan }] of wanted) {
      if (byName.has(name) || plan.manual === undefined) continue;
      const policy = this.policyOf({ ...plan, manual: plan.manual });
      if (typeof policy !== 'string') byName.set(name, policy);
    }
    for (const [name, policy] of byName) {
      // A run that began during this review keeps its policy, and the signal that cancels it.
      if (policy.manual === undefined || wanted.has(name) || this.isUnderWay(name)) continue;
      byName.delete(name);
      this.#stops.delete(name);
      conditions.resolve(holdKey(policy));
    }
    await this.#liftPauses(pauses, wanted);
  }

  /** Marks a plan as applied if its run found nothing left to do, now or later. */
  async finishAfter({ name }: Policy, { plan, tally }: Decision): Promise<void> {
    if (plan.state !== 'nothing_to_do' || allowedOf(plan) > 0) return;
    if (unsettledOf(await this.#deps.ledger.openActions()).has(name)) return;
    const stored = await this.approved(name);
    if (stored?.targets.some((target) => tally.waiting.has(target)) === false) await this.#finish(stored);
  }

  /**
   * Runs work of a policy with a signal that also aborts when its plan is cancelled: the request in flight finishes, and
   * nothing more is sent.
   */
  async during<T>({ name }: Policy, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#underWay.set(name, (this.#underWay.get(name) ?? 0) + 1);
    const stop = getOrAdd(this.#stops, name, () => new AbortController());
    try {
      return await work(AbortSignal.any([signal, stop.signal]));
    } finally {
      const left = this.#underWay.get(name)! - 1;
      if (left > 0) this.#underWay.set(name, left);
      else this.#underWay.delete(name);
    }
  }

  /** Returns true while a run of the policy is in progress or waits for its turn. */
  isUnderWay(name: string): boolean {
    return this.#underWay.has(name);
  }

  /** Aborts the runs of a cancelled plan. */
  stop(name: string, reason: string): void {
    getOrAdd(this.#stops, name, () => new AbortController()).abort(new Error(reason));
  }

  /** Returns true if every target has an action whose effect is known. */
  async #isDone({ plan, targets }: StoredPlan): Promise<boolean> {
    if (plan.action === 'message-dlq.prune') return false;
    const actions = await this.#deps.ledger.actionsOf(plan.policy);
    const done = actions.filter((action) => action.outcome !== undefined && !hadNoEffect(action));
    const acted = new Set(done.map(({ proposal }) => proposal.target));
    return targets.every((target) => acted.has(target));
  }

  async #finish({ plan }: StoredPlan): Promise<void> {
    const { ledger, clock } = this.#deps;
    const of = { at: clock.now(), by: 'engine', reason: NOTHING_LEFT, account: plan.account };
    await ledger.decidePlan(plan.id, { ...of, state: 'applied' });
  }

  async #want(name: string, wanted: Map<string, StoredPlan>): Promise<void> {
    const { ledger, clock } = this.#deps;
    const stored = wanted.has(name) ? undefined : await ledger.storedPlan(manualPlanId(name) ?? '', clock.now());
    if (stored !== undefined) wanted.set(name, stored);
  }

  /** Ends the campaign of a plan that is over, also in a halt: nothing will be sent there. */
  async #end(campaign: Campaign): Promise<void> {
    const { ledger, conditions, inStep, verdicts } = this.#deps;
    await verdicts.run(async () => {
      const ended = await ledger.changeCampaign(campaign, (present) =>
        present === undefined || inStep.has(groupKey(present)) ? undefined : { ...present, state: 'ended' },
      );
      if (ended !== undefined) conditions.resolve(haltKey(campaign.policy, campaign.group));
    });
  }

  /** Lifts the pauses of plans that are over. An undecided plan keeps its pause: it can be applied at any time. */
  async #liftPauses(pauses: readonly Pause[], wanted: ReadonlyMap<string, StoredPlan>): Promise<void> {
    const { authority, ledger, clock } = this.#deps;
    for (const { scope } of pauses) {
      const name = scope.replace(/^policy\//, '');
      const id = manualPlanId(name);
      if (scope !== policyScope(name) || id === undefined || wanted.has(name)) continue;
      const { state } = (await ledger.storedPlan(id, clock.now())) ?? {};
      if (state === 'draft' || state === 'pending' || state === 'approved') continue;
      await authority.unpause({ scope, reason: 'the manual plan is over', by: 'engine' });
    }
  }
}

/** Names of the manual plans with an action whose outcome is open. */
function unsettledOf(open: readonly ActionRecord[]): ReadonlySet<string> {
  return new Set(open.map(({ proposal }) => proposal.policy).filter((name) => manualPlanId(name) !== undefined));
}
