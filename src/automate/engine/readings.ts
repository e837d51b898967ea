/** Readings of the engine for metrics, apart from the policies, taken at once. */
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { CapLimit } from '../ledger/intents.ts';
import { capLimits, capUse } from './decide/caps.ts';
import type { EngineDeps } from './facts/engine-deps.ts';
import { policyScope } from './guard/authority.ts';
import type { EngineParts } from './guard/engine-parts.ts';

export async function readEngine(deps: EngineParts): Promise<EngineReadings> {
  const { authority, clock, ledger, policies } = deps;
  const unknown = await ledger.unknownOutcomes();
  const pending = await ledger.storedPlans(['pending'], clock.now());
  const scopes = ['engine', ...policies.map(({ name }) => policyScope(name))];
  const lost = await ledger.leaseLost(...deps.accounts.keys());
  return {
    unknownOutcomes: unknown.values().reduce((sum, count) => sum + count, 0),
    oldestIntentAt: await ledger.oldestOpenAt(),
    approvals: pending.map(({ plan: { account, policy }, savedAt }) => ({ account, policy, since: savedAt })),
    caps: await capsOf(deps),
    paused: await authority.arePaused(scopes),
    isLeader: lost === undefined,
  };
}

/** Caps, each one once: those of account and engine apply to many policies. */
async function capsOf(deps: EngineDeps): Promise<EngineReadings['caps']> {
  const { policies, ledger } = deps;
  const now = deps.clock.now();
  const caps = new Map<string, EngineReadings['caps'][number]>();
  for (const policy of policies) {
    if (policy.mode === 'off') continue;
    const nameOf = (limit: CapLimit): string => {
      if (limit.scope === 'engine') return 'engine';
      return limit.scope === 'account' ? `account/${policy.account}` : policyScope(policy.name);
    };
    const keyOf = (limit: CapLimit): string => JSON.stringify([nameOf(limit), limit]);
    const limits = capLimits(policy, now, deps).filter((limit) => !caps.has(keyOf(limit)));
    for (const [index, { scope, window, used }] of (await capUse(policy, limits, ledger, now)).entries()) {
      const limit = limits[index]!;
      const remaining = Math.max(0, limit.limit - used);
      caps.set(keyOf(limit), { scope: scope.replace(limit.scope, nameOf(limit)), window, remaining });
    }
  }
  // If two policies have different prices, the smaller remainder of the spend cap is shown.
  const shown = new Map<string, EngineReadings['caps'][number]>();
  for (const cap of caps.values()) {
    const key = `${cap.scope}\0${cap.window}`;
    const other = shown.get(key);
    if (other === undefined || cap.remaining < other.remaining) shown.set(key, cap);
  }
  return [...shown.values()];
}
