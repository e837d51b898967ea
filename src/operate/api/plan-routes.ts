/** Routes that make plans, and the decisions about them. */
import { selectionFault } from '#foundation/domain/selection.ts';
import type { Decided, Planned } from '#automate/ledger/commands.ts';
import { MAX_MESSAGE_BYTES } from '../contract/parameters.ts';
import * as plans from '../contract/plans.ts';
import { checkBody, readValue } from '../http/json-body.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiDeps, ApiRoute } from './api-deps.ts';
import { editedSelection } from './edited-message.ts';
import { implement, refusedError, type Given } from './implement.ts';
import { storedPlanView } from './stored-plans.ts';

export const PLAN_ROUTES: readonly ApiRoute[] = [
  implement(plans.postPlan, async (given) => {
    const body = await readValue(given.request, plans.PLAN_FORM, MAX_MESSAGE_BYTES);
    const isManual = typeof body === 'object' && body !== null && 'selection' in body;
    const made = await (isManual ? manualPlan(given, body) : policyPlan(given, body));
    if (!made.ok) throw refusedError(made);
    return made.plan;
  }),
  implement(plans.postCancel, async ({ deps, body, by }) =>
    decided(await deps.engine.cancel(body.plan, { by, reason: body.reason })),
  ),
  implement(plans.postApply, async ({ deps, body, by, signal }) => {
    const done = await deps.engine.apply(body.plan, { by, reason: body.reason }, signal);
    if (!done.ok) throw refusedError(done);
    const { outcome, matched, acted, backlog, detail, stopped } = done.result;
    return { plan: done.plan, result: { outcome, matched, acted, backlog, detail, stopped } };
  }),
  implement(plans.postApprove, async ({ deps, body, by }) =>
    decided(await deps.engine.approve(body.plan, { by, reason: body.reason }), deps),
  ),
  implement(plans.postReject, async ({ deps, body, by }) =>
    decided(await deps.engine.reject(body.plan, { by, reason: body.reason }), deps),
  ),
];

/** The plan with its new state. */
function decided(result: Decided, deps?: Pick<ApiDeps, 'engine'>) {
  if (!result.ok) throw refusedError(result);
  return { plan: storedPlanView(result.plan, deps?.engine.conditions()) };
}

type PlanRequest = Given<typeof plans.postPlan>;

function policyPlan({ deps, by, signal }: PlanRequest, body: unknown): Promise<Planned> {
  const { policy, ...options } = checkBody(body, plans.planBody, plans.PLAN_FORM);
  return deps.engine.plan(policy, { by, ...options }, signal);
}

/** Makes and saves a manual plan. */
async function manualPlan({ deps, by, signal }: PlanRequest, body: unknown): Promise<Planned> {
  const asked = checkBody(body, plans.manualBody, plans.MANUAL_FORM);
  const { selection: given, reason, account = given.account, overrule, edit } = asked;
  if (given.account !== undefined && account !== given.account) {
    throw new HttpError(400, 'bad_selection', `The selection is of account ${given.account}, not of ${account}.`);
  }
  const selection = account === undefined ? given : { ...given, account };
  // The engine checks this again: no caller may select everything.
  const fault = selectionFault(selection, deps.clock.now());
  if (fault !== undefined) throw new HttpError(400, 'bad_selection', `The selection is wrong: ${fault}.`);
  const chosen = edit === undefined ? selection : await editedSelection(deps, selection, edit);
  return deps.engine.planManually({ by, reason, selection: chosen, overrule: overrule?.settings }, signal);
}
