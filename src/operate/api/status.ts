/**
 * What the daemon knows of itself at one moment: the facts behind the first page and the JSON API.
 * Field names here are the API's and stay. Times are epoch milliseconds and named `at` or `…At`; durations end in `Ms`.
 * An absent field means "not known" or "never".
 */
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { RunOutcome } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Reconciled } from '#foundation/domain/statistics.ts';
import type { ActionOutcome, ActionRecord, Pause, RunRecord } from '#automate/ledger/ledger.ts';
import type { Condition } from '#automate/ledger/verbs.ts';
import type { CollectorStatus, ObservationBoard } from '#observe/observations/board.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { outageViews, type OutageView } from './outages.ts';
import type { ApiDeps } from './api-deps.ts';
import { storedPlanView, type StoredPlanView } from './stored-plans.ts';
import { judge, type Verdict } from './verdict.ts';

/**
 * `ok`: the last run succeeded. `failing`: it did not, what it read before still stands. `stale`: what was read is too
 * old, its gauges are withheld. `waiting`: no run has ended yet. `off`: it does not run, see the field of that name.
 */
export type SourceState = 'ok' | 'failing' | 'stale' | 'waiting' | 'off';

/** One collector of one account: `/api/v1/sources`. */
export interface SourceView extends CollectorStatus {
  readonly state: SourceState;
  /** Rows of the latest complete batch. */
  readonly rows?: number;
  /** Rows of that batch that could not be understood. */
  readonly dropped?: number;
  /** Logs only: entries up to here are counted. */
  readonly countedUntilAt?: number;
  /** Logs only: time between that moment and now. */
  readonly lagMs?: number;
  /** Logs only: seconds of log counted per second, over the last 10 minutes. */
  readonly catchUpRatio?: number;
}

/** One run of a policy: `/api/v1/runs`. */
export interface RunView {
  readonly id: number;
  readonly policy: string;
  readonly account: string;
  readonly planId: string;
  /** What made it run: `schedule`, `campaign`, `hand`, `alert`, `callback`. */
  readonly trigger: string;
  readonly at: number;
  readonly finishedAt?: number;
  /** `running` until it ended; after a crash, until the policy's next run. */
  readonly outcome: RunOutcome | 'running';
  readonly matched: number;
  readonly acted: number;
  readonly backlog: number;
  readonly detail?: string;
}

/** One policy: `/api/v1/policies`. */
export interface PolicyView extends PolicyStatus {
  /** Absent when it never ran. */
  readonly lastRun?: Omit<RunView, 'policy' | 'account'>;
}

/** One act, newest first: `/api/v1/actions`. */
export interface ActionView {
  readonly id: number;
  readonly at: number;
  readonly policy: string;
  readonly account: string;
  readonly action: string;
  /** A dlqId, or the page or the amount that was acted on. */
  readonly target: string;
  readonly workflowRunId?: string;
  readonly workflowUrl?: string;
  /** 1 for the first resume of a run. */
  readonly attempt?: number;
  /** `pending` while the request is in flight, or after a crash until recovery. */
  readonly outcome: ActionOutcome | 'pending';
  readonly outcomeAt?: number;
  readonly detail?: string;
  readonly newRunId?: string;
  /** Entries that it might touch, and that the service said it did. */
  readonly worth: number;
  readonly done?: number;
  readonly runId: number;
}

/** Requests since the start of the UTC day, and what the daemon allows itself. */
export interface ApiUsage {
  readonly api: 'message' | 'management';
  readonly usedToday: number;
  readonly allowedPerDay: number;
}

export interface AccountView {
  readonly name: string;
  /** Absent when the account has no such API configured. */
  readonly messageApiUrl?: string;
  readonly managementApiUrl?: string;
  /** How long the service keeps entries of its DLQs, where the configuration says it. */
  readonly dlqRetentionMs?: number;
  readonly usage: readonly ApiUsage[];
}

/** How one label of an account is used whose values come from outside: `/api/v1/labels`. */
export interface LabelView {
  readonly account: string;
  readonly label: string;
  /** Values that may be shown. */
  readonly max: number;
  readonly shown: number;
  /** Of these, named by the configuration. */
  readonly configured: number;
  /** Values with a total in the store and no place. */
  readonly hidden: number;
  /** What was seen of values without a place since the start: log entries, or samples of a reading. */
  readonly foldedAmount: number;
  /** The largest of them; a count may be too high by `over`, and is never too low. */
  readonly largestFolded: readonly { readonly value: string; readonly count: number; readonly over: number }[];
}

/** What the log and the statistics of an account say of the same whole hour. */
export interface ReconciliationView extends Reconciled {
  readonly account: string;
}

/** All of it: `/api/v1/status`, without the lists that have an address of their own. */
export interface Status {
  readonly at: number;
  readonly version: string;
  /** Of the files that the configuration was read from. */
  readonly configHash?: string;
  readonly startedAt: number;
  /** The scheduler turns. */
  readonly healthy: boolean;
  readonly healthDetail: string;
  readonly ready: boolean;
  readonly readyDetail: string;
  readonly verdict: Verdict;
  readonly accounts: readonly AccountView[];
  /** Destinations that are down, most failed attempts first. */
  readonly outages: readonly OutageView[];
  /** Accounts of which it is not known whether a destination is down: their log is not counted far enough. */
  readonly outagesUnknown: readonly string[];
  readonly sources: readonly SourceView[];
  /** By account and state; empty where nothing can be compared (yet). */
  readonly reconciliation: readonly ReconciliationView[];
  /** What stands: holds, halted groups, plans that wait; the worst first. */
  readonly conditions: readonly Condition[];
  readonly pauses: readonly Pause[];
  /** Plans that wait for a person. */
  readonly plans: readonly StoredPlanView[];
  readonly policies: readonly PolicyView[];
  readonly actions: readonly ActionView[];
  /** Acts of which nobody knows yet what became of them. */
  readonly unknownOutcomes: number;
  /** Why runs and actions are missing here, when the store could not be read. */
  readonly storeError?: string;
}

/** What of `ApiDeps` a status is made of. */
export type StatusDeps = Pick<
  ApiDeps,
  | 'clock'
  | 'board'
  | 'health'
  | 'readiness'
  | 'policies'
  | 'accounts'
  | 'outages'
  | 'apiUsage'
  | 'version'
  | 'configHash'
  | 'startedAt'
> & {
  readonly ledger: Pick<ApiDeps['ledger'], 'recentActions' | 'lastRuns' | 'unknownOutcomes' | 'pauses' | 'storedPlans'>;
  readonly engine: Pick<ApiDeps['engine'], 'conditions'>;
};

/** @param actionLimit how many actions to read, newest first */
export function readStatus(deps: StatusDeps, actionLimit: number): Status {
  const at = deps.clock.now();
  const health = deps.health();
  const readiness = deps.readiness();
  const ledger = readLedger(deps, actionLimit, at);
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
    accounts: deps.accounts.map((account) => ({ ...account, usage: deps.apiUsage?.(account.name) ?? [] })),
    ...readOutages(deps, ledger, at),
    sources: deps.board.statuses().map((status) => sourceView(deps.board, status)),
    reconciliation: deps.accounts.flatMap(({ name: account }) => reconciliationOf(deps.board, account)),
    conditions,
    pauses: ledger.pauses,
    plans: ledger.plans,
    policies: ledger.policies,
    actions: ledger.actions,
    unknownOutcomes: ledger.unknown,
    ...(ledger.error !== undefined && { storeError: ledger.error }),
  };
  return { ...facts, verdict: judge(facts) };
}

function readOutages(
  { accounts, board, outages }: StatusDeps,
  { policies, plans }: LedgerFacts,
  at: number,
): Pick<Status, 'outages' | 'outagesUnknown'> {
  const known = accounts.map((account) => ({ account, found: outages(account.name) }));
  return {
    outages: known.flatMap(({ account: { name: account, dlqRetentionMs }, found = [] }) => {
      const entries = board.fresh(account, 'workflowDlq')?.rows;
      const dlq = { ...(entries && { entries }), ...(dlqRetentionMs !== undefined && { dlqRetentionMs }) };
      return outageViews({ at, account, outages: found, ...dlq, policies, plans });
    }),
    outagesUnknown: known.flatMap(({ account, found }) => (found === undefined ? [account.name] : [])),
  };
}

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
  readonly error?: string;
}

/**
 * A store that cannot be read must not take the page down with it: the page is where one looks then. What policies are
 * (campaigns, pauses) stands in the store, too.
 */
function readLedger({ ledger, policies }: StatusDeps, limit: number, at: number): LedgerFacts {
  try {
    const runs = ledger.lastRuns();
    return {
      policies: policies().map((policy) => policyView(policy, runs)),
      actions: limit === 0 ? [] : ledger.recentActions(limit).map(actionView),
      unknown: ledger
        .unknownOutcomes()
        .values()
        .reduce((sum, count) => sum + count, 0),
      pauses: ledger.pauses(),
      plans: ledger.storedPlans(['waiting'], at).map(storedPlanView),
    };
  } catch (error) {
    return { policies: [], actions: [], unknown: 0, pauses: [], plans: [], error: errorMessage(error) };
  }
}

function reconciliationOf(board: ObservationBoard, account: string): ReconciliationView[] {
  const rows = board.fresh(account, 'accountStats')?.rows ?? [];
  return rows.flatMap(({ reconciled = [] }) => reconciled.map((row) => ({ account, ...row })));
}

function sourceView(board: ObservationBoard, status: CollectorStatus): SourceView {
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
  if (status.runs === 0) return 'waiting';
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
    planId,
    trigger: trigger.kind,
    at,
    ...(finishedAt !== undefined && { finishedAt }),
    outcome: outcome ?? 'running',
    matched,
    acted,
    backlog,
    ...(detail !== undefined && { detail }),
  };
}

export function actionView(record: ActionRecord): ActionView {
  const { proposal } = record;
  const { policy, account, action, target, worth } = proposal;
  return {
    id: record.id,
    at: record.at,
    runId: record.runId,
    policy,
    account,
    action,
    target,
    worth,
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
