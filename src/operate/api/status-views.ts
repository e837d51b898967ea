/**
 * Facts behind the first page and the JSON API. Field names are the API's and stable. Times are epoch milliseconds,
 * named `at` or `…At`; durations end in `Ms`. An absent field means unknown or never.
 */
import type { RunOutcome } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Reconciled } from '#foundation/domain/statistics.ts';
import type { ActionOutcome } from '#automate/ledger/intents.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { CollectorStatus } from '#observe/observations/board.ts';
import { type OutageView } from '../situation/outages.ts';
import { type StoredPlanView } from './stored-plans.ts';
import type { Verdict } from './verdict-level.ts';

/**
 * State of a collector. `ok`: the last run succeeded. `failing`: the last run failed; the previous data is still valid.
 * `stale`: the data is too old, and its gauges are withheld. `pending`: no run has ended yet. `off`: disabled, see the
 * field `off`.
 */
export type SourceState = 'ok' | 'failing' | 'stale' | 'pending' | 'off';

/** One collector of one account: `/api/v1/sources`. */
export interface SourceView extends CollectorStatus {
  readonly state: SourceState;
  /** Rows of the latest complete batch. */
  readonly rows?: number;
  /** Invalid rows of that batch, which were dropped. */
  readonly dropped?: number;
  /** Logs only: end of the counted time. */
  readonly countedUntilAt?: number;
  /** Logs only: time between `countedUntilAt` and now. */
  readonly lagMs?: number;
  /** Logs only: seconds of log counted per second, over the last 10 minutes. */
  readonly catchUpRatio?: number;
}

/** One run of a policy: `/api/v1/runs`. */
export interface RunView {
  readonly id: number;
  readonly policy: string;
  readonly account: string;
  /** Id of the stored plan that it applies or that is pending; absent if there is none. */
  readonly planId?: string;
  /** Trigger of the run: `schedule`, `campaign`, `hand`, `alert`, `callback`. */
  readonly trigger: string;
  readonly at: number;
  readonly finishedAt?: number;
  /** `running` until the run ends; after a crash, until the policy's next run. */
  readonly outcome: RunOutcome | 'running';
  readonly matched?: number;
  readonly acted: number;
  readonly backlog?: number;
  readonly detail?: string;
}

/** One policy: `/api/v1/policies`. */
export interface PolicyView extends PolicyStatus {
  /** Absent if it never ran. */
  readonly lastRun?: Omit<RunView, 'policy' | 'account'>;
}

/** One action: `/api/v1/actions`, newest first. */
export interface ActionView {
  readonly id: number;
  readonly at: number;
  readonly policy: string;
  readonly account: string;
  readonly action: string;
  /** A dlqId, or the page or the amount of the action. */
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
  /** Number of entries that it might touch, and that the service said it acted on. */
  readonly items: number;
  readonly done?: number;
  readonly runId: number;
}

/** Requests since the start of the UTC day, and the daemon's own limit. */
export interface ApiUsage {
  readonly api: 'message' | 'management';
  readonly usedToday: number;
  readonly allowedPerDay: number;
}

export interface AccountView {
  readonly name: string;
  /** Absent if the account has no such API configured. */
  readonly messageApiUrl?: string;
  readonly managementApiUrl?: string;
  /** Retention of the service's DLQs, if configured. */
  readonly dlqRetentionMs?: number;
  readonly usage: readonly ApiUsage[];
  /** Only with a store that replicas share; absent while this replica cannot read the leases. */
  readonly lease?: AccountLease;
}

/** Ownership of an account. Only its owner reads the account and acts on it. */
export interface AccountLease {
  /** Name of the replica that owns the account; absent if none does, or if the owner is unknown. */
  readonly replica?: string;
  /** Number of the ownership; each change of the owner increases it. */
  readonly epoch: number;
  /** True if the replica that responds is the owner. */
  readonly isOwn: boolean;
  /** True if the replica that responds no longer uses its lease, and does not know who has the account now. */
  readonly isUnknown?: boolean;
  /** Name of the replica that takes the account. Only if the owner is unknown. */
  readonly next?: string;
}

/** Use of one label of an account with external values: `/api/v1/labels`. */
export interface LabelView {
  readonly account: string;
  readonly label: string;
  /** Maximum number of shown values. */
  readonly max: number;
  readonly shown: number;
  /** Number of shown values named in the configuration. */
  readonly configured: number;
  /** Values with a total in the store that are not shown. */
  readonly hidden: number;
  /** Amount for values that are not shown, since the start: log entries, or samples of a reading. */
  readonly overflowAmount: number;
  /** Largest values that are not shown. A count may be too high by `over`, and is never too low. */
  readonly largestOverflow: readonly { readonly value: string; readonly count: number; readonly over: number }[];
}

/** Counts of the log and of the statistics of an account for the same whole hour. */
export interface ReconciliationView extends Reconciled {
  readonly account: string;
}

/** Complete status: `/api/v1/status`, without the lists that have their own address. */
export interface Status {
  readonly at: number;
  readonly version: string;
  /** Hash of the configuration's files. */
  readonly configHash?: string;
  readonly startedAt: number;
  /** Replica that responds. Only with a store that replicas share. */
  readonly replica?: string;
  /** Reason why this replica cannot read the leases. */
  readonly leaseError?: string;
  /** True if the scheduler is running. */
  readonly healthy: boolean;
  readonly healthDetail: string;
  readonly ready: boolean;
  readonly readyDetail: string;
  readonly verdict: Verdict;
  readonly accounts: readonly AccountView[];
  /** Destinations that are down, most failed attempts first. */
  readonly outages: readonly OutageView[];
  /** Accounts with unknown outages: their log is not counted far enough. */
  readonly outagesUnknown: readonly string[];
  readonly sources: readonly SourceView[];
  /** By account and state; empty if nothing can be compared yet. */
  readonly reconciliation: readonly ReconciliationView[];
  /** Active conditions, most severe first: holds, halted groups, pending plans. */
  readonly conditions: readonly Condition[];
  readonly pauses: readonly Pause[];
  /** Pending plans, and plans whose approval is active. */
  readonly plans: readonly StoredPlanView[];
  readonly approvals: readonly StoredPlanView[];
  readonly policies: readonly PolicyView[];
  readonly actions: readonly ActionView[];
  /** Number of actions with unknown outcome. */
  readonly unknownOutcomes: number;
  /** Reason why runs and actions are missing, if the store could not be read. */
  readonly storeError?: string;
}
