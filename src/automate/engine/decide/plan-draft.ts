/**
 * Plan under construction: the common part of every action's plan, and the hash that binds the actions to the shown
 * plan.
 */
import { createHash } from 'node:crypto';
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import type { Denial, Plan, PlanState, PolicyMode, Proposal, Trigger } from '#foundation/domain/plan.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import type { AgreeingReadings, PolicyVersion } from '../../ledger/runs.ts';
import type { Policy } from '../../policies/policy.ts';
import type { KnownCampaigns } from './campaigns.ts';
import { filterText, type PruneBound } from './prune-grant.ts';

/** State of the ledger at the start of a decision, at one moment. Each change of it is checked again when it is made. */
interface Known extends Pick<Plan, 'caps'> {
  readonly campaigns: KnownCampaigns;
  readonly version: PolicyVersion | undefined;
  /** Pending plans of all policies. */
  readonly pending: readonly StoredPlan[];
}

/** Input of a decision, before the service is read. */
export interface PlanContext {
  readonly known: Known;
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
  readonly readings?: AgreeingReadings | 'none';
}

/**
 * Maximum number of reasons. Others can write a part of a reason (a stamp's instance), so further reasons are counted
 * together.
 */
const MAX_REASONS = 200;

/** Denied entries, counted by guard and reason. */
export class Tally {
  readonly #rows = new Map<string, { guard: string; reason: string; count: number; until: number }>();
  readonly #watched: string | undefined;
  /** Entries whose denial ends by itself. */
  readonly waiting = new Set<string>();
  /** Denial of the watched entry. */
  watchedDenial: Denial | undefined;

  /** @param watched dlqId of an entry whose own denial is required */
  constructor(watched?: string) {
    this.#watched = watched;
  }

  /** @param until epoch milliseconds when the reason ends */
  add(
    guard: string,
    reason: string,
    { dlqId, until = Infinity }: { readonly dlqId?: string; readonly until?: number } = {},
  ): void {
    if (dlqId !== undefined && dlqId === this.#watched)
      this.watchedDenial = { guard, reason: withUntil(reason, until) };
    if (dlqId !== undefined && until !== Infinity) this.waiting.add(dlqId);
    const full = this.#rows.size >= MAX_REASONS && !this.#rows.has(`${guard}\0${reason}`);
    const shown = full ? 'other' : reason;
    const key = `${guard}\0${shown}`;
    const row = getOrAdd(this.#rows, key, () => ({ guard, reason: shown, count: 0, until: Infinity }));
    row.count++;
    row.until = Math.min(row.until, until);
  }

  rows(): Plan['skipped'] {
    return [...this.#rows.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ guard, reason, count, until }) => ({ guard, reason: withUntil(reason, until), count }));
  }
}

function withUntil(reason: string, until: number): string {
  return until === Infinity ? reason : `${reason}, next ${new Date(until).toISOString().slice(0, 16)}Z`;
}

/** Maximum number of missing ids that a note names. */
const MOST_NAMED = 10;

/** Maximum number of waiting actions in a plan. */
const MOST_DEFERRED = 50;

/** Returns the allowed actions that are not in this run, up to the maximum. */
export function deferredOf<P extends Proposal>(allowed: Iterable<P>, chosen: readonly P[]): readonly P[] | undefined {
  const going = new Set(chosen.map(({ target }) => target));
  const deferred: P[] = [];
  for (const proposal of allowed) {
    if (deferred.length === MOST_DEFERRED) break;
    if (!going.has(proposal.target)) deferred.push(proposal);
  }
  return deferred.length === 0 ? undefined : deferred;
}

export class PlanDraft {
  readonly tally: Tally;
  readonly checks: { guard: string; passed: boolean; reason: string }[] = [];
  readonly notes: string[] = [];
  readonly context: Omit<PlanContext, 'known'>;
  readonly #policy: Policy;
  /** First guard that held the whole run. */
  stopped: Denial | undefined;
  needsApproval: Denial | undefined;

  constructor(policy: Policy, context: Omit<PlanContext, 'known'>) {
    this.#policy = policy;
    this.context = context;
    this.tally = new Tally(context.watched);
    this.stopped = context.stopped;
  }

  /** Notes the selected ids of a manual plan that are not there; the plan leaves them out. @returns them */
  missingFrom(known: readonly { readonly dlqId: string }[], place: string): readonly string[] {
    const selected = this.#policy.manual?.selection.ids ?? [];
    if (selected.length === 0) return selected;
    const all = new Set(known.map(({ dlqId }) => dlqId));
    const ids = selected.filter((id) => !all.has(id));
    if (ids.length === 0) return ids;
    const more = ids.length > MOST_NAMED ? `, and ${ids.length - MOST_NAMED} more` : '';
    const one = ids.length === 1 ? 'id is' : 'ids are';
    const named = ids.slice(0, MOST_NAMED).map((id) => id.slice(0, 100));
    this.notes.push(`${ids.length} selected ${one} not in ${place} under these filters: ${named.join(', ')}${more}.`);
    return ids;
  }

  hold(denial: Denial): void {
    this.stopped ??= denial;
  }

  /** @param targets targets that an approval covers; default: the chosen ones */
  finish(over: Partial<Plan> & { readonly state?: PlanState }, targets?: readonly string[]): Decision {
    const policy = this.#policy;
    const { at, trigger, effectiveMode, overruled } = this.context;
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
      manual: policy.manual,
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
      stopped: this.stopped,
      needsApproval: this.needsApproval,
      overruled,
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
  if (targets.length > 0) hash.update('\0').update(targets.toSorted().join('\0'));
  for (const act of chosen) {
    if (act.action === 'budget.raise') hash.update(`\0${act.fromUsd}\0${act.toUsd}`);
    if (act.action === 'message-dlq.prune') hash.update(`\0${act.items}\0${filterText(act.filter)}`);
  }
  return hash.digest('hex');
}
