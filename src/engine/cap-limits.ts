/** The caps that hold for a policy's acts: its own, its account's and the engine's, over sliding hours and days. */
import type { ActionType, PlanCap } from '../domain/plan.ts';
import type { CapLimit, Ledger } from '../ledger/ledger.ts';
import type { Policy } from '../policies/policy.ts';
import type { EngineSettings } from '../policies/settings.ts';
import type { AccountTerms } from './engine-deps.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const DELETES: readonly ActionType[] = ['workflow-dlq.delete', 'message-dlq.delete', 'message-dlq.prune'];
const RESUMES: readonly ActionType[] = ['workflow-dlq.resume'];

export function capLimits(policy: Policy, settings: EngineSettings, terms?: AccountTerms): readonly CapLimit[] {
  const { maxPerHour, maxPerDay } = policy.limits;
  const limits: CapLimit[] = [
    { scope: 'policy', windowMs: HOUR_MS, limit: maxPerHour },
    { scope: 'policy', windowMs: DAY_MS, limit: maxPerDay },
  ];
  // A budget is no entry: its own limits are those of the policy.
  if (policy.action.type === 'budget.raise') return limits;
  for (const scope of ['account', 'engine'] as const) {
    limits.push({ scope, windowMs: HOUR_MS, limit: settings.caps.perHour });
    limits.push({ scope, windowMs: DAY_MS, limit: settings.caps.perDay });
  }
  if (DELETES.includes(policy.action.type)) {
    limits.push({ scope: 'engine', windowMs: DAY_MS, limit: settings.caps.deletesPerDay, actions: DELETES });
  }
  const price = terms?.priceUsdPer100kMessages;
  if (policy.action.type === 'workflow-dlq.resume' && price !== undefined && price > 0) {
    // Each resumed run is at least one message, and each of its retries another.
    const each = (price / 100_000) * (1 + (policy.action.retries ?? 0));
    const limit = Math.floor(settings.caps.spendUsdPerDay / each);
    limits.push({ scope: 'engine', windowMs: DAY_MS, limit, actions: RESUMES });
  }
  return limits;
}

/** How much of each cap is taken at `now` (epoch milliseconds). */
export function capUse(policy: Policy, limits: readonly CapLimit[], ledger: Ledger, now: number): readonly PlanCap[] {
  const adopt = ledger.mustBeAdopted;
  const why = adopt && { why: `all count as used: ${adopt}; opsd state adopt --reason TEXT ends it` };
  return limits.map(({ scope, windowMs, limit, actions }) => {
    const of = {
      ...(scope === 'policy' && { policy: policy.name }),
      ...(scope === 'account' && { account: policy.account }),
      ...(actions !== undefined && { actions }),
    };
    return {
      scope: actions === undefined ? scope : `${scope} ${actions === DELETES ? 'deletes' : 'spend'}`,
      window: windowMs === HOUR_MS ? 'hour' : 'day',
      used: adopt === undefined ? ledger.used(of, now - windowMs) : limit,
      limit,
      ...why,
    };
  });
}
