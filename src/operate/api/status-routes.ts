/** Read routes of the status, and of what the ledger has. */
import * as policies from '../contract/policies.ts';
import { getPlan, listPlans } from '../contract/plans.ts';
import * as status from '../contract/status.ts';
import { apiDocument } from '../contract/document.ts';
import { getAuditHead } from '../contract/audit.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { fromLedger, storeUnavailable } from './from-store.ts';
import { implement, implementWhole } from './implement.ts';
import { actionView } from './run-views.ts';
import { readStatus, sourceViews } from './status.ts';
import { runViews, type Status } from './stored-status.ts';
import { readPlan, storedPlanView } from './stored-plans.ts';

export const STATUS_ROUTES: readonly ApiRoute[] = [
  implement(status.getStatus, async ({ deps, signal }) => {
    const read = await readStatus(deps, 1, signal);
    const { sources, policies: all, actions: _listed, plans, approvals: _approvals, repairs: _repairs, ...rest } = read;
    return {
      ...rest,
      pendingPlans: plans.length,
      sources: { total: sources.length, ...countBy(sources, (source) => source.state) },
      policies: { total: all.length, ...countBy(all, (policy) => policy.effectiveMode) },
    };
  }),
  implement(status.listSources, ({ deps }) => ({ at: deps.clock.now(), sources: sourceViews(deps.board) })),
  implement(policies.listPolicies, async (given) => {
    const { at, policies: all } = await storedStatus(given, 0);
    return { at, policies: all };
  }),
  implement(status.listConditions, async (given) => {
    const { at, conditions, pauses } = await storedStatus(given, 0);
    return { at, conditions, pauses };
  }),
  implement(listPlans, async (given) => {
    const { deps, query } = given;
    const { state, policy, limit } = query;
    const at = deps.clock.now();
    const found = (await fromLedger(given, (ledger) => ledger.storedPlans(state, at)))
      .filter(({ plan }) => policy === undefined || plan.policy === policy)
      .slice(0, limit);
    return { at, plans: found.map((plan) => storedPlanView(plan, deps.engine.conditions())) };
  }),
  implement(getPlan, async (given) => {
    const { deps, id } = given;
    const at = deps.clock.now();
    const plan = await fromLedger(given, (ledger) => readPlan(id, { ledger, at, engine: deps.engine }));
    if (plan !== undefined) return { at, plan };
    const message = `Plan ${id.slice(0, 80)} does not exist. \`opsd plan POLICY --keep\` makes one.`;
    throw new HttpError(404, 'unknown_plan', message);
  }),
  implement(policies.listRuns, async (given) => {
    const { deps, query } = given;
    const at = deps.clock.now();
    return { at, runs: await fromLedger(given, async (ledger) => runViews(await ledger.runs(query), { ledger, at })) };
  }),
  implement(policies.listActions, async (given) => {
    const { at, actions } = await storedStatus(given, given.query.limit);
    return { at, actions };
  }),
  implement(policies.getAction, async (given) => {
    const { deps, id } = given;
    const isNumber = /^\d{1,15}$/.test(id);
    const found = isNumber ? await fromLedger(given, (ledger) => ledger.action(Number(id))) : undefined;
    if (found !== undefined) {
      return { at: deps.clock.now(), action: { ...actionView(found), proposal: found.proposal } };
    }
    const message = `Action ${id.slice(0, 80)} does not exist. /api/v1/actions lists the latest ones.`;
    throw new HttpError(404, 'not_found', message);
  }),
  implement(status.listLabels, ({ deps }) => ({ at: deps.clock.now(), labels: deps.labels?.() ?? [] })),
  implement(getAuditHead, async ({ deps }) => ({ head: (await deps.state.auditHead()) ?? null })),
  implement(status.getConfiguration, ({ deps }) => ({ at: deps.clock.now(), ...deps.configuration() })),
  // It has no data, so it is not redacted.
  implementWhole(status.getOpenApi, ({ deps: { version } }) => ({
    status: 200,
    contentType: 'application/json; charset=utf-8',
    body: openApi(version),
    compress: true,
  })),
];

/** Fails without a store: a policy without its last run would look as if it had never run. */
async function storedStatus({ deps, signal }: Pick<ApiContext, 'deps' | 'signal'>, actions: number): Promise<Status> {
  const read = await readStatus(deps, actions, signal);
  if (read.storeError !== undefined) throw storeUnavailable(read.storeError);
  return read;
}

function countBy<T>(rows: readonly T[], keyOf: (row: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[keyOf(row)] = (counts[keyOf(row)] ?? 0) + 1;
  return counts;
}

let made: { readonly version: string; readonly body: string } | undefined;

/** The document is made at its first request. */
function openApi(version: string): string {
  if (made?.version !== version) {
    made = { version, body: `${JSON.stringify(apiDocument(version), undefined, 2)}\n` };
  }
  return made.body;
}
