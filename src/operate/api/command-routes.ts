/**
 * Command routes for operators: apply, approve, reject, explain, pause, unpause, and the commands of the store.
 * Each checks its role before it reads the body. docs/api.md documents them.
 */
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { shownGroup } from '#automate/ledger/shown-group.ts';
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { redact } from '#foundation/domain/redact.ts';
import { unknownPolicy } from '#foundation/domain/unknown-policy.ts';
import { workflowTemplate } from '#observe/metrics/labels.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { allow, allowLocal } from '../http/access.ts';
import { nameField, readJson, reasonField } from '../http/json-body.ts';
import { HttpError, json, type Reply } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { fromStore } from './from-store.ts';
import { PLAN_ROUTES } from './plan-routes.ts';
import { allowLong, refused } from './refusals.ts';
import { actionView } from './run-views.ts';
import { storedPlanView } from './stored-plans.ts';

export const COMMAND_ROUTES: readonly ApiRoute[] = [
  ...PLAN_ROUTES,
  { path: '/api/v1/apply', method: 'POST', handle: apply, body: () => decisionBody },
  {
    path: '/api/v1/approve',
    method: 'POST',
    handle: (context) => decide(context, 'approve'),
    body: () => decisionBody,
  },
  { path: '/api/v1/reject', method: 'POST', handle: (context) => decide(context, 'reject'), body: () => decisionBody },
  { path: '/api/v1/explain', method: 'POST', handle: explain, body: () => explainBody },
  { path: '/api/v1/pause', method: 'POST', handle: pause, body: () => pauseBody },
  { path: '/api/v1/unpause', method: 'POST', handle: unpause, body: () => unpauseBody },
  { path: '/api/v1/state/backup', method: 'POST', handle: backup, body: () => backupBody },
  { path: '/api/v1/state/adopt', method: 'POST', handle: adopt, body: () => adoptBody },
  { path: '/api/v1/state/reset-counter', method: 'POST', handle: resetCounter, body: () => resetBody },
  { path: '/-/reload', method: 'POST', handle: reload },
];

const decisionBody = z.strictObject({ plan: nameField('the id of a plan'), reason: reasonField().exactOptional() });
const DECISION_FORM = '{"plan": "ID", "reason": "TEXT"}; only plan is required.';

async function person({ request }: ApiContext, by: string) {
  const { plan: id, reason } = await readJson(request, decisionBody, DECISION_FORM);
  return { id, person: { by, ...(reason !== undefined && { reason }) } };
}

/**
 * Responds with `{"plan": …, "result": …}`: the shown plan, and the result of its run. Runs until the caller
 * disconnects.
 */
async function apply(context: ApiContext): Promise<Reply> {
  const { by } = allowLong(context, 'operator', 'opsd apply PLAN');
  const asked = await person(context, by);
  const done = await context.deps.engine.apply(asked.id, asked.person, context.signal);
  if (!done.ok) throw refused(done);
  const { outcome, matched, acted, backlog, detail, stopped } = done.result;
  const result = { outcome, matched, acted, backlog, detail, stopped };
  return json(200, { plan: done.plan, result });
}

/** Responds with `{"plan": …}`: the plan with its new state. */
async function decide(context: ApiContext, decision: 'approve' | 'reject'): Promise<Reply> {
  const { by } = allow(context, 'operator', `opsd ${decision} PLAN`);
  const asked = await person(context, by);
  const decided = await context.deps.engine[decision](asked.id, asked.person);
  if (!decided.ok) throw refused(decided);
  return json(200, { plan: storedPlanView(decided.plan, context.deps.engine.conditions()) });
}

const explainBody = z.strictObject({
  id: nameField('a dlqId, or the id of a run or a message').max(400, 'is too long'),
});

/**
 * Responds with the verdict of each policy on an entry, and the earlier actions on it. Reads the service and changes
 * nothing.
 */
async function explain(context: ApiContext): Promise<Reply> {
  allowLong(context, 'viewer', 'opsd explain ID');
  const asked = await readJson(context.request, explainBody, '{"id": "ID"}');
  const explained = await context.deps.engine.explain(asked.id, context.signal);
  if (!explained.ok) throw refused(explained);
  const { id, subject, policies, actions } = explained;
  return json(200, { id, ...(subject && { subject }), policies, actions: actions.map(actionView) });
}

const pauseBody = z.strictObject({ reason: reasonField(), policy: nameField('the name of a policy').exactOptional() });

/**
 * Responds with `{"paused": SCOPE}`. The pause applies before the next request of any run, also after restarts, until
 * an operator lifts it.
 */
async function pause(context: ApiContext): Promise<Reply> {
  const { deps, request } = context;
  const { by } = allow(context, 'operator', 'opsd pause --reason TEXT');
  const form = '{"reason": "TEXT", "policy": "NAME"}; without a policy the whole engine is paused.';
  const { reason, policy } = await readJson(request, pauseBody, form);
  await requirePolicy(deps, policy);
  await deps.engine.pause({ reason, by, ...(policy !== undefined && { policy }) });
  return json(200, { paused: policy === undefined ? 'engine' : `policy/${policy}` });
}

const unpauseBody = z
  .strictObject({
    reason: reasonField(),
    policy: nameField('the name of a policy').exactOptional(),
    group: nameField('a group of the policy').exactOptional(),
  })
  .refine(({ policy, group }) => group === undefined || policy !== undefined, {
    path: ['group'],
    message: 'requires policy: the policy of the group',
  })
  .meta({ dependentRequired: { group: ['policy'] } });

/**
 * Responds with `{"lifted": COUNT, "stillPaused": WHY}`. Without a policy, lifts every pause. With a policy, lifts its
 * own pause and the halts of its groups, or of one group. The kill switch and a pause of the engine can remain.
 */
async function unpause(context: ApiContext): Promise<Reply> {
  const { deps, request } = context;
  const { by } = allow(context, 'admin', 'opsd unpause --reason TEXT');
  const form = '{"reason": "TEXT", "policy": "NAME", "group": "GROUP"}; without a policy every pause is lifted.';
  const { reason, policy, group } = await readJson(request, unpauseBody, form);
  await requirePolicy(deps, policy);
  const lifted = await deps.engine.unpause({
    reason,
    by,
    ...(policy !== undefined && { policy }),
    ...(group !== undefined && { group: await groupNamed(deps, policy!, group) }),
  });
  const stillPaused = await deps.engine.stillPaused(policy);
  return json(200, { lifted, ...(stillPaused !== undefined && { stillPaused }) });
}

/** Rejects an unknown policy: a pause with a typo must not look successful. */
export async function requirePolicy(deps: ApiContext['deps'], name: string | undefined): Promise<void> {
  // A pause of the whole engine must not need the store.
  if (name === undefined) return;
  const known = (await fromStore(() => deps.policies())).map((policy) => policy.name);
  if (known.includes(name) || (await fromStore(() => isManualInProgress(deps, name)))) return;
  throw new HttpError(404, 'unknown_policy', unknownPolicy(name, known));
}

/** Only a manual plan in progress has runs to pause. */
async function isManualInProgress({ ledger, clock }: ApiContext['deps'], name: string): Promise<boolean> {
  const id = manualPlanId(name);
  return id !== undefined && (await ledger.storedPlan(id, clock.now()))?.state === 'approved';
}

/** Group with a name. Pages, notifications, and labels of alerts show groups in other forms, which are accepted as well. */
export async function groupNamed(deps: ApiContext['deps'], policy: string, name: string): Promise<string> {
  const shown = (await deps.policies()).find((one) => one.name === policy)?.campaigns;
  const campaigns = shown ?? (await deps.ledger.campaigns()).filter((campaign) => campaign.policy === policy);
  const groups = campaigns.map(({ group }) => group);
  if (groups.includes(name)) return name;
  const meant = groups.filter((group) => [redact(group), shownGroup(group), workflowTemplate(group)].includes(name));
  if (meant.length === 1) return meant[0]!;
  const which =
    meant.length === 0 ? `has no campaign of ${name.slice(0, 400)}` : `has several groups of this name; omit the group`;
  throw new HttpError(404, 'not_found', `Policy ${policy} ${which}. Groups: ${groups.join(' ')}`);
}

const backupBody = z.strictObject({ file: nameField('an absolute path') });

/** Responds with `{"bytes": COUNT}`: the size of a copy of the store on the daemon's machine. */
async function backup(context: ApiContext): Promise<Reply> {
  const { deps, request } = context;
  allowLocal(context, 'opsd state backup FILE');
  const { file } = await readJson(request, backupBody, '{"file": "/ABSOLUTE/PATH"}');
  if (!isAbsolute(file))
    throw new HttpError(400, 'bad_request', `The file must be an absolute path, not ${file.slice(0, 200)}.`);
  try {
    return json(200, await deps.state.backup(file));
  } catch (error) {
    throw new HttpError(409, 'refused', errorMessage(error));
  }
}

const adoptBody = z.strictObject({ reason: reasonField() });

/** Responds with `{"adopted": WHY}`: the reason why the store was not trusted; `null` if it was. */
async function adopt(context: ApiContext): Promise<Reply> {
  const { deps, request } = context;
  const { by } = allow(context, 'admin', 'opsd state adopt --reason TEXT');
  const { reason } = await readJson(request, adoptBody, '{"reason": "TEXT"}');
  try {
    return json(200, { adopted: (await deps.state.adopt(reason, by)) ?? null });
  } catch (error) {
    throw new HttpError(409, 'refused', errorMessage(error));
  }
}

const resetBody = z.strictObject({
  account: nameField('the name of an account'),
  metric: nameField('the name of a counter'),
  labels: z.record(z.string().max(100), z.string().max(1_000)).exactOptional(),
  reason: reasonField(),
});

/** Responds with `{"reset": […]}`: the counters that are 0 now, with their labels and former values. */
async function resetCounter(context: ApiContext): Promise<Reply> {
  const { deps, request } = context;
  const { by } = allow(context, 'admin', 'opsd state reset-counter METRIC --account NAME --reason TEXT');
  const form = '{"account": "NAME", "metric": "NAME", "labels": {"NAME": "VALUE"}, "reason": "TEXT"}';
  const { labels = {}, ...asked } = await readJson(request, resetBody, form);
  return json(200, { reset: await deps.state.resetCounters({ ...asked, labels, by }) });
}

/**
 * Responds with `{"changed": …, "hash": …}`. For an invalid configuration, the message has the output of `opsd check`.
 */
async function reload(context: ApiContext): Promise<Reply> {
  const { deps } = context;
  const { by } = allow(context, 'admin', 'opsd reload');
  if (deps.reload === undefined) {
    throw new HttpError(
      409,
      'refused',
      'This daemon was not started from a configuration file, so it cannot reload one.',
    );
  }
  const outcome = await deps.reload(by);
  if (!outcome.ok) throw new HttpError(422, 'bad_configuration', outcome.message);
  const { changed, webConfig, hash } = outcome;
  return json(200, { changed, webConfig, hash });
}
