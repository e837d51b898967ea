/** Caps of a policy's actions: its own, its account's and the engine's, over sliding hours and days. */
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import type { ActionType, PlanCap } from '#foundation/domain/plan.ts';
import type { CapLimit } from '../ledger/intents.ts';
import type { Trust } from '../ledger/trust.ts';
import type { Usage } from '../ledger/usage.ts';
import type { Policy } from '../policies/policy.ts';
import type { EngineDeps } from './engine-deps.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

type CapDeps = Pick<EngineDeps, 'settings' | 'facts' | 'accounts' | 'shared'>;

const DELETES: readonly ActionType[] = ['workflow-dlq.delete', 'message-dlq.delete', 'message-dlq.prune'];
const RESUMES: readonly ActionType[] = ['workflow-dlq.resume'];

export function capLimits(policy: Policy, now: number, deps: CapDeps): readonly CapLimit[] {
  const { settings, facts, accounts } = deps;
  const { maxPerHour, maxPerDay } = policy.limits;
  const steadySince = facts.steadySince();
  const over = (windowMs: number) => ({ windowMs, marginMs: now - windowMs < steadySince ? CLOCK_MARGIN_MS : 0 });
  const [hour, day] = [over(HOUR_MS), over(DAY_MS)];
  // Other replicas date the actions of other accounts.
  const margin = deps.shared !== undefined && { marginMs: CLOCK_MARGIN_MS };
  const [engineHour, engineDay] = [
    { ...hour, ...margin },
    { ...day, ...margin },
  ];
  const limits: CapLimit[] = [
    { scope: 'policy', ...hour, limit: maxPerHour },
    { scope: 'policy', ...day, limit: maxPerDay },
  ];
  // A budget is not an entry: only the policy's own limits apply.
  if (policy.action.type === 'budget.raise') return limits;
  limits.push({ scope: 'account', ...hour, limit: settings.caps.perHour });
  limits.push({ scope: 'account', ...day, limit: settings.caps.perDay });
  limits.push({ scope: 'engine', ...engineHour, limit: settings.caps.perHour });
  limits.push({ scope: 'engine', ...engineDay, limit: settings.caps.perDay });
  if (DELETES.includes(policy.action.type)) {
    limits.push({ scope: 'engine', ...engineDay, limit: settings.caps.deletesPerDay, actions: DELETES });
  }
  const price = accounts.get(policy.account)?.priceUsdPer100kMessages;
  if (policy.action.type === 'workflow-dlq.resume' && price !== undefined && price > 0) {
    // Each resumed run is at least one message, and each of its retries is another.
    const each = (price / 100_000) * (1 + (policy.action.retries ?? 0));
    const limit = Math.floor(settings.caps.spendUsdPerDay / each);
    limits.push({ scope: 'engine', ...engineDay, limit, actions: RESUMES });
  }
  return limits;
}

/** Returns the use of each cap at `now` (epoch milliseconds). */
export async function capUse(
  { name, account }: Pick<Policy, 'name' | 'account'>,
  limits: readonly CapLimit[],
  ledger: Trust & Usage,
  now: number,
): Promise<readonly PlanCap[]> {
  const adopt = ledger.mustBeAdopted;
  const why = adopt && { why: `all caps count as used: ${adopt}; \`opsd state adopt --reason TEXT\` ends this state` };
  const used = await ledger.used(
    limits.map(({ scope, windowMs, marginMs = 0, actions }) => ({
      scope: {
        ...(scope === 'policy' && { policy: name }),
        ...(scope === 'account' && { account }),
        ...(actions !== undefined && { actions }),
      },
      since: now - windowMs - marginMs,
    })),
  );
  return limits.map(({ scope, windowMs, limit, actions }, index) => ({
    scope: actions === undefined ? scope : `${scope} ${actions === DELETES ? 'deletes' : 'spend'}`,
    window: windowMs === HOUR_MS ? 'hour' : 'day',
    used: adopt === undefined ? used[index]! : limit,
    limit,
    ...why,
  }));
}

/** Returns the use of all caps of a policy now, for its decision. */
export async function capsOf(policy: Policy, deps: EngineDeps<Trust & Usage>): Promise<readonly PlanCap[]> {
  const now = deps.clock.now();
  return capUse(policy, capLimits(policy, now, deps), deps.ledger, now);
}
