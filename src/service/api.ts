/**
 * API of the service as methods named after its operations (interface, section 4). The rest of the daemon uses only
 * these interfaces. URLs, headers and wire JSON are hidden behind them.
 *
 * Every method rejects with a `ServiceError` (see service-error.ts), or with an `InvalidRequestError` if an argument is
 * invalid. It rejects with the signal's reason if that is aborted while nothing is being sent.
 */
import type { FlowControlKey } from '#foundation/domain/flow-control.ts';
import type { InvalidLogRow, LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import type { SearchIndex } from '#foundation/domain/search-index.ts';
import type { AccountStats, StatsPeriod, VectorStats } from '#foundation/domain/statistics.ts';
import type { UrlGroup } from '#foundation/domain/url-group.ts';
import type { WorkflowDlqEntry, WorkflowRun } from '#foundation/domain/workflow-dlq.ts';
import type { Secret } from '#foundation/platform/secret.ts';

/**
 * Non-empty list. An empty list of ids would serialize to no filter, and a bulk call without a filter acts on
 * everything.
 */
export type NonEmpty<T> = readonly [T, ...T[]];

export interface CallOptions {
  readonly signal: AbortSignal;
}

/** Response with its metadata. */
export interface Answer<T> {
  readonly value: T;
  /** Number of invalid rows that were dropped. */
  readonly dropped: number;
  /** Service's clock (its `Date` header), in epoch milliseconds; absent if it sent none. */
  readonly servedAt?: number;
}

export interface Page<T> extends Answer<readonly T[]> {
  /** Absent at the end. An empty cursor counts as absent. */
  readonly cursor?: string;
}

export interface LogPage extends Page<LogEntry> {
  /** Dropped rows that can be recognized. */
  readonly invalid?: readonly InvalidLogRow[];
}

/** Value of the log's `state` filter. FAILED is not supported. */
type LogStateFilter = Exclude<MessageState, 'FAILED'> | 'IN_PROGRESS';

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

/** Filters of the workflow DLQ. Values of one filter are alternatives; several filters must all match. */
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

/** Parsed entry with its complete original row. */
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

/** Headers `Svc-Callback-<Setting>` and `Svc-Failure-Callback-<Setting>`. */
export interface CallbackRequest {
  readonly url: string;
  readonly method?: HttpMethod;
  /** Duration in the service's format: `30s`, `1h30m`. */
  readonly timeout?: string;
  readonly retries?: number;
  readonly retryDelay?: string;
  readonly delay?: string;
  readonly forwardHeaders?: Readonly<Record<string, string>>;
}

type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface DeliveryOptions {
  /** Headers forwarded to the destination without the prefix. */
  readonly forwardHeaders?: Readonly<Record<string, string>>;
  readonly retries?: number;
  /** Expression in `retried` (interface 4.1.1). */
  readonly retryDelay?: string;
  readonly delay?: string;
  /** Unix seconds; takes precedence over `delay`. */
  readonly notBefore?: number;
  readonly labels?: NonEmpty<string>;
  readonly flowControl?: FlowControl;
}

export interface PublishRequest extends DeliveryOptions {
  /** Queue that delivers the message. The interface documents queues, but no operation that adds a message to one. */
  readonly queue?: string;
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
  /** Endpoint, if the destination was a URL Group and the response names it. */
  readonly url?: string;
}

export interface TriggerRequest extends DeliveryOptions {
  readonly body?: string | Uint8Array;
  readonly workflowRunId?: string;
  readonly failureCallback?: Pick<CallbackRequest, 'url' | 'forwardHeaders'>;
}

/** Settings of a resumed run that replace its original ones. */
export interface ResumeOverrides {
  readonly retries?: number;
  readonly delay?: string;
  readonly retryDelay?: string;
  readonly flowControl?: FlowControl;
  readonly labels?: NonEmpty<string>;
  readonly failureCallback?: string;
}

/** Filter for a prune of the message DLQ without ids. An upper bound in time and a page size are mandatory. */
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
 * Message API. Resume and delete of workflow DLQ entries take ids only. The service's filter-based forms act on sets
 * that no one has inspected, so this interface does not offer them.
 */
export interface MessageApi {
  addEndpoints(
    urlGroup: string,
    endpoints: NonEmpty<{ readonly url: string; readonly name?: string }>,
    call: CallOptions,
  ): Promise<void>;
  listUrlGroups(call: CallOptions): Promise<Answer<readonly UrlGroup[]>>;
  listLogs(query: LogQuery, call: CallOptions): Promise<LogPage>;
  /** Publishes a message. Returns one result, or one per endpoint of a URL Group. */
  publish(destination: string, request: PublishRequest, call: CallOptions): Promise<readonly PublishResult[]>;
  trigger(workflowUrl: string, request: TriggerRequest, call: CallOptions): Promise<WorkflowRun>;
  listWorkflowDlq(query: WorkflowDlqQuery, call: CallOptions): Promise<Page<WorkflowDlqEntry>>;
  /**
   * Returns the same rows, each with its complete original. Only for the archive: they contain headers and bodies of
   * users' messages.
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

/** Response to a token rotation (interface 2.7). It is the only place where secrets leave the client. */
export interface RotatedAccount {
  readonly id: string;
  readonly token: Secret;
  /** Absent if the response had no readable one. The new token must not be lost because of that. */
  readonly readOnlyToken?: Secret;
  /** US dollars per month; 0 is unlimited. */
  readonly budget?: number;
  /** Other fields of the record, without secrets. */
  readonly record: Readonly<Record<string, unknown>>;
}

export interface ManagementApi {
  moveToTeam(request: { readonly accountId: string; readonly targetTeamId: string }, call: CallOptions): Promise<void>;
  /** Sets the plan: `paid`, or `<product>_fixed_1m`, `…_10m`, `…_100m` as named by the installation. */
  setPlan(accountId: string, plan: string, call: CallOptions): Promise<void>;
  rotateToken(accountId: string, call: CallOptions): Promise<RotatedAccount>;
  /**
   * Sets the budget in whole US dollars per month, 20 to 10000. Unlimited (0 on the wire) must be passed as
   * `unlimited`.
   */
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
  /** Absent if the account has no such API configured. Everything that needs it is off. */
  readonly message?: MessageApi;
  readonly management?: ManagementApi;
  /** Returns the requests sent since the start of the UTC day, and the daemon's own maximum. */
  usage(api: 'message' | 'management'): { readonly usedToday: number; readonly allowedPerDay: number };
}
