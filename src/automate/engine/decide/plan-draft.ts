/**
 * Plan under construction: the common part of every action's plan, and the hash that binds the actions to the shown
 * plan.
 */
import { createHash } from 'node:crypto';
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import type { Denial, Plan, PlanState, PolicyMode, Proposal, Trigger } from '#foundation/domain/plan.ts';
import type { Readings } from '../../ledger/runs.ts';
import type { Policy } from '../../policies/policy.ts';
import { selectionOf, type PruneBound } from './prune-grant.ts';
import { Tally } from './tally.ts';

/** Input of a decision, before anything is read. */
export interface PlanContext {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly trigger: Trigger;
  readonly effectiveMode: PolicyMode;
  readonly overruled?: Plan['overruled'];
  /** Targets that an operator approved. Nothing else may be chosen. */
  readonly only?: ReadonlySet<string>;
  /** Approved bound of a prune. */
  readonly prune?: PruneBound;
  /** dlqId of an entry whose own denial is required. */
  readonly watched?: string;
  /** True if a step whose overruled settling has passed counts as judged. */
  readonly assumesJudged?: boolean;
  /** Denial by an earlier stage. The plan still shows what the run would do. */
  readonly stopped?: Denial;
  readonly signal: AbortSignal;
}

/** Plan, with the findings that led to it. */
export interface Decision {
  readonly plan: Plan;
  /** Every target that the entry guards allow. An approval of the plan covers these targets. */
  readonly targets: readonly string[];
  readonly tally: Tally;
  /** Entries that `select` and `where` match, before the guards. Grace periods start at the first match. */
  readonly meant?: readonly string[];
  /** Selected ids of a manual plan that are not in the DLQ, or do not meet its filters. */
  readonly missing?: readonly string[];
  /**
   * Series of readings that met the condition of a policy without entries, if this run changed it; `none` if the
   * condition was not met.
   */
  readonly readings?: Readings | 'none';
}

/** Maximum number of missing ids that a note names. */
const MOST_NAMED = 10;

/** Maximum number of waiting actions in a plan. */
const MOST_DEFERRED = 50;

/** Returns the allowed actions that are not in this run, up to the maximum. */
export function deferredOf(allowed: Iterable<Proposal>, chosen: readonly Proposal[]): Pick<Plan, 'deferred'> {
  const going = new Set(chosen.map(({ target }) => target));
  const deferred: Proposal[] = [];
  for (const proposal of allowed) {
    if (deferred.length === MOST_DEFERRED) break;
    if (!going.has(proposal.target)) deferred.push(proposal);
  }
  return deferred.length === 0 ? {} : { deferred };
}

export class Draft {
  readonly tally: Tally;
  readonly checks: { guard: string; passed: boolean; reason: string }[] = [];
  readonly notes: string[] = [];
  readonly #policy: Policy;
  readonly #context: PlanContext;
  /** First guard that held the whole run. */
  stopped: Denial | undefined;
  needsApproval: Denial | undefined;

  constructor(policy: Policy, context: PlanContext) {
    this.#policy = policy;
    this.#context = context;
    this.tally = new Tally(context.watched);
    this.stopped = context.stopped;
  }

  get overruled(): Plan['overruled'] {
    return this.#context.overruled;
  }

  get assumesJudged(): boolean {
    return this.#context.assumesJudged === true;
  }

  /** Notes selected ids that are not there; the plan leaves them out. */
  noteMissing(ids: readonly string[], place: string): void {
    if (ids.length === 0) return;
    const more = ids.length > MOST_NAMED ? `, and ${ids.length - MOST_NAMED} more` : '';
    const one = ids.length === 1 ? 'id is' : 'ids are';
    const named = ids.slice(0, MOST_NAMED).map((id) => id.slice(0, 100));
    this.notes.push(`${ids.length} selected ${one} not in ${place} under these filters: ${named.join(', ')}${more}.`);
  }

  hold(denial: Denial): void {
    this.stopped ??= denial;
  }

  /** @param targets targets that an approval covers; default: the chosen ones */
  finish(over: Partial<Plan> & { readonly state?: PlanState }, targets?: readonly string[]): Decision {
    const policy = this.#policy;
    const { at, trigger, effectiveMode, overruled } = this.#context;
    const chosen = over.chosen ?? [];
    const covered = targets ?? chosen.map(({ target }) => target);
    const bound = hashOf(policy, chosen, covered, overruled);
    const manual = manualPlanId(policy.name);
    const hash = manual === undefined ? bound : `${manual}${bound.slice(manual.length)}`;
    const state: PlanState = this.stopped !== undefined ? 'held' : chosen.length > 0 ? 'changes' : 'nothing_to_do';
    const plan: Plan = {
      hash,
      policy: policy.name,
      account: policy.account,
      action: policy.action.type,
      source: policy.source,
      at,
      trigger,
      ...(policy.manual !== undefined && { manual: policy.manual }),
      mode: policy.mode,
      effectiveMode,
      checks: this.checks,
      chosen: [],
      backlog: 0,
      skipped: this.tally.rows(),
      evaluationErrors: 0,
      campaigns: [],
      caps: [],
      notes: this.notes,
      state,
      ...(this.stopped !== undefined && { stopped: this.stopped }),
      ...(this.needsApproval !== undefined && { needsApproval: this.needsApproval }),
      ...(overruled !== undefined && { overruled }),
      ...over,
    };
    return { plan, targets: covered, tally: this.tally };
  }

  /** Aborts: the read data cannot be trusted, so no action is chosen. */
  abort(stopped: Denial, over: Partial<Plan> = {}): Decision {
    this.stopped = stopped;
    return this.finish({ ...over, state: 'aborted', chosen: [] });
  }
}

/** Hash that binds the actions to the shown plan: the same actions under the same limits. */
function hashOf(
  policy: Policy,
  chosen: readonly Proposal[],
  targets: readonly string[],
  overruled: Plan['overruled'],
): string {
  const hash = createHash('sha256').update(`${policy.name}\0${policy.account}\0${policy.action.type}`);
  hash.update(`\0${JSON.stringify(overruled?.settings ?? {})}`);
  // An operator approves ids and amounts, but not the size of a step, which changes with verified results.
  for (const target of [...targets].sort()) hash.update(`\0${target}`);
  for (const act of chosen) {
    if (act.action === 'budget.raise') hash.update(`\0${act.fromUsd}\0${act.toUsd}`);
    if (act.action === 'message-dlq.prune') hash.update(`\0${act.items}\0${selectionOf(act.filter)}`);
  }
  return hash.digest('hex');
}
