/**
 * Operations that the daemon sends by itself, as methods named after them (interface, section 4). Operators send the
 * others by name (raw-calls.ts). The rest of the daemon uses only these interfaces. URLs, headers and wire JSON are hidden behind them.
 *
 * Every method rejects with a `ServiceError` (see service-error.ts), or with an `InvalidRequestError` if an argument is
 * invalid. It rejects with the signal's reason if that is aborted while nothing is being sent.
 */
import type { CarriedMessage } from '#foundation/domain/carried-message.ts';
import type { FlowControlKey, FlowControlSpec } from '#foundation/domain/flow-control.ts';
import type { InvalidLogRow, LogEntry } from '#foundation/domain/log-entry.ts';
import type { SearchIndex, AccountStats, StatsPeriod, VectorStats } from '#foundation/domain/statistics.ts';
import type { UrlGroup } from '#foundation/domain/observation.ts';
import type { WorkflowDlqEntry, WorkflowRun } from '#foundation/domain/workflow-dlq.ts';
import type { dlqFilters, logQuery, workflowFilters } from './operations.ts';

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
  /** Number of bytes that the rows were parsed from. */
  readonly bytes?: number;
  /** Absent at the end. An empty cursor counts as absent. */
  readonly cursor?: string;
}

export interface LogPage extends Page<LogEntry> {
  /** Dropped rows that can be recognized. */
  readonly invalid?: readonly InvalidLogRow[];
}

/** Value of a key of an operation, as the daemon itself gives it. Times are epoch milliseconds, inclusive. */
type KeyValue<K> = K extends { readonly kind: 'choice'; readonly values: readonly (infer V)[] }
  ? V
  : K extends { readonly kind: 'texts' | 'ids' }
    ? NonEmpty<string>
    : K extends { readonly kind: 'statuses' }
      ? NonEmpty<number>
      : K extends { readonly kind: 'time' | 'count' | 'amount' }
        ? number
        : string;

type Given<Keys> = { readonly [K in keyof Keys]?: KeyValue<Keys[K]> };

export type LogQuery = Given<typeof logQuery>;

/** Filters of the workflow DLQ. Values of one filter are alternatives; several filters must all match. */
export type WorkflowDlqFilter = Given<typeof workflowFilters>;

export type WorkflowDlqQuery = WorkflowDlqFilter & Pick<LogQuery, 'cursor' | 'count'>;

/** Parsed entry with its complete original row. */
export interface WholeWorkflowDlqEntry {
  readonly entry: WorkflowDlqEntry;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Settings of a delivery that the daemon sends, by the keys of the operation. */
interface DeliveryRequest {
  readonly body: string;
  /** Headers forwarded to the destination without the prefix. */
  readonly forward: Readonly<Record<string, string>>;
  readonly retries: number;
  readonly label: NonEmpty<string>;
}

export interface PublishRequest extends DeliveryRequest {
  /** URL, or name of a URL Group. */
  readonly destination: string;
  /** Queue that delivers the message. The interface documents queues, but no operation that adds a message to one. */
  readonly queue?: string;
  readonly contentType?: string;
  /** Duration in the service's format: `30s`, `1h30m`. */
  readonly timeout?: string;
  /** URL that is called after each delivery attempt. */
  readonly callback?: string;
  readonly callbackRetries?: number;
  readonly callbackForward?: Readonly<Record<string, string>>;
  /** `body`, `headers`, `header[<name>]`. */
  readonly redactFields?: NonEmpty<string>;
  readonly flowControl?: FlowControlSpec;
}

/** Place where the service reports a failure, with headers for it. */
export interface FailureCallback {
  readonly url: string;
  readonly forward: Readonly<Record<string, string>>;
}

export interface PublishAgain {
  readonly labels: NonEmpty<string>;
  readonly retries: number;
  readonly deduplicationId: string;
  /** For a message that names none of its own. */
  readonly failureCallback?: FailureCallback;
}

export interface TriggerRequest extends DeliveryRequest {
  readonly workflowUrl: string;
}

export interface PublishResult {
  readonly messageId: string;
  /** Endpoint, if the destination was a URL Group and the response names it. */
  readonly url?: string;
}

/** Settings of a resumed run that replace its original ones. */
export interface ResumeOverrides {
  readonly retries?: number;
  readonly flowControl?: FlowControlSpec;
  readonly labels?: NonEmpty<string>;
}

/** Filter for a prune of the message DLQ without ids. An upper bound in time and a page size are mandatory. */
export type DlqFilter = Given<typeof dlqFilters> & { readonly toDate: number; readonly count: number };

/**
 * Message API. Resume and delete of workflow DLQ entries take ids only. The service's filter-based forms act on sets
 * that no one has inspected, so this interface does not offer them.
 */
export interface MessageApi {
  listUrlGroups(call: CallOptions): Promise<Answer<readonly UrlGroup[]>>;
  listLogs(query: LogQuery, call: CallOptions): Promise<LogPage>;
  /** Publishes a message. Returns one result, or one per endpoint of a URL Group. */
  publish(request: PublishRequest, call: CallOptions): Promise<readonly PublishResult[]>;
  /** Publishes a message again: to its URL, with its method, forwarded headers and body. */
  publishAgain(message: CarriedMessage, again: PublishAgain, call: CallOptions): Promise<readonly PublishResult[]>;
  trigger(request: TriggerRequest, call: CallOptions): Promise<WorkflowRun>;
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

export interface ManagementApi {
  /** Sets the budget in whole US dollars per month, 20 to 10000. */
  updateBudget(accountId: string, dollars: number, call: CallOptions): Promise<void>;
  getAccountStats(accountId: string, period: StatsPeriod, call: CallOptions): Promise<Answer<AccountStats>>;
  getIndex(indexId: string, call: CallOptions): Promise<Answer<SearchIndex>>;
  getVectorStats(indexId: string, period: StatsPeriod, call: CallOptions): Promise<Answer<VectorStats>>;
}

export interface ServiceClient extends AsyncDisposable {
  /** Absent if the account has no such API configured. Everything that needs it is off. */
  readonly message?: MessageApi;
  readonly management?: ManagementApi;
  /** Returns the requests sent since the start of the UTC day, and the daemon's own maximum. */
  usage(api: 'message' | 'management'): { readonly usedToday: number; readonly allowedPerDay: number };
}
