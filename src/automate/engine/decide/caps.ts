/** Caps of a policy's actions: its own, its account's and the engine's, over sliding hours and days. */
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import { trendOfAmounts } from '#foundation/domain/hold.ts';
import { denialBy, isRepair, REPAIRS, type ActionType, type PlanCap, type Proposal } from '#foundation/domain/plan.ts';
import type { CapLimit } from '../../ledger/intents.ts';
import type { CapScope } from '../../ledger/usage.ts';
import type { Policy } from '../../policies/policy.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { guardsAt } from '../guard/checks.ts';
import type { PlanDraft } from './plan-draft.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

type CapDeps = Pick<EngineDeps, 'settings' | 'facts' | 'accounts' | 'shared'>;

const DELETES: readonly ActionType[] = ['workflow-dlq.delete', 'message-dlq.delete', 'message-dlq.prune'];

export function capLimits(policy: Policy, now: number, deps: CapDeps): readonly CapLimit[] {
  const { settings, facts, accounts } = deps;
  const { maxPerHour, maxPerDay } = policy.limits;
  const steadySince = facts.steadySince();
  const over = (windowMs: number) => ({ windowMs, marginMs: now - windowMs < steadySince ? CLOCK_MARGIN_MS : 0 });
  const [hour, day] = [over(HOUR_MS), over(DAY_MS)];
  // Other replicas date the actions of other accounts.
  const margin = deps.shared !== undefined && { marginMs: CLOCK_MARGIN_MS };
  const [engineHour, engineDay] = [hour, day].map((one) => ({ ...one, ...margin })) as [typeof hour, typeof day];
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
  if (isRepair(policy.action.type) && price !== undefined && price > 0) {
    // Each repair is at least one message, and each of its retries is another.
    const { retries = 0 } = policy.action as { readonly retries?: number };
    const each = (price / 100_000) * (1 + retries);
    const limit = Math.floor(settings.caps.spendUsdPerDay / each);
    limits.push({ scope: 'engine', ...engineDay, limit, actions: REPAIRS });
  }
  return limits;
}

/** Cap of a policy. */
export interface PolicyLimit {
  readonly policy: Pick<Policy, 'name' | 'account'>;
  readonly limit: CapLimit;
}

/** Returns the use of each cap at `now` (epoch milliseconds). */
export async function capUse(
  caps: readonly PolicyLimit[],
  ledger: Pick<EngineDeps['ledger'], 'used' | 'mustBeAdopted'>,
  now: number,
): Promise<readonly PlanCap[]> {
  const adopt = ledger.mustBeAdopted;
  const why = adopt && { why: `all caps count as used: ${adopt}` };
  const used = await ledger.used(
    caps.map(({ policy, limit }) => ({ scope: scopeOf(policy, limit), since: now - lengthOf(limit) })),
  );
  return caps.map(({ limit: { scope, windowMs, limit, actions } }, index) => ({
    scope: actions === undefined ? scope : `${scope} ${actions === DELETES ? 'deletes' : 'spend'}`,
    window: windowMs === HOUR_MS ? 'hour' : 'day',
    used: adopt === undefined ? used[index]! : limit,
    limit,
    ...why,
  }));
}

/** Returns the use of all caps of a policy now, with the past and the end of the full ones, for its decision. */
export async function capsOf(policy: Policy, deps: EngineDeps): Promise<readonly PlanCap[]> {
  const now = deps.clock.now();
  const limits = capLimits(policy, now, deps);
  const use = await capUse(
    limits.map((limit) => ({ policy, limit })),
    deps.ledger,
    now,
  );
  const caps: PlanCap[] = [];
  for (const [index, cap] of use.entries()) {
    const isFull = cap.why === undefined && cap.used >= cap.limit;
    caps.push(isFull ? { ...cap, ...(await fullSince(policy, { cap, limit: limits[index]!, now }, deps)) } : cap);
  }
  return caps;
}

async function fullSince(
  policy: Policy,
  { cap, limit, now }: { readonly cap: PlanCap; readonly limit: CapLimit; readonly now: number },
  { ledger }: EngineDeps,
): Promise<Pick<PlanCap, 'until' | 'trend'>> {
  const scope = scopeOf(policy, limit);
  const [newer = Number.NaN] = await ledger.used([{ scope, since: now - limit.windowMs / 2 }]);
  // A cap whose limit was lowered since stays full after its oldest action.
  const oldest = cap.used > cap.limit ? undefined : await ledger.oldestAt(scope, now - lengthOf(limit));
  return { trend: trendOfAmounts(cap.used - newer, newer), until: oldest && oldest + lengthOf(limit) };
}

function scopeOf({ name, account }: Pick<Policy, 'name' | 'account'>, { scope, actions }: CapLimit): CapScope {
  return { policy: scope === 'policy' ? name : undefined, account: scope === 'account' ? account : undefined, actions };
}

/** Length of the window of a cap, in milliseconds. */
function lengthOf({ windowMs, marginMs = 0 }: CapLimit): number {
  return windowMs + marginMs;
}

/**
 * Last reduction before a plan: the limit of one run, and what the caps still allow.
 *
 * @param allowed in the order of execution
 * @returns the actions that fit
 */
export function withinCaps<P extends Proposal>(
  policy: Policy,
  allowed: readonly P[],
  { draft, caps }: { readonly draft: PlanDraft; readonly caps: readonly PlanCap[] },
  { guards }: Pick<EngineDeps, 'guards'>,
): readonly P[] {
  const items = allowed.reduce((sum, { items }) => sum + items, 0);
  let room = items;
  for (const guard of guardsAt(guards, 'plan')) {
    const { allowed: count, hold } = guard.check({ matched: items, maxPerRun: policy.limits.maxPerRun, caps });
    room = Math.min(room, count);
    if (hold === undefined) continue;
    if (count === 0) draft.hold(denialBy(guard.name, hold));
    else draft.checks.push({ guard: guard.name, passed: false, reason: `${hold.measured}; ${hold.needed}` });
  }
  const chosen: P[] = [];
  for (const proposal of allowed) {
    // A page may be smaller; an entry is acted on or not.
    const fits = proposal.action === 'message-dlq.prune' ? Math.min(proposal.items, room) : proposal.items;
    if (fits === 0 || fits > room) break;
    room -= fits;
    chosen.push({ ...proposal, items: fits });
  }
  return chosen;
}
