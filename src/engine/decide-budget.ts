/** The plan of a policy that raises the budget when spend comes close. No operation reads the budget: it is known, or not. */
import { formatDuration } from '../domain/duration.ts';
import type { BudgetProposal } from '../domain/plan.ts';
import { monthOf, startOfMonth } from '../domain/utc-month.ts';
import type { BudgetFacts, KnownBudget } from '../policies/facts.ts';
import type { BudgetPolicy } from '../policies/policy.ts';
import { withinCaps } from './choose.ts';
import type { DecideDeps } from './decide.ts';
import { guardsAt } from './guards-at.ts';
import { Draft, type Decision, type PlanContext } from './plan-draft.ts';

const MAX_BUDGET_USD = 10_000;

export async function decideBudget(policy: BudgetPolicy, context: PlanContext, deps: DecideDeps): Promise<Decision> {
  const draft = new Draft(policy, context);
  const now = deps.clock.now();
  const { spend, known } = deps.facts.budget(policy.account);
  if (known !== undefined) draft.notes.push(knowledge(known, now));
  if (Number.isFinite(spend.hoursLeft)) draft.notes.push(`Hours left at this pace: ${spend.hoursLeft!.toFixed(1)}.`);
  if (known !== undefined && spend.fresh) {
    const verdict = policy.where.evaluate({ spend, budget: known }, context.trigger);
    if (verdict !== 'match') {
      const nothing = draft.finish({ evaluationErrors: verdict === 'error' ? 1 : 0 });
      return { ...nothing, condition: { isMet: false, at: spend.at ?? now } };
    }
  }
  // What is not known breaks no row of readings, and adds none.
  const met = known !== undefined && spend.fresh && { condition: { isMet: true, at: spend.at ?? now } };
  const toUsd = known === undefined ? undefined : raised(policy, known.knownUsd);
  const raises = deps.ledger.raises(policy.account, startOfMonth(monthOf(now)));
  const unconfirmed = confirmation(policy, spend, deps, now);
  const { maxPerMonth, maxRaisePerMonthUsd } = policy.limits;
  for (const guard of guardsAt(deps.guards, 'budget')) {
    const found = guard.check({
      spend,
      ...(known !== undefined && { known }),
      ...(toUsd !== undefined && { toUsd }),
      ...(unconfirmed !== undefined && { unconfirmed }),
      ceilingUsd: policy.action.ceilingUsd,
      raisesThisMonth: raises.length,
      raisedThisMonthUsd: raises.reduce((sum, raise) => sum + raise.toUsd - raise.fromUsd, 0),
      ...(maxPerMonth !== undefined && { maxPerMonth }),
      ...(maxRaisePerMonthUsd !== undefined && { maxRaisePerMonthUsd }),
      isApproved: context.only !== undefined,
      now,
    });
    if (found?.verdict === 'hold') draft.hold({ guard: guard.name, reason: found.reason });
    else if (found !== undefined) draft.needsApproval ??= { guard: guard.name, reason: found.reason };
  }
  if (known === undefined || toUsd === undefined || !(toUsd > known.knownUsd)) {
    return { ...draft.finish({ selected: 1, matched: 1, backlog: 1 }), ...met };
  }
  const proposal: BudgetProposal = {
    policy: policy.name,
    account: policy.account,
    action: 'budget.raise',
    // Made unique by the run when it is reserved: the same amount may be set again in another month.
    target: `budget/${toUsd}`,
    group: '',
    worth: 1,
    fromUsd: known.knownUsd,
    toUsd,
  };
  const isApproved = context.only?.has(proposal.target) ?? true;
  if (!isApproved) draft.tally.add('approval', 'not in the approved plan');
  const { chosen, caps } = withinCaps(policy, isApproved ? [proposal] : [], draft, deps);
  const matched = isApproved ? 1 : 0;
  return { ...draft.finish({ selected: 1, matched, chosen, backlog: matched - chosen.length, caps }), ...met };
}

/** Soon out of budget, two readings need not be so far apart. */
const URGENT_HOURS = 3;
const URGENT_APART_MS = 5 * 60_000;

/** Why the readings so far do not suffice: they must be several, apart, and of one month. */
function confirmation(policy: BudgetPolicy, spend: BudgetFacts, deps: DecideDeps, now: number): string | undefined {
  const { readings, apart } = policy.action.confirm;
  const wait = (spend.hoursLeft ?? Infinity) < URGENT_HOURS ? Math.min(apart, URGENT_APART_MS) : apart;
  const seen = deps.ledger.condition(policy.name);
  const isSameMonth = seen !== undefined && monthOf(seen.since) === monthOf(now);
  // This reading counts as one.
  const count = isSameMonth ? seen.readings + (spend.at !== undefined && spend.at > seen.last ? 1 : 0) : 1;
  const since = isSameMonth ? seen.since : now;
  if (count >= readings && now - since >= wait * (readings - 1)) return undefined;
  return `reading ${Math.min(count, readings)} of ${readings}; they must be ${formatDuration(wait)} apart`;
}

/** The next budget: a step up, rounded, never above the ceiling of the policy or of the service. */
function raised(policy: BudgetPolicy, fromUsd: number): number {
  const { step, ceilingUsd } = policy.action;
  const by = step.usd ?? (fromUsd * (step.percent ?? 0)) / 100;
  const rounded = Math.ceil((fromUsd + by) / step.roundUpTo) * step.roundUpTo;
  return Math.min(rounded, ceilingUsd, MAX_BUDGET_USD);
}

function knowledge({ knownUsd, origin, assertedAt }: KnownBudget, now: number): string {
  const from = {
    configuration: 'asserted in the configuration',
    ledger: 'set by this daemon',
    rotation: 'told by a token rotation',
  };
  return `The budget is taken to be $${knownUsd}: ${from[origin]}, ${formatDuration(Math.max(0, now - assertedAt))} ago.`;
}
