/**
 * A workflow DLQ behind the client's port. It lists by pages, resumes by id, and fails as configured. It records its
 * effects, whatever it responds.
 */
import type {
  Page,
  PublishAgain,
  ResumeOverrides,
  ServiceClient,
  WholeWorkflowDlqEntry,
  WorkflowDlqQuery,
} from '#service/api.ts';
import type { CarriedMessage } from '#foundation/domain/carried-message.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Clock } from '#foundation/platform/clock.ts';

/**
 * Behavior of the next resume. `lost` acts and loses the response. `late` acts after a minute, when the caller no
 * longer waits. `never_arrived` loses the request.
 */
export type ResumeAnswer =
  | 'good'
  | 'lost'
  | 'late'
  | 'never_arrived'
  | 'refused'
  | 'rate_limited'
  | 'no_run'
  | 'two_runs'
  | 'forbidden'
  | 'lease';

const LATE_MS = 60_000;
const DEDUPLICATED_MS = 600_000;

/** Message that the service took, once for each deduplication id. */
export interface PublishedAgain extends CarriedMessage, PublishAgain {
  readonly messageId: string;
  readonly at: number;
}

export interface ResumeSent {
  readonly dlqIds: readonly string[];
  readonly overrides: ResumeOverrides;
  readonly answer: ResumeAnswer;
  /** Absent when it had no effect. */
  readonly newRunId?: string;
  /** Properties that the new run shares with the entry. */
  readonly resumed?: Pick<WorkflowDlqEntry, 'workflowUrl' | 'labels' | 'fingerprint' | 'workflowCreatedAt'>;
}

type PruneQuery = { readonly dlqIds?: readonly string[]; readonly count?: number };

export class FakeDlq {
  readonly entries = new Map<string, WorkflowDlqEntry>();
  readonly sent: ResumeSent[] = [];
  readonly listings: WorkflowDlqQuery[] = [];
  /** Responses of the next resumes; `good` when the list is empty. */
  answers: ResumeAnswer[] = [];
  pageSize = 3;
  /** Faults of the listing. */
  ignoreFilters = false;
  failOnPage: number | undefined;
  repeatCursor = false;
  repeatRows = false;
  /** Entries of the message log, and whether it can be read. */
  readonly log: LogEntry[] = [];
  /** True if the log has more pages, as that of a service that ignores a filter. */
  hasMoreLog = false;
  readonly published: PublishedAgain[] = [];
  /** Number of requests to publish, whatever became of them. */
  publishes = 0;
  /** Responses of the next publishes. */
  publishAnswers: ('good' | 'lost' | 'never_arrived' | 'refused')[] = [];
  failsLog = false;
  droppedRows = 0;
  clockSkewMs = 0;
  /** Time that a resumed entry stays listed. A second resume in that time starts a second run. */
  lagMs = 0;
  /** Deleted workflow runs, by dlqId. */
  readonly deleted: string[] = [];
  /** Messages in the DLQ, and the deleted ones: ids, or a number. */
  messages = 0;
  readonly pruned: (readonly string[] | number)[] = [];
  readonly budgets: number[] = [];
  /** Surplus that a delete of messages reports beyond the requested number. */
  surplus = 0;
  /** True if a resumed run keeps its id. Also the handling of labels that a resume sends. */
  keepsRunIds = false;
  /** True if entries can be read completely, for the archive. Set before the client is made. */
  showsWhole = false;
  labelOverride: 'replaces' | 'adds' | 'ignored' = 'replaces';
  /** Called before a delete gets its response. */
  onDelete: () => void | Promise<void> = () => undefined;
  /** Called before a resume gets its response. */
  onResume: (dlqId: string, overrides: ResumeOverrides) => void | Promise<void> = () => undefined;
  readonly #clock: Clock;
  #serial = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(over: Partial<WorkflowDlqEntry> = {}): WorkflowDlqEntry {
    const serial = ++this.#serial;
    const entry: WorkflowDlqEntry = {
      dlqId: `dlq-${String(serial).padStart(3, '0')}`,
      workflowRunId: `wfr-${serial}`,
      workflowUrl: 'https://app.example.com/invoice',
      createdAt: this.#clock.now() - 3_600_000 + serial,
      labels: ['billing'],
      responseStatus: 503,
      ...over,
    };
    this.entries.set(entry.dlqId, entry);
    return entry;
  }

  /** Lets the run of a resume fail again, as a new entry with the labels that were sent. */
  failAgain(index: number, over: Partial<WorkflowDlqEntry> = {}): WorkflowDlqEntry {
    const { newRunId, resumed } = this.sent[index]!;
    return this.add({ ...resumed, workflowRunId: newRunId!, createdAt: this.#clock.now(), ...over });
  }

  #labelsOf({ labels }: WorkflowDlqEntry, { labels: sent }: ResumeOverrides): readonly string[] {
    if (this.labelOverride === 'replaces') return sent ?? [];
    return this.labelOverride === 'ignored' ? labels : [...new Set([...labels, ...(sent ?? [])])];
  }

  /** Delivers a request whose caller no longer waits for the response. */
  arrive(dlqId: string, overrides: ResumeOverrides): void {
    if (this.entries.has(dlqId)) this.#act(dlqId, overrides, 'lost');
  }

  /** Returns the requests that had an effect, by dlqId. */
  get effects(): readonly string[] {
    return this.sent.filter((sent) => sent.newRunId !== undefined).flatMap((sent) => sent.dlqIds);
  }

  client(): ServiceClient {
    const message = {
      listLogs: async () => {
        if (this.failsLog) throw failure('server_error', 'possible', 'the service failed');
        return { value: this.log, dropped: 0, ...(this.hasMoreLog && { cursor: 'more' }) };
      },
      listWorkflowDlq: (query: WorkflowDlqQuery, call: { signal: AbortSignal }) => this.#list(query, call.signal),
      ...(this.showsWhole && { listWholeWorkflowDlq: async (query: WorkflowDlqQuery) => this.#listWhole(query) }),
      publishAgain: async (message: CarriedMessage, again: PublishAgain) => this.#publish(message, again),
      resumeWorkflowDlq: (ids: readonly string[], overrides: ResumeOverrides) => this.#resume(ids, overrides),
      deleteWorkflowDlq: async (ids: readonly string[]) => this.#delete(ids),
      deleteDlq: async (what: PruneQuery) => this.#deleteMessages(what),
    };
    const management = { updateBudget: async (_id: string, dollars: number) => this.#setBudget(dollars) };
    return { message, management } as unknown as ServiceClient;
  }

  async #delete(ids: readonly string[]): Promise<{ deleted: number }> {
    await this.onDelete();
    const known = ids.filter((id) => this.entries.delete(id));
    this.deleted.push(...known);
    return { deleted: known.length };
  }

  /** Messages cannot be listed. Their number is `messages`. */
  async #deleteMessages({ dlqIds, count = 0 }: PruneQuery): Promise<{ deleted: number }> {
    await this.onDelete();
    const done = dlqIds?.length ?? Math.min(count, this.messages);
    this.pruned.push(dlqIds ?? done);
    this.messages -= done;
    this.#lose();
    return { deleted: done + this.surplus };
  }

  #publish(message: CarriedMessage, again: PublishAgain): readonly { messageId: string }[] {
    this.publishes += 1;
    const answer = this.publishAnswers.shift() ?? 'good';
    if (answer === 'never_arrived') throw lost();
    if (answer === 'refused') throw failure('client_error', 'none', 'refused');
    const at = this.#clock.now();
    const before = this.published.find(
      (one) => one.deduplicationId === again.deduplicationId && at - one.at < DEDUPLICATED_MS,
    );
    const messageId = before?.messageId ?? `msg-again-${this.published.length}`;
    if (before === undefined) this.published.push({ ...message, ...again, messageId, at });
    if (answer === 'lost') throw lost();
    return [{ messageId }];
  }

  #listWhole(query: WorkflowDlqQuery): Page<WholeWorkflowDlqEntry> {
    const entries = [...this.entries.values()].filter((entry) => meets(entry, query));
    return { value: entries.map((entry) => ({ entry, row: { dlqId: entry.dlqId } })), dropped: 0 };
  }

  #setBudget(dollars: number): void {
    this.budgets.push(dollars);
    this.#lose();
  }

  #lose(): void {
    if (this.answers.shift() === 'lost') throw lost();
  }

  async #list(query: WorkflowDlqQuery, signal: AbortSignal): Promise<Page<WorkflowDlqEntry>> {
    await Promise.resolve();
    signal.throwIfAborted();
    this.listings.push(query);
    const start = query.cursor === undefined ? 0 : Number(query.cursor);
    if (this.failOnPage === start / this.pageSize) throw failure('server_error', 'possible', 'the service failed');
    const rows = [...this.entries.values()].filter((entry) => this.ignoreFilters || meets(entry, query));
    const value = rows.slice(start, start + this.pageSize);
    const next = start + this.pageSize;
    return {
      value: this.repeatRows ? [...value, ...value.slice(0, 1)] : value,
      dropped: start === 0 ? this.droppedRows : 0,
      servedAt: this.#clock.now() - this.clockSkewMs,
      ...(next < rows.length && { cursor: this.repeatCursor ? String(this.pageSize) : String(next) }),
    };
  }

  async #resume(dlqIds: readonly string[], overrides: ResumeOverrides): Promise<{ runs: { workflowRunId: string }[] }> {
    const [dlqId] = dlqIds;
    await this.onResume(dlqId!, overrides);
    const answer = this.answers.shift() ?? 'good';
    const known = this.entries.has(dlqId!);
    const acts = known && (answer === 'good' || answer === 'lost' || answer === 'two_runs');
    const newRunId = acts ? this.#act(dlqId!, overrides, answer) : undefined;
    if (!acts) this.sent.push({ dlqIds, overrides, answer });
    if (answer === 'late') this.#clock.after(LATE_MS, () => this.arrive(dlqId!, overrides));
    switch (answer) {
      case 'lost':
      case 'late':
      case 'never_arrived':
        throw lost();
      case 'refused':
        throw failure('client_error', 'none', 'refused');
      case 'rate_limited':
        throw failure('rate_limited', 'none', 'too many requests');
      case 'forbidden':
        throw failure('forbidden', 'none', 'may not write');
      case 'lease':
        throw failure('lease', 'none', 'the lease ends too soon');
      case 'no_run':
        return { runs: [] };
      case 'two_runs':
        return { runs: [{ workflowRunId: newRunId! }, { workflowRunId: 'wfr-stray' }] };
      case 'good':
        if (newRunId === undefined) throw failure('not_found', 'none', 'no such entry');
        return { runs: [{ workflowRunId: newRunId }] };
    }
  }

  #act(dlqId: string, overrides: ResumeOverrides, answer: ResumeAnswer): string {
    const entry = this.entries.get(dlqId)!;
    const newRunId = this.keepsRunIds ? entry.workflowRunId : `wfr-again-${this.sent.length}`;
    const { workflowUrl, fingerprint, workflowCreatedAt } = entry;
    const resumed = {
      workflowUrl,
      labels: this.#labelsOf(entry, overrides),
      ...(fingerprint !== undefined && { fingerprint }),
      ...(workflowCreatedAt !== undefined && { workflowCreatedAt }),
    };
    this.sent.push({ dlqIds: [dlqId], overrides, answer, newRunId, resumed });
    if (this.lagMs === 0) this.entries.delete(dlqId);
    else this.#clock.after(this.lagMs, () => this.entries.delete(dlqId));
    return newRunId;
  }
}

function meets(entry: WorkflowDlqEntry, query: WorkflowDlqQuery): boolean {
  const one = (wanted: readonly string[] | undefined, value: string | undefined): boolean =>
    wanted === undefined || (value !== undefined && wanted.includes(value));
  return (
    (query.label === undefined || query.label.some((label) => entry.labels.includes(label))) &&
    one(query.workflowUrl, entry.workflowUrl) &&
    (query.workflowRunId === undefined || query.workflowRunId === entry.workflowRunId) &&
    one(query.callerIp, entry.callerIp) &&
    one(query.flowControlKey, entry.flowControlKey) &&
    one(query.failureFunctionState, entry.failureFunctionState) &&
    entry.createdAt >= (query.fromDate ?? 0) &&
    entry.createdAt <= (query.toDate ?? Infinity)
  );
}

function lost(): Error {
  return failure('connection', 'possible', 'reset before an answer');
}

function failure(code: string, effect: 'none' | 'possible', message: string): Error {
  return Object.assign(new Error(message), { code, effect });
}
