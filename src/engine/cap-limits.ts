/** The caps that hold for a policy's acts: its own and the engine's, over sliding hours and days. */
import type { Plan } from '../domain/plan.ts';
import type { CapLimit, Ledger } from '../ledger/ledger.ts';
import type { Policy } from '../policies/policy.ts';
import type { EngineSettings } from '../policies/settings.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export function capLimits(policy: Policy, settings: EngineSettings): readonly CapLimit[] {
  const { maxPerHour, maxPerDay } = policy.settings.limits;
  return [
    { scope: 'policy', windowMs: HOUR_MS, limit: maxPerHour },
    { scope: 'policy', windowMs: DAY_MS, limit: maxPerDay },
    { scope: 'engine', windowMs: HOUR_MS, limit: settings.caps.perHour },
    { scope: 'engine', windowMs: DAY_MS, limit: settings.caps.perDay },
  ];
}

/** How much of each cap is taken at `now` (epoch milliseconds). */
export function capUse(policy: Policy, settings: EngineSettings, ledger: Ledger, now: number): Plan['caps'] {
  return capLimits(policy, settings).map(({ scope, windowMs, limit }) => ({
    scope,
    window: windowMs === HOUR_MS ? 'hour' : 'day',
    used: ledger.used(scope === 'policy' ? { policy: policy.name } : {}, now - windowMs),
    limit,
  }));
}
