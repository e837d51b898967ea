/** Read routes of the JSON API. docs/api.md documents them; field names are stable. */
import { z } from 'zod';
import { limitParameter, readQuery, textParameter } from '../http/query.ts';
import { HttpError, json, type Reply } from '../http/reply.ts';

import type { ApiContext, ApiRoute } from './api-deps.ts';
import { fromLedger, storeUnavailable } from './from-store.ts';
import { actionView } from './run-views.ts';
import { readStatus, sourceViews } from './status.ts';
import { runViews } from './stored-status.ts';
import { readPlan, STORED_STATES, storedPlanView } from './stored-plans.ts';

export const STATUS_ROUTES: readonly ApiRoute[] = [
  { path: '/api/v1/status', method: 'GET', handle: status },
  { path: '/api/v1/sources', method: 'GET', handle: sources },
  { path: '/api/v1/policies', method: 'GET', handle: policies },
  { path: '/api/v1/conditions', method: 'GET', handle: conditions },
  { path: '/api/v1/plans', method: 'GET', handle: plans, query: () => plansQuery },
  { path: '/api/v1/plans/{id}', method: 'GET', handle: storedPlan },
  { path: '/api/v1/runs', method: 'GET', handle: runs, query: () => runsQuery },
  { path: '/api/v1/actions', method: 'GET', handle: actions, query: () => actionsQuery },
  { path: '/api/v1/actions/{id}', method: 'GET', handle: action },
  { path: '/api/v1/labels', method: 'GET', handle: labels },
  { path: '/api/v1/audit/head', method: 'GET', handle: auditHead },
];

const actionsQuery = z.strictObject({ limit: limitParameter({ standard: 50, max: 500 }) });

const runsQuery = actionsQuery.extend({ policy: textParameter('Only those of this policy.') });

const plansQuery = runsQuery.extend({
  state: z
    .array(z.enum(STORED_STATES, `must be one of ${STORED_STATES.join(', ')}`))
    .default(['draft', 'pending', 'approved'])
    .describe('States of the plans.'),
});

/** `Status` without its lists, and the number of items in each state. */
async function status({ deps, signal }: ApiContext): Promise<Reply> {
  const read = await readStatus(deps, 1, signal);
  const { sources, policies, actions: _listed, plans, approvals: _approvals, ...rest } = read;
  return json(200, {
    ...rest,
    pendingPlans: plans.length,
    sources: { total: sources.length, ...countBy(sources, (source) => source.state) },
    policies: { total: policies.length, ...countBy(policies, (policy) => policy.effectiveMode) },
  });
}

function sources({ deps }: ApiContext): Reply {
  return json(200, { at: deps.clock.now(), sources: sourceViews(deps.board) });
}

async function policies({ deps, signal }: ApiContext): Promise<Reply> {
  const { at, policies, storeError } = await readStatus(deps, 0, signal);
  refuseWithoutStore(storeError);
  return json(200, { at, policies });
}

/** Active conditions, and pauses. */
async function conditions({ deps, signal }: ApiContext): Promise<Reply> {
  const { at, conditions, pauses, storeError } = await readStatus(deps, 0, signal);
  refuseWithoutStore(storeError);
  return json(200, { at, conditions, pauses });
}

/** Stored plans, newest first. */
async function plans(context: ApiContext): Promise<Reply> {
  const { deps, query } = context;
  const { state, policy, limit } = readQuery(query, plansQuery);
  const at = deps.clock.now();
  const found = (await fromLedger(context, (ledger) => ledger.storedPlans(state, at)))
    .filter(({ plan }) => policy === undefined || plan.policy === policy)
    .slice(0, limit);
  return json(200, { at, plans: found.map((plan) => storedPlanView(plan, deps.engine.conditions())) });
}

async function storedPlan(context: ApiContext): Promise<Reply> {
  const { deps, id } = context;
  const at = deps.clock.now();
  const plan = await fromLedger(context, (ledger) => readPlan(id, { ledger, at, engine: deps.engine }));
  if (plan === undefined) {
    const message = `Plan ${id.slice(0, 80)} does not exist. \`opsd plan POLICY --keep\` makes one.`;
    throw new HttpError(404, 'unknown_plan', message);
  }
  return json(200, { at, plan });
}

/** Runs of policies, newest first. */
async function runs(context: ApiContext): Promise<Reply> {
  const { deps, query } = context;
  const asked = readQuery(query, runsQuery);
  const at = deps.clock.now();
  const found = await fromLedger(context, async (ledger) => runViews(await ledger.runs(asked), { ledger, at }));
  return json(200, { at, runs: found });
}

async function actions({ deps, query, signal }: ApiContext): Promise<Reply> {
  const { at, actions, storeError } = await readStatus(deps, readQuery(query, actionsQuery).limit, signal);
  refuseWithoutStore(storeError);
  return json(200, { at, actions });
}

/** One action by its number, with its proposal. */
async function action(context: ApiContext): Promise<Reply> {
  const { deps, id } = context;
  const isNumber = /^\d{1,15}$/.test(id);
  const found = isNumber ? await fromLedger(context, (ledger) => ledger.action(Number(id))) : undefined;
  if (found === undefined) {
    throw new HttpError(
      404,
      'not_found',
      `Action ${id.slice(0, 80)} does not exist. /api/v1/actions lists the latest ones.`,
    );
  }
  return json(200, {
    at: deps.clock.now(),
    action: { ...actionView(found), proposal: found.proposal },
  });
}

function labels({ deps }: ApiContext): Reply {
  return json(200, { at: deps.clock.now(), labels: deps.labels?.() ?? [] });
}

/** `{"head": {"sequence": N, "hash": HEX}}`: the last record of the audit log; `null` while the log is empty. */
async function auditHead({ deps }: ApiContext): Promise<Reply> {
  return json(200, { head: (await deps.state.auditHead()) ?? null });
}

/** Fails without a store: a policy without its last run would look as if it had never run. */
function refuseWithoutStore(storeError: string | undefined): void {
  if (storeError !== undefined) throw storeUnavailable(storeError);
}

function countBy<T>(rows: readonly T[], keyOf: (row: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[keyOf(row)] = (counts[keyOf(row)] ?? 0) + 1;
  return counts;
}
