/**
 * The facts behind the first page and the JSON API.
 * Field names here are the API's and stay. Times are epoch milliseconds and named `at` or `…At`; durations end in `Ms`.
 * An absent field means "not known" or "never".
 */
import type { RunOutcome } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Reconciled } from '#foundation/domain/statistics.ts';
import type { ActionOutcome } from '#automate/ledger/intents.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { Condition } from '#automate/ledger/verbs.ts';
import type { CollectorStatus } from '#observe/observations/board.ts';
import { type OutageView } from './outages.ts';
import { type StoredPlanView } from './stored-plans.ts';
import type { Verdict } from './verdict-level.ts';

/**
 * `ok`: the last run succeeded. `failing`: it did not, what it read before still stands. `stale`: what was read is too
 * old, its gauges are withheld. `pending`: no run has ended yet. `off`: it does not run, see the field of that name.
 */
export type SourceState = 'ok' | 'failing' | 'stale' | 'pending' | 'off';

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
  readonly items: number;
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
