/** Readings of the engine for metrics, apart from the policies, taken at once. */
import { DEPLOY_ARMS_MS } from '#foundation/domain/deploy.ts';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { CapLimit } from '../ledger/intents.ts';
import { capLimits, capUse, type PolicyLimit } from './decide/caps.ts';
import type { EngineDeps } from './facts/engine-deps.ts';
import { policyScope } from './guard/authority.ts';
import type { EngineParts } from './guard/engine-parts.ts';

export async function readEngine(deps: EngineParts, ledger: EngineDeps['ledger']): Promise<EngineReadings> {
  const { authority, clock, policies } = deps;
  const scopes = ['engine', ...policies.map(({ name }) => policyScope(name))];
  const accounts = [...deps.accounts.keys()];
  const [lost, unknown, pending, oldestIntentAt, caps, paused, deploys] = await Promise.all([
    ledger.leaseLost(...accounts),
    ledger.unknownOutcomes(),
    ledger.storedPlans(['pending'], clock.now()),
    ledger.oldestOpenAt(),
    capsOf(deps, ledger),
    authority.arePaused(scopes, ledger),
    ledger.deploys(accounts, clock.now() - DEPLOY_ARMS_MS),
  ]);
  return {
    unknownOutcomes: unknown.values().reduce((sum, count) => sum + count, 0),
    oldestIntentAt,
    deploys: deploys.filter(({ isRollback }) => !isRollback),
    approvals: pending.map(({ plan: { account, policy }, savedAt }) => ({ account, policy, since: savedAt })),
    caps,
    paused,
    isLeader: lost === undefined,
  };
}

/** Caps, each one once: those of account and engine apply to many policies. */
async function capsOf(deps: EngineDeps, ledger: EngineDeps['ledger']): Promise<EngineReadings['caps']> {
  const now = deps.clock.now();
  const wanted = new Map<string, PolicyLimit & { readonly name: string }>();
  for (const policy of deps.policies) {
    if (policy.mode === 'off') continue;
    for (const limit of capLimits(policy, now, deps)) {
      const name = nameOf(policy, limit);
      wanted.set(JSON.stringify([name, limit]), { policy, limit, name });
    }
  }
  const limits = [...wanted.values()];
  const caps = (await capUse(limits, ledger, now)).map(({ scope, window, used }, index) => {
    const { limit, name } = limits[index]!;
    return { scope: scope.replace(limit.scope, name), window, remaining: Math.max(0, limit.limit - used) };
  });
  // If two policies have different prices, the smaller remainder of the spend cap is shown.
  const shown = new Map<string, EngineReadings['caps'][number]>();
  for (const cap of caps) {
    const key = `${cap.scope}\0${cap.window}`;
    const other = shown.get(key);
    if (other === undefined || cap.remaining < other.remaining) shown.set(key, cap);
  }
  return [...shown.values()];
}

function nameOf({ name, account }: PolicyLimit['policy'], { scope }: CapLimit): string {
  if (scope === 'engine') return scope;
  return scope === 'account' ? `account/${account}` : policyScope(name);
}
