/**
 * Plan of a policy that raises the budget when the spend comes close. No operation reads the budget, so it may be
 * unknown.
 */
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { denialBy, type BudgetProposal } from '#foundation/domain/plan.ts';
import { formatAge } from '#foundation/domain/time-text.ts';
import { monthOf, startOfMonth } from '#foundation/domain/utc-month.ts';
import type { RaiseFacts } from '../../guardrails/guard.ts';
import type { BudgetFacts, KnownBudget } from '#foundation/domain/known-budget.ts';
import type { BudgetPolicy } from '../../policies/policy.ts';
import type { AgreeingReadings } from '../../ledger/runs.ts';
import { guardsAt } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { withinCaps } from './caps.ts';
import { PlanDraft, type Decision, type PlanContext } from './plan-draft.ts';

const MAX_BUDGET_USD = 10_000;

export async function decideBudget(policy: BudgetPolicy, context: PlanContext, deps: EngineParts): Promise<Decision> {
  const draft = new PlanDraft(policy, context);
  const now = deps.clock.now();
  const { spend, known, doubt } = await deps.facts.budget(policy.account);
  if (known !== undefined) draft.notes.push(knowledge(known, now));
  if (Number.isFinite(spend.hoursLeft)) draft.notes.push(`Hours left at this rate: ${spend.hoursLeft!.toFixed(1)}.`);
  const seen = await deps.ledger.condition(policy.name);
  if (known !== undefined && spend.fresh) {
    const verdict = policy.where.evaluate({ spend, budget: known }, context.trigger);
    if (verdict !== 'match') {
      const nothing = draft.finish({ matched: 0, evaluationErrors: verdict === 'error' ? 1 : 0 });
      return { ...nothing, readings: seen && 'none' };
    }
  }
  const apart = apartOf(policy, spend);
  const readings = counted(seen, spend.at ?? now, apart);
  // Unknown data neither breaks a series of readings nor adds one.
  const met = known !== undefined && spend.fresh && readings !== seen ? { readings } : {};
  const toUsd = known === undefined ? undefined : raised(policy, known.knownUsd);
  const raises = await deps.ledger.raises(policy.account, sinceMonth(now));
  const facts: RaiseFacts = {
    spend,
    known,
    toUsd,
    doubt,
    unconfirmed: unconfirmed(policy, readings, apart),
    ceilingUsd: policy.action.ceilingUsd,
    monthEndsAt: startOfMonth(monthOf(now - CLOCK_MARGIN_MS) + 1) + CLOCK_MARGIN_MS,
    raisesThisMonth: raises.length,
    raisedThisMonthUsd: raises.reduce((sum, raise) => sum + raise.toUsd - raise.fromUsd, 0),
    maxPerMonth: policy.limits.maxPerMonth,
    maxRaisePerMonthUsd: policy.limits.maxRaisePerMonthUsd,
    isApproved: context.only !== undefined,
    now,
  };
  for (const guard of guardsAt(deps.guards, 'budget')) {
    const found = guard.check(facts);
    if (found === undefined) continue;
    const denial = denialBy(guard.name, found.hold);
    if (found.verdict === 'hold') draft.hold(denial);
    else draft.needsApproval ??= denial;
  }
  if (known === undefined || toUsd === undefined || !(toUsd > known.knownUsd)) {
    return { ...draft.finish({ matched: 1, backlog: 1 }), ...met };
  }
  draft.notes.push(absoluteAmount(toUsd));
  const proposal: BudgetProposal = {
    policy: policy.name,
    account: policy.account,
    action: 'budget.raise',
    // The run makes the target unique when it reserves it: another month may set the same amount again.
    target: `budget/${toUsd}`,
    group: '',
    items: 1,
    fromUsd: known.knownUsd,
    toUsd,
  };
  const isApproved = context.only?.has(proposal.target) ?? true;
  if (!isApproved) draft.tally.add('approval', 'not in the approved plan');
  const { caps } = context.known;
  const chosen = withinCaps(policy, isApproved ? [proposal] : [], { draft, caps }, deps);
  const backlog = isApproved ? 1 - chosen.length : 0;
  return { ...draft.finish({ matched: 1, chosen, backlog, caps }), ...met };
}

/** When the budget is nearly used up, readings may follow each other faster. */
const URGENT_HOURS = 3;
const URGENT_APART_MS = 5 * 60_000;

/** Minimum time between two readings, in milliseconds. */
function apartOf(policy: BudgetPolicy, { hoursLeft = Infinity }: BudgetFacts): number {
  const { apart } = policy.action.confirm;
  return hoursLeft < URGENT_HOURS ? Math.min(apart, URGENT_APART_MS) : apart;
}

/** Series of readings after this one: all in one month, each far enough from the previous one. */
function counted(before: AgreeingReadings | undefined, at: number, apart: number): AgreeingReadings {
  if (before === undefined || monthOf(before.since) !== monthOf(at)) return { since: at, last: at, readings: 1 };
  if (at - before.last < apart) return before;
  return { since: before.since, last: at, readings: before.readings + 1 };
}

/** Returns the readings so far, if more are required. */
function unconfirmed(
  policy: BudgetPolicy,
  { readings, last }: AgreeingReadings,
  apart: number,
): RaiseFacts['unconfirmed'] {
  const { readings: needed } = policy.action.confirm;
  if (readings >= needed) return undefined;
  const until = last + apart * (needed - readings);
  return { readings, needed, apart: formatDuration(apart), windowMs: apart * (needed - 1), until };
}

/** Start of the month for counting raises. Near a new month, when the clocks may disagree, both months count. */
function sinceMonth(now: number): number {
  return startOfMonth(monthOf(now - CLOCK_MARGIN_MS)) - CLOCK_MARGIN_MS;
}

/** Note that an operator must read before approving a raise. */
export function absoluteAmount(toUsd: number): string {
  return `The request sets the budget to $${toUsd}, whatever its current value: a higher budget set elsewhere would be lowered.`;
}

/** Next budget: one step up, rounded, at most the ceiling of the policy and of the service. */
function raised(policy: BudgetPolicy, fromUsd: number): number {
  const { step, ceilingUsd } = policy.action;
  const by = step.usd ?? (fromUsd * (step.percent ?? 0)) / 100;
  const rounded = Math.ceil((fromUsd + by) / step.roundUpTo) * step.roundUpTo;
  return Math.min(rounded, ceilingUsd, MAX_BUDGET_USD);
}

function knowledge({ knownUsd, origin, assertedAt }: KnownBudget, now: number): string {
  const from = { configuration: 'asserted in the configuration', ledger: 'set by this daemon' };
  return `The known budget is $${knownUsd}: ${from[origin]}, ${formatAge(Math.min(assertedAt, now), now)}.`;
}
