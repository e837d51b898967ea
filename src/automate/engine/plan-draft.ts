/** A plan while it is made: what every action's plan has, and the hash that binds what is done to what was shown. */
import { createHash } from 'node:crypto';
import type { Denial, Plan, PlanState, PolicyMode, Proposal, Trigger } from '#foundation/domain/plan.ts';
import type { PolicyMemory } from '../ledger/runs.ts';
import type { Policy } from '../policies/policy.ts';
import { selectionOf, type PruneBound } from './prune-grant.ts';
import { Tally } from './tally.ts';

/** What is known before anything is read. */
export interface PlanContext {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly trigger: Trigger;
  readonly effectiveMode: PolicyMode;
  readonly overruled?: Plan['overruled'];
  /** Targets that a person approved: nothing else may be chosen. */
  readonly only?: ReadonlySet<string>;
  /** What a person approved of a prune. */
  readonly prune?: PruneBound;
  /** An entry whose own denial is wanted, by its dlqId. */
  readonly watched?: string;
  /** Why an earlier stage holds the run already; what it would do is shown all the same. */
  readonly stopped?: Denial;
  readonly signal: AbortSignal;
}

/** Readings that agree. Times are epoch milliseconds. */
export type Readings = NonNullable<ReturnType<PolicyMemory['condition']>>;

/** A plan, and what was found on the way to it. */
export interface Decision {
  readonly plan: Plan;
  /** Everything that the guards of entries allow: what an approval of this plan covers. */
  readonly targets: readonly string[];
  readonly tally: Tally;
  /** Entries that `select` and `where` mean, before guards: for what is counted from the first match on. */
  readonly meant?: readonly string[];
  /**
   * Readings in a row that met the condition of a policy without entries, where this one changed them; `none` where it
   * did not meet it.
   */
  readonly readings?: Readings | 'none';
}

/** Most acts that a plan shows of those that do not go now. */
const MOST_WAITING = 50;

/** Returns what a plan shows of the acts that do not go now. */
export function waitingOf(allowed: readonly Proposal[], chosen: readonly Proposal[]): Pick<Plan, 'waiting'> {
  const going = new Set(chosen.map(({ target }) => target));
  const waiting: Proposal[] = [];
  for (const proposal of allowed) {
    if (waiting.length === MOST_WAITING) break;
    if (!going.has(proposal.target)) waiting.push(proposal);
  }
  return waiting.length === 0 ? {} : { waiting };
}

export class Draft {
  readonly tally: Tally;
  readonly checks: { guard: string; passed: boolean; reason: string }[] = [];
  readonly notes: string[] = [];
  readonly #policy: Policy;
  readonly #context: PlanContext;
  /** The first guard that held the whole run. */
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

  hold(denial: Denial): void {
    this.stopped ??= denial;
  }

  /** @param targets what an approval would cover; default: what is chosen */
  finish(over: Partial<Plan> & { readonly state?: PlanState }, targets?: readonly string[]): Decision {
    const policy = this.#policy;
    const { at, trigger, effectiveMode, overruled } = this.#context;
    const chosen = over.chosen ?? [];
    const covered = targets ?? chosen.map(({ target }) => target);
    const hash = hashOf(policy, chosen, covered, overruled);
    const state: PlanState = this.stopped !== undefined ? 'held' : chosen.length > 0 ? 'changes' : 'nothing';
    const plan: Plan = {
      id: hash.slice(0, 6),
      hash,
      policy: policy.name,
      account: policy.account,
      action: policy.action.type,
      source: policy.source,
      at,
      trigger,
      mode: policy.mode,
      effectiveMode,
      checks: this.checks,
      selected: 0,
      matched: 0,
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

  /** What was read cannot be trusted: zero acts. */
  abort(stopped: Denial, over: Partial<Plan> = {}): Decision {
    this.stopped = stopped;
    return this.finish({ ...over, state: 'aborted', chosen: [] });
  }
}

/** What is done is bound to what was shown: the same acts under the same limits. */
function hashOf(
  policy: Policy,
  chosen: readonly Proposal[],
  targets: readonly string[],
  overruled: Plan['overruled'],
): string {
  const hash = createHash('sha256').update(`${policy.name}\0${policy.account}\0${policy.action.type}`);
  hash.update(`\0${JSON.stringify(overruled?.settings ?? {})}`);
  // A person approves ids and amounts. A step's size is not among them: it changes with what is verified.
  for (const target of [...targets].sort()) hash.update(`\0${target}`);
  for (const act of chosen) {
    if (act.action === 'budget.raise') hash.update(`\0${act.fromUsd}\0${act.toUsd}`);
    if (act.action === 'message-dlq.prune') hash.update(`\0${act.items}\0${selectionOf(act.filter)}`);
  }
  return hash.digest('hex');
}
