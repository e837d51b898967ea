/** Routes that make plans of policies and manual plans, and that cancel a manual plan. */
import { z } from 'zod';
import { MANUAL_ACTIONS, selectionFault, type Selection } from '#foundation/domain/selection.ts';
import { allow } from '../http/access.ts';
import { checkBody, nameField, readJson, readValue, reasonField } from '../http/json-body.ts';
import { HttpError, json, type Reply } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { allowLong, refused } from './refusals.ts';
import { storedPlanView } from './stored-plans.ts';

export const PLAN_ROUTES: readonly ApiRoute[] = [
  { path: '/api/v1/plan', method: 'POST', handle: plan, body: () => z.union([planBody, manualBody]) },
  { path: '/api/v1/cancel', method: 'POST', handle: cancel, body: () => cancelBody },
];

const overruledSettings = z
  .record(z.string(), z.string('must be a string, numbers as well'))
  .refine((settings) => Object.keys(settings).length > 0, 'must name a limit')
  .meta({ minProperties: 1 });

const planBody = z.strictObject({
  policy: nameField('the name of a policy'),
  keep: z.boolean('must be true or false').default(false),
  overrule: z
    .strictObject({ settings: overruledSettings, reason: reasonField() }, 'must be {settings, reason}')
    .exactOptional(),
});

const PLAN_FORM =
  '{"policy": "NAME", "keep": true, "overrule": {"settings": {"limits.maxPerHour": "6000"}, "reason": "TEXT"}}; only policy is required.';

/** Last time that a date can have. */
const MAX_TIME = 8_640_000_000_000_000;

/** A text or a list of texts. */
const texts = z
  .union([z.string(), z.array(z.string())], 'must be a text or a list of texts')
  .transform((value) => (typeof value === 'string' ? [value] : value))
  .exactOptional();
const status = z.int('must be whole numbers');
const time = z
  .int('must be epoch milliseconds')
  .min(0, 'must be epoch milliseconds')
  .max(MAX_TIME, 'must be epoch milliseconds')
  .exactOptional();

const selectionBody = z.strictObject(
  {
    account: nameField('the name of an account').exactOptional(),
    action: z.enum(MANUAL_ACTIONS, `must be one of ${MANUAL_ACTIONS.join(', ')}`),
    queue: z.enum(['workflow', 'message'], 'must be workflow or message').exactOptional(),
    ids: z.array(z.string('must be a text'), 'must be a list of dlqIds').exactOptional(),
    label: texts,
    workflowUrl: texts,
    workflowRunId: texts,
    flowControlKey: texts,
    failureFunctionState: texts,
    callerIp: texts,
    url: texts,
    topicName: texts,
    scheduleId: texts,
    queueName: texts,
    responseStatus: z
      .union([status, z.array(status)], 'must be a status or a list of statuses')
      .transform((value) => (typeof value === 'number' ? [value] : value))
      .exactOptional(),
    fromDate: time,
    toDate: time,
  },
  'must be {action, …}',
);

const manualBody = z.strictObject({
  selection: selectionBody,
  reason: reasonField(),
  account: nameField('the name of an account').exactOptional(),
  /** A manual plan is always kept. */
  keep: z.literal(true, 'must be true').exactOptional(),
  overrule: z.strictObject({ settings: overruledSettings, reason: reasonField().exactOptional() }).exactOptional(),
});

const MANUAL_FORM =
  '{"selection": {"action": "resume", "ids": ["ID"], "label": ["TEXT"], …}, "reason": "TEXT", "account": "NAME", "overrule": {"settings": {"limits.maxPerRun": "50"}}}; account and overrule are optional, and one id or one filter is enough.';

/** Responds with a `Plan` (domain/plan.ts). Reads the service and changes nothing. With `keep`, it is stored and can be applied. */
async function plan(context: ApiContext): Promise<Reply> {
  const { deps, request, signal } = context;
  const { by } = allowLong(context, 'operator', 'opsd plan POLICY');
  const body = await readValue(request, PLAN_FORM);
  if (typeof body === 'object' && body !== null && 'selection' in body) return manualPlan(context, body, by);
  const { policy, keep, overrule } = checkBody(body, planBody, PLAN_FORM);
  const made = await deps.engine.plan(policy, { by, keep, ...(overrule !== undefined && { overrule }) }, signal);
  if (!made.ok) throw refused(made);
  return json(200, made.plan);
}

/** Makes and saves a manual plan. */
async function manualPlan({ deps, signal }: ApiContext, body: unknown, by: string): Promise<Reply> {
  const { selection: given, reason, account, overrule } = checkBody(body, manualBody, MANUAL_FORM);
  const selection: Selection = { ...given, ...(account !== undefined && { account }) };
  if (given.account !== undefined && account !== undefined && given.account !== account) {
    throw new HttpError(400, 'bad_selection', `The selection is of account ${given.account}, not of ${account}.`);
  }
  // The engine checks this again: no caller may select everything.
  const fault = selectionFault(selection, deps.clock.now());
  if (fault !== undefined) throw new HttpError(400, 'bad_selection', `The selection is wrong: ${fault}.`);
  const asked = { by, reason, selection, ...(overrule !== undefined && { overrule: overrule.settings }) };
  const made = await deps.engine.planManually(asked, signal);
  if (!made.ok) throw refused(made);
  return json(200, made.plan);
}

const cancelBody = z.strictObject({ plan: nameField('the id of a plan'), reason: reasonField() });

/** Responds with `{"plan": …}`: the manual plan with its new state. The request in flight finishes. */
async function cancel(context: ApiContext): Promise<Reply> {
  const { by } = allow(context, 'operator', 'opsd cancel PLAN --reason TEXT');
  const { plan: id, reason } = await readJson(context.request, cancelBody, '{"plan": "ID", "reason": "TEXT"}');
  const done = await context.deps.engine.cancel(id, { by, reason });
  if (!done.ok) throw refused(done);
  return json(200, { plan: storedPlanView(done.plan) });
}
