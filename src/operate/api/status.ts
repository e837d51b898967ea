/** Status of the daemon at one time. */
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { BoardReader, CollectorStatus } from '#observe/observations/board.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { outageViews } from '../situation/outages.ts';
import type { ApiDeps } from './api-deps.ts';
import { storedPlanView, type StoredPlanView } from './stored-plans.ts';
import type {
  SourceState,
  SourceView,
  RunView,
  PolicyView,
  ActionView,
  ReconciliationView,
  Status,
} from './status-views.ts';
import { judge } from './verdict.ts';

/** Part of `ApiDeps` that a status needs. */
export type StatusDeps = Pick<
  ApiDeps,
  | 'clock'
  | 'board'
  | 'health'
  | 'readiness'
  | 'policies'
  | 'accounts'
  | 'replica'
  | 'outages'
  | 'canaries'
  | 'apiUsage'
  | 'version'
  | 'configHash'
  | 'startedAt'
> & {
  readonly ledger: Pick<ApiDeps['ledger'], 'recentActions' | 'lastRuns' | 'unknownOutcomes' | 'pauses' | 'storedPlans'>;
  readonly engine: Pick<ApiDeps['engine'], 'conditions'>;
  readonly incidents: Pick<ApiDeps['incidents'], 'selectedBy'>;
};

/** @param actionLimit maximum number of actions, newest first */
export async function readStatus(deps: StatusDeps, actionLimit: number): Promise<Status> {
  const ledger = await readLedger(deps, actionLimit, deps.clock.now());
  const at = deps.clock.now();
  const health = deps.health();
  const readiness = deps.readiness();
  const conditions = deps.engine.conditions().toSorted(bySeverity);
  const facts = {
    at,
    version: deps.version,
    ...(deps.configHash !== undefined && { configHash: deps.configHash }),
    startedAt: deps.startedAt,
    healthy: health.healthy,
    healthDetail: health.detail,
    ready: readiness.ready,
    readyDetail: readiness.detail,
    ...readLeases(deps),
    ...(await readOutages(deps, ledger, at)),
    sources: sourceViews(deps.board),
    reconciliation: deps.accounts.flatMap(({ name: account }) => reconciliationOf(deps.board, account)),
    conditions,
    pauses: ledger.pauses,
    plans: ledger.plans,
    approvals: ledger.approvals,
    policies: ledger.policies,
    actions: ledger.actions,
    unknownOutcomes: ledger.unknown,
    ...(ledger.error !== undefined && { storeError: ledger.error }),
  };
  return { ...facts, verdict: judge(facts, deps.canaries.states()) };
}

function readLeases({ accounts, apiUsage, replica }: StatusDeps): Pick<Status, 'accounts' | 'replica' | 'leaseError'> {
  const leaseError = replica?.problem;
  const owners = leaseError === undefined ? replica?.owners() : undefined;
  return {
    accounts: accounts.map((account) => {
      const lease = owners?.get(account.name);
      return { ...account, usage: apiUsage?.(account.name) ?? [], ...(lease !== undefined && { lease }) };
    }),
    ...(replica !== undefined && { replica: replica.name }),
    ...(leaseError !== undefined && { leaseError }),
  };
}

async function readOutages(
  { accounts, board, outages, incidents }: StatusDeps,
  ledger: LedgerFacts,
  at: number,
): Promise<Pick<Status, 'outages' | 'outagesUnknown'>> {
  const known = accounts.map((account) => ({ account, found: outages(account.name) }));
  const views = known.map(({ account: { name: account, dlqRetentionMs }, found = [] }) => {
    const entries = board.fresh(account, 'workflowDlq')?.rows;
    const dlq = { ...(entries && { entries }), ...(dlqRetentionMs !== undefined && { dlqRetentionMs }) };
    const selecting = async (runs: readonly WorkflowDlqEntry[]) => {
      if (ledger.error !== undefined || runs.length === 0) return new Set<string>();
      const sample = runs.slice(0, MOST_EVALUATED);
      return new Set((await incidents.selectedBy(account, { runs: sample, deadLetters: [] })).keys());
    };
    return outageViews({ at, account, outages: found, ...dlq, ...ledger, selecting });
  });
  return {
    outages: (await Promise.all(views)).flat(),
    outagesUnknown: known.flatMap(({ account, found }) => (found === undefined ? [account.name] : [])),
  };
}

/** Maximum number of failed runs per destination that are evaluated to find the policies that select them. */
const MOST_EVALUATED = 200;

const SEVERITIES: readonly Condition['severity'][] = ['critical', 'warning', 'info'];

function bySeverity(a: Condition, b: Condition): number {
  return SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || a.since - b.since;
}

interface LedgerFacts {
  readonly policies: readonly PolicyView[];
  readonly actions: readonly ActionView[];
  readonly unknown: number;
  readonly pauses: readonly Pause[];
  readonly plans: readonly StoredPlanView[];
  /** Plans with an active approval. */
  readonly approvals: readonly StoredPlanView[];
  readonly error?: string;
}

/**
 * Facts from the ledger. An unreadable store must not break the page, since operators look there first. The state of
 * policies (campaigns, pauses) is in the store as well.
 */
async function readLedger({ ledger, policies }: StatusDeps, limit: number, at: number): Promise<LedgerFacts> {
  try {
    const unknown = await ledger.unknownOutcomes();
    const plans = (await ledger.storedPlans(['pending', 'approved'], at)).map((plan) => storedPlanView(plan));
    const runs = await withDecisions(await ledger.lastRuns(), plans, { ledger, at });
    return {
      policies: (await policies()).map((policy) => policyView(policy, runs)),
      actions: limit === 0 ? [] : (await ledger.recentActions(limit)).map(actionView),
      unknown: unknown.values().reduce((sum, count) => sum + count, 0),
      pauses: await ledger.pauses(),
      plans: plans.filter(({ state }) => state === 'pending'),
      approvals: plans.filter(({ state }) => state === 'approved'),
    };
  } catch (error) {
    return { policies: [], actions: [], unknown: 0, pauses: [], plans: [], approvals: [], error: errorMessage(error) };
  }
}

/** Returns the last runs as of now: one that was pending approval has the decision on its plan. */
async function withDecisions(
  runs: readonly RunRecord[],
  plans: readonly StoredPlanView[],
  { ledger, at }: { readonly ledger: StatusDeps['ledger']; readonly at: number },
): Promise<readonly RunRecord[]> {
  const pending = new Set(plans.filter(({ state }) => state === 'pending').map(({ policy }) => policy));
  const isDecided = ({ outcome, policy }: RunRecord) => outcome === 'pending_approval' && !pending.has(policy);
  if (!runs.some(isDecided)) return runs;
  const decided = await ledger.storedPlans(['approved', 'rejected', 'replaced', 'expired', 'cancelled'], at);
  return runs.map((run) => {
    const [last] = decided
      .filter(({ plan, decidedAt = 0 }) => plan.policy === run.policy && decidedAt >= run.at)
      .toSorted((a, b) => (b.decidedAt ?? 0) - (a.decidedAt ?? 0));
    if (!isDecided(run) || last === undefined) return run;
    const why = last.reason === undefined ? '' : `: ${last.reason}`;
    const detail = `approval: plan ${last.plan.id} is ${last.state} by ${last.by ?? 'an operator'}${why}`;
    return { ...run, outcome: 'held', detail };
  });
}

function reconciliationOf(board: BoardReader, account: string): ReconciliationView[] {
  const rows = board.fresh(account, 'accountStats')?.rows ?? [];
  return rows.flatMap(({ reconciled = [] }) => reconciled.map((row) => ({ account, ...row })));
}

export function sourceViews(board: BoardReader): SourceView[] {
  return board.statuses().map((status) => sourceView(board, status));
}

function sourceView(board: BoardReader, status: CollectorStatus): SourceView {
  const batch = board.latest<CollectorName>(status.account, status.collector);
  const { watermark: countedUntilAt, ...lag } =
    (status.collector === 'logs' ? board.logLag.of(status.account) : undefined) ?? {};
  return {
    ...status,
    state: sourceState(status, board.isStale(status.account, status.collector)),
    ...(batch !== undefined && { rows: batch.rows.length, dropped: batch.dropped }),
    ...(countedUntilAt !== undefined && { countedUntilAt, ...lag }),
  };
}

function sourceState(status: CollectorStatus, stale: boolean): SourceState {
  if (status.off !== undefined) return 'off';
  if (status.runs === 0) return 'pending';
  if (stale && status.lastSuccessAt !== undefined) return 'stale';
  return status.lastRunFailed ? 'failing' : 'ok';
}

function policyView(policy: PolicyStatus, runs: readonly RunRecord[]): PolicyView {
  const run = runs.find((candidate) => candidate.policy === policy.name && candidate.account === policy.account);
  if (run === undefined) return policy;
  const { policy: _policy, account: _account, ...lastRun } = runView(run);
  return { ...policy, lastRun };
}

export function runView(run: RunRecord): RunView {
  const { id, policy, account, planId, trigger, at, finishedAt, outcome, matched, acted, backlog, detail } = run;
  return {
    id,
    policy,
    account,
    ...(planId !== undefined && { planId }),
    trigger: trigger.kind,
    at,
    ...(finishedAt !== undefined && { finishedAt }),
    outcome: outcome ?? 'running',
    ...(matched !== undefined && { matched }),
    acted,
    ...(backlog !== undefined && { backlog }),
    ...(detail !== undefined && { detail }),
  };
}

export function actionView(record: ActionRecord): ActionView {
  const { proposal } = record;
  const { policy, account, action, target, items } = proposal;
  return {
    id: record.id,
    at: record.at,
    runId: record.runId,
    policy,
    account,
    action,
    target,
    items,
    ...('workflowRunId' in proposal && {
      workflowRunId: proposal.workflowRunId,
      workflowUrl: proposal.workflowUrl,
    }),
    ...('attempt' in proposal && { attempt: proposal.attempt }),
    outcome: record.outcome ?? ('pending' as const),
    ...(record.outcomeAt !== undefined && { outcomeAt: record.outcomeAt }),
    ...(record.detail !== undefined && { detail: record.detail }),
    ...(record.newRunId !== undefined && { newRunId: record.newRunId }),
    ...(record.done !== undefined && { done: record.done }),
  };
}
