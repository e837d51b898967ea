/** Plans that an operator requests: what a run would do now. Nothing is sent. */
import { allowedOf, type Plan } from '#foundation/domain/plan.ts';
import type { PlanRequest } from '../../ledger/commands.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import type { Policy } from '../../policies/policy.ts';
import { decide } from '../decide/decide.ts';
import type { Decision, PlanContext } from '../decide/plan-draft.ts';
import { clockDenial, hearClock } from '../guard/checks.ts';
import { contextOf, type RunDeps } from '../run/run-policy.ts';

/** Milliseconds during which a kept plan can be applied. */
const SHOWN_FOR_MS = 3_600_000;

/** Makes a plan of a policy, and keeps it if requested. */
export async function makePlan(
  found: Policy,
  request: PlanRequest,
  deps: RunDeps,
  signal: AbortSignal,
): Promise<{ readonly ok: true; readonly plan: Plan; readonly missing?: readonly string[] }> {
  await hearClock(found.account, deps, signal);
  const at = deps.clock.now();
  const decided = await decideNow(found, { at, signal, overruled: request.overrule }, deps);
  signal.throwIfAborted();
  const { missing } = decided;
  const stored = await storedFor(found, decided, { request, at }, deps);
  const plan = stored === undefined ? decided.plan : { ...decided.plan, id: stored.plan.id };
  return { ok: true, plan, missing };
}

/**
 * Returns true if an apply of the plan would send something once its overruled settling steps are judged. Nothing is
 * changed: a plan that a guard holds keeps its steps as they are.
 */
export async function wouldAct(
  found: Policy,
  { plan: { overruled }, targets }: StoredPlan,
  deps: RunDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const bound = { only: new Set(targets), overruled, assumesJudged: true };
  const { plan } = await decideNow(found, { at: deps.clock.now(), signal, ...bound }, deps);
  return plan.state === 'changes';
}

async function decideNow(
  found: Policy,
  { at, signal, ...over }: Pick<PlanContext, 'at' | 'signal' | 'overruled' | 'only' | 'assumesJudged'>,
  deps: RunDeps,
): Promise<Decision> {
  const context = await contextOf(found, { at, trigger: { kind: 'hand' }, signal }, deps);
  return decide(found, { ...context, ...over }, deps);
}

/** Keeps a plan if that is requested. Else returns the undecided plan with the same content, if there is one. */
async function storedFor(
  found: Policy,
  { plan, targets }: Decision,
  { request, at }: { readonly request: PlanRequest; readonly at: number },
  deps: RunDeps,
): Promise<StoredPlan | undefined> {
  // A plan kept with a wrong time could be applied for too long.
  if (request.keep && allowedOf(plan) > 0 && clockDenial(found.account, deps) === undefined) {
    const { by, overrule } = request;
    const reason = found.manual?.reason ?? overrule?.reason;
    const expiresAt = at + SHOWN_FOR_MS;
    return deps.ledger.savePlan({ plan, targets, savedAt: at, expiresAt, state: 'draft', by, reason });
  }
  const known = await deps.ledger.storedPlan(plan.hash, at);
  return known !== undefined && UNDONE.includes(known.state) ? known : undefined;
}

/** States of a plan that can still be applied. */
export const UNDONE: readonly StoredPlan['state'][] = ['draft', 'pending', 'approved'];
