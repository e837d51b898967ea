/**
 * The service as methods, named after its operations (interface, section 4). These interfaces are what the rest of the
 * daemon knows of it; URLs, headers and wire JSON stay behind them.
 *
 * Every method rejects with a `ServiceError` (see service-error.ts), with an `InvalidRequestError` when an argument
 * cannot be expressed, or with the signal's reason when that is aborted while nothing is on its way.
 */
import type { FlowControlKey } from '#foundation/domain/flow-control.ts';
import type { InvalidLogRow, LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import type { SearchIndex } from '#foundation/domain/search-index.ts';
import type { AccountStats, StatsPeriod, VectorStats } from '#foundation/domain/statistics.ts';
import type { UrlGroup } from '#foundation/domain/url-group.ts';
import type { WorkflowDlqEntry, WorkflowRun } from '#foundation/domain/workflow-dlq.ts';
import type { Secret } from '#foundation/platform/secret.ts';

/** A list that cannot be empty: an empty list of ids would serialise to no filter, and a bulk call without filter acts on everything. */
export type NonEmpty<T> = readonly [T, ...T[]];

export interface CallOptions {
  readonly signal: AbortSignal;
}

/** What an answer said beside its payload. */
export interface Answer<T> {
  readonly value: T;
  /** Rows that could not be understood and were left out (and counted). */
  readonly dropped: number;
  /** The service's clock (its `Date` header), epoch milliseconds; absent when it sent none. */
  readonly servedAt?: number;
}

export interface Page<T> extends Answer<readonly T[]> {
  /** Absent at the end: an empty cursor of the service is the same. */
  readonly cursor?: string;
}

export interface LogPage extends Page<LogEntry> {
  /** Of the rows that were dropped, those that can be recognized. */
  readonly invalid?: readonly InvalidLogRow[];
}

/** Values of the log `state` filter. FAILED is not among them. */
export type LogStateFilter = Exclude<MessageState, 'FAILED'> | 'IN_PROGRESS';

export interface LogQuery {
  readonly cursor?: string;
  readonly messageId?: string;
  readonly state?: LogStateFilter;
  readonly url?: string;
  readonly topicName?: string;
  readonly scheduleId?: string;
  readonly queueName?: string;
  /** Epoch milliseconds, inclusive. */
  readonly fromDate?: number;
  /** Epoch milliseconds, inclusive. */
  readonly toDate?: number;
  /** 1 to 100. */
  readonly count?: number;
  readonly label?: NonEmpty<string>;
}

/** Filters of the workflow DLQ (values of one filter are alternatives; filters narrow each other). */
export interface WorkflowDlqFilter {
  /** Epoch milliseconds, inclusive. */
  readonly fromDate?: number;
  /** Epoch milliseconds, inclusive. */
  readonly toDate?: number;
  readonly workflowUrl?: NonEmpty<string>;
  readonly workflowRunId?: string;
  /** Epoch milliseconds. */
  readonly workflowCreatedAt?: number;
  readonly label?: NonEmpty<string>;
  readonly failureFunctionState?: NonEmpty<string>;
  readonly callerIp?: NonEmpty<string>;
  readonly flowControlKey?: NonEmpty<string>;
}

export interface WorkflowDlqQuery extends WorkflowDlqFilter {
  readonly cursor?: string;
  /** 1 to 100. */
  readonly count?: number;
}

/** An entry as it is understood, and its whole row as the service told it. */
export interface WholeWorkflowDlqEntry {
  readonly entry: WorkflowDlqEntry;
  readonly row: Readonly<Record<string, unknown>>;
}

export interface FlowControl {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Seconds. */
  readonly period?: number;
}

/** `Svc-Callback-<Setting>` and `Svc-Failure-Callback-<Setting>`. */
export interface CallbackRequest {
  readonly url: string;
  readonly method?: HttpMethod;
  /** As the service writes durations: `30s`, `1h30m`. */
  readonly timeout?: string;
  readonly retries?: number;
  readonly retryDelay?: string;
  readonly delay?: string;
  readonly forwardHeaders?: Readonly<Record<string, string>>;
}

type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface DeliveryOptions {
  /** Forwarded to the destination with the prefix stripped. */
  readonly forwardHeaders?: Readonly<Record<string, string>>;
  readonly retries?: number;
  /** An expression in `retried` (interface 4.1.1). */
  readonly retryDelay?: string;
  readonly delay?: string;
  /** Unix seconds; takes precedence over `delay`. */
  readonly notBefore?: number;
  readonly labels?: NonEmpty<string>;
  readonly flowControl?: FlowControl;
}

export interface PublishRequest extends DeliveryOptions {
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
  readonly method?: HttpMethod;
  readonly timeout?: string;
  readonly deduplicationId?: string;
  readonly contentBasedDeduplication?: boolean;
  readonly callback?: CallbackRequest;
  readonly failureCallback?: CallbackRequest;
  /** `body`, `headers`, `header[<name>]`. */
  readonly redactFields?: NonEmpty<string>;
}

export interface PublishResult {
  readonly messageId: string;
  readonly deduplicated: boolean;
  /** The endpoint, when the destination was a URL Group and the service said. */
  readonly url?: string;
}

export interface TriggerRequest extends DeliveryOptions {
  readonly body?: string | Uint8Array;
  readonly workflowRunId?: string;
  readonly failureCallback?: Pick<CallbackRequest, 'url' | 'forwardHeaders'>;
}

/** What a resumed run shall have instead of what it had. */
export interface ResumeOverrides {
  readonly retries?: number;
  readonly delay?: string;
  readonly retryDelay?: string;
  readonly flowControl?: FlowControl;
  readonly labels?: NonEmpty<string>;
  readonly failureCallback?: string;
}

/** A prune of the message DLQ without ids: an upper bound in time and a page size are mandatory. */
export interface DlqFilter {
  /** Epoch milliseconds, inclusive. */
  readonly toDate: number;
  /** 1 to 100. */
  readonly count: number;
  readonly cursor?: string;
  readonly messageId?: string;
  readonly url?: NonEmpty<string>;
  readonly topicName?: NonEmpty<string>;
  readonly scheduleId?: NonEmpty<string>;
  readonly queueName?: NonEmpty<string>;
  /** Epoch milliseconds, inclusive. */
  readonly fromDate?: number;
  readonly responseStatus?: NonEmpty<number>;
  readonly callerIp?: NonEmpty<string>;
  readonly label?: NonEmpty<string>;
  readonly flowControlKey?: NonEmpty<string>;
}

/**
 * The message API. Resume and delete of workflow DLQ entries take ids only: the service's filter-based forms act on
 * sets that nobody has seen, so there is no way to say them here.
 */
export interface MessageApi {
  addEndpoints(
    urlGroup: string,
    endpoints: NonEmpty<{ readonly url: string; readonly name?: string }>,
    call: CallOptions,
  ): Promise<void>;
  listUrlGroups(call: CallOptions): Promise<Answer<readonly UrlGroup[]>>;
  listLogs(query: LogQuery, call: CallOptions): Promise<LogPage>;
  /** One result, or one for each endpoint of a URL Group. */
  publish(destination: string, request: PublishRequest, call: CallOptions): Promise<readonly PublishResult[]>;
  trigger(workflowUrl: string, request: TriggerRequest, call: CallOptions): Promise<WorkflowRun>;
  listWorkflowDlq(query: WorkflowDlqQuery, call: CallOptions): Promise<Page<WorkflowDlqEntry>>;
  /**
   * The same rows, each also whole as the service told it, for the archive alone: they hold the headers and bodies of
   * other people's messages.
   */
  listWholeWorkflowDlq(query: WorkflowDlqQuery, call: CallOptions): Promise<Page<WholeWorkflowDlqEntry>>;
  resumeWorkflowDlq(
    dlqIds: NonEmpty<string>,
    overrides: ResumeOverrides,
    call: CallOptions,
  ): Promise<{ readonly runs: readonly WorkflowRun[]; readonly cursor?: string }>;
  deleteWorkflowDlq(dlqIds: NonEmpty<string>, call: CallOptions): Promise<{ readonly deleted: number }>;
  deleteDlq(
    selection: { readonly dlqIds: NonEmpty<string> } | DlqFilter,
    call: CallOptions,
  ): Promise<{ readonly deleted: number; readonly cursor?: string }>;
  getFlowControl(flowControlKey: string, call: CallOptions): Promise<Answer<FlowControlKey>>;
}

/** What a token rotation answers (interface 2.7): the only place where secrets come out of the client. */
export interface RotatedAccount {
  readonly id: string;
  readonly token: Secret;
  /** Absent when the answer had none that could be read: the new token must not be lost for that. */
  readonly readOnlyToken?: Secret;
  /** Dollars a month; 0 is no limit. */
  readonly budget?: number;
  /** The rest of the record, without secrets. */
  readonly record: Readonly<Record<string, unknown>>;
}

export interface ManagementApi {
  moveToTeam(request: { readonly accountId: string; readonly targetTeamId: string }, call: CallOptions): Promise<void>;
  /** `plan`: `paid`, or `<product>_fixed_1m`, `…_10m`, `…_100m` as the installation spells it. */
  setPlan(accountId: string, plan: string, call: CallOptions): Promise<void>;
  rotateToken(accountId: string, call: CallOptions): Promise<RotatedAccount>;
  /** Whole dollars a month, 20 to 10000. No limit (0 on the wire) must be said in words. */
  updateBudget(accountId: string, dollars: number | 'unlimited', call: CallOptions): Promise<void>;
  getAccountStats(accountId: string, period: StatsPeriod, call: CallOptions): Promise<Answer<AccountStats>>;
  createIndex(
    request: { readonly name: string; readonly region: string; readonly type: string },
    call: CallOptions,
  ): Promise<Answer<SearchIndex>>;
  getIndex(indexId: string, call: CallOptions): Promise<Answer<SearchIndex>>;
  renameIndex(indexId: string, name: string, call: CallOptions): Promise<void>;
  transferIndex(indexId: string, targetAccount: string, call: CallOptions): Promise<void>;
  getVectorStats(indexId: string, period: StatsPeriod, call: CallOptions): Promise<Answer<VectorStats>>;
}

export interface ServiceClient extends AsyncDisposable {
  /** Absent when the account has no such API configured: what needs it is off. */
  readonly message?: MessageApi;
  readonly management?: ManagementApi;
  /** Requests sent since the start of the UTC day, and what the daemon allows itself. */
  usage(api: 'message' | 'management'): { readonly usedToday: number; readonly allowedPerDay: number };
}
