/**
 * Pending plans and approvals. An approval is bound to the plan's hash, covers exactly the actions in the plan, and
 * expires. Each of its actions is done once. A pending plan is replaced only after it is decided, expires, or has
 * nothing left to do: operators decide on the plan that they have read. The engine ends pending plans on which no
 * decision has an effect any more: they would ask for attention until they expire.
 */
import { denialBy, type Denial, type Plan } from '#foundation/domain/plan.ts';
import type { PlanReader, Plans, StoredPlan } from '../../ledger/plans.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import type { Policy, PrunePolicy } from '../../policies/policy.ts';
import type { Decision } from '../decide/plan-draft.ts';
import { isWithinShown, pruneBound, type PruneBound } from '../decide/prune-grant.ts';

/** Approved actions that are not done yet. */
interface Grant {
  /** Ids of the plans that approve them, newest first. */
  readonly plans: readonly [string, ...string[]];
  readonly only: ReadonlySet<string>;
  /** For prunes only. */
  readonly prune?: PruneBound;
}

/** @returns the current grant; undefined if there is none @param approved approved plans of all policies */
export function grantOf(policy: Policy, approved: readonly StoredPlan[], now: number): Grant | undefined {
  const own = approved.filter((stored) => stillShows(stored, policy, now));
  const [newest, ...older] = own;
  if (newest === undefined) return undefined;
  const plans = [newest.plan.id, ...older.map(({ plan }) => plan.id)] as const;
  const prune = pruneBound(newest.plan);
  // Two approved prunes do not add up to a larger one.
  if (prune !== undefined) return { plans, only: new Set(newest.targets), prune };
  return { plans, only: new Set(own.flatMap(({ targets }) => targets)) };
}

/** Reason of a plan that the engine ends as applied. */
export const NOTHING_LEFT = 'nothing of it is left to do';

/**
 * Marks approvals as used. One that came after they were read stays.
 *
 * @returns true if the first one was still valid
 */
export async function useUp(
  [first, ...others]: readonly [string, ...string[]],
  ledger: Plans,
  of: { readonly account: string; readonly at: number; readonly reason: string },
): Promise<boolean> {
  const used = { ...of, state: 'applied', by: 'engine' } as const;
  const wasValid = await ledger.decidePlan(first, used);
  for (const id of others) await ledger.decidePlan(id, used);
  return wasValid;
}

/**
 * Returns true if the policy is still the one of the plan: another policy may have its name now. Ids bind other
 * actions; a prune must not request more than the plan showed.
 */
export function stillShows({ plan }: StoredPlan, policy: Policy, now: number): boolean {
  const isSame = plan.account === policy.account && plan.action === policy.action.type;
  if (!isSame || plan.policy !== policy.name) return false;
  return policy.action.type !== 'message-dlq.prune' || isWithinShown(plan, policy as PrunePolicy, now);
}

/** Returns the objection of the operator who rejected these actions. It holds until the rejected plan would have expired. */
export async function rejectionOf(
  plan: Plan,
  { ledger, now }: { readonly ledger: PlanReader; readonly now: number },
): Promise<Denial | undefined> {
  const rejected = (await ledger.storedPlans(['rejected'], now)).find(
    (stored) => stored.plan.hash === plan.hash && now < stored.expiresAt,
  );
  if (rejected === undefined) return undefined;
  const { expiresAt, by = 'an operator', reason } = rejected;
  return denialBy('approval', {
    measured: `plan ${rejected.plan.id} was rejected by ${by}${reason === undefined ? '' : `: ${reason}`}`,
    needed: 'the same actions are not presented again before it would have expired',
    until: expiresAt,
    remedy: `wait, or make a new plan with \`opsd plan ${plan.policy} --keep\` and approve it`,
  });
}

/**
 * Requests the approval of a plan.
 *
 * @returns the plan that counts now: this one, or an older one that is still pending; the objection of the operator who
 *   rejected it; undefined if an operator decided on a plan since
 */
export async function awaitApproval(
  { plan, targets }: Decision,
  options: { readonly ledger: Plans; readonly now: number; readonly expireAfterMs: number },
): Promise<StoredPlan | Denial | undefined> {
  const { ledger, now, expireAfterMs } = options;
  const rejected = await rejectionOf(plan, options);
  if (rejected !== undefined) return rejected;
  const pending = (await ledger.storedPlans(['pending'], now)).find((stored) => stored.plan.policy === plan.policy);
  if (pending !== undefined && stillMeans(pending, plan, new Set(targets))) return pending;
  if (pending !== undefined) {
    const reason = 'a newer plan has other actions';
    const replacedBy = await ledger.planId(plan, now);
    const replaced = { state: 'replaced', at: now, by: 'engine', reason, replacedBy } as const;
    // An operator has decided on it since: the next run finds the decision.
    if (!(await ledger.decidePlan(pending.plan.id, { ...replaced, account: plan.account }))) return undefined;
  }
  return ledger.savePlan({ plan, targets, savedAt: now, expiresAt: now + expireAfterMs, state: 'pending' });
}

function stillMeans({ plan, targets }: StoredPlan, now: Plan, allowed: ReadonlySet<string>): boolean {
  if (plan.hash === now.hash) return true;
  if (plan.action !== now.action || plan.account !== now.account) return false;
  // Amounts and pages define such plans completely: another amount is another plan.
  if (plan.action === 'budget.raise' || plan.action === 'message-dlq.prune') return false;
  return targets.some((target) => allowed.has(target));
}

/** Ends the pending plans of policies that were removed, or that need no approval or send nothing in their mode. */
export async function endUnwanted(deps: EngineParts): Promise<void> {
  // The configuration is unknown, or the store is not trusted yet: both end without a new decision.
  if (deps.auditOnly?.() !== undefined || deps.ledger.mustBeAdopted !== undefined) return;
  for (const stored of await undecidedPlans(deps)) {
    const reason = unwantedBecause(stored, deps);
    if (reason !== undefined) await end(stored, reason, deps);
  }
}

function unwantedBecause({ plan }: StoredPlan, { byName, authority, shared }: EngineParts): string | undefined {
  const policy = byName.get(plan.policy);
  // Another replica runs the policy, and ends its plans.
  if (policy === undefined && shared?.allPolicies.has(plan.policy) === true) return undefined;
  if (policy?.account !== plan.account || policy.action.type !== plan.action) {
    return `policy ${plan.policy} does not exist any more, or has another action or account`;
  }
  const { mode } = authority.mode(policy);
  if (mode === 'approve' || (mode === 'enforce' && plan.needsApproval !== undefined)) return undefined;
  const now = mode === 'enforce' ? 'its runs act without an approval' : 'its runs send nothing';
  return `policy ${plan.policy} is in mode ${mode}: ${now}`;
}

/**
 * Ends the pending plan of a policy if a complete reading has none of its entries.
 *
 * @param decision decision without an approval, which would hide other entries
 * @param pending pending plans
 */
export async function endEmptied(
  { plan, targets, meant = [], tally }: Decision,
  pending: readonly StoredPlan[],
  deps: EngineParts,
): Promise<void> {
  const isRead = plan.state !== 'aborted' && plan.matched !== undefined && plan.read?.complete !== false;
  // Amounts and pages have no entries.
  if (!isRead || plan.action === 'budget.raise' || plan.action === 'message-dlq.prune') return;
  const left = new Set([...targets, ...meant, ...tally.waiting]);
  for (const stored of pending) {
    if (stored.plan.policy !== plan.policy || stored.targets.some((target) => left.has(target))) continue;
    await end(stored, 'none of its entries is left', deps);
  }
}

/** Returns the pending plans of policies. */
export async function undecidedPlans({
  ledger,
  clock,
}: Pick<EngineParts, 'ledger' | 'clock'>): Promise<readonly StoredPlan[]> {
  return (await ledger.storedPlans(['pending'], clock.now())).filter(({ plan }) => plan.manual === undefined);
}

async function end({ plan }: StoredPlan, reason: string, { ledger, clock }: EngineParts): Promise<void> {
  const { id, account } = plan;
  await ledger.decidePlan(id, { state: 'expired', at: clock.now(), by: 'engine', reason, account });
}
