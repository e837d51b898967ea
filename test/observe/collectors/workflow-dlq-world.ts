/** The workflow DLQ of a fake service, the daemon's readings of it with its store, and its actions. */
import type { WorkflowDlqQuery } from '#service/api.ts';
import { applyOwnDepartures } from '#observe/collectors/own-departures.ts';
import { workflowDlq } from '#observe/collectors/workflow-dlq.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { event } from '../../support/events.ts';
import { memoryStores, type MemoryStores } from '../../support/memory-aggregation-stores.ts';
import { ACCOUNT, context, target } from './fake-context.ts';
import { clientOf, FakeServiceError } from './fake-service.ts';

/** A border of the 15-minute grid. */
export const T0 = Date.UTC(2026, 10, 20, 10);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const URLS = ['https://w.example/order', 'https://w.example/mail/12345'];

type Entry = Partial<WorkflowDlqEntry>;

export class WorkflowDlqWorld {
  readonly clock = new ManualClock(T0);
  readonly held = new Map<string, WorkflowDlqEntry>();
  readonly acted = new Map<string, 'resumed' | 'deleted'>();
  stores: MemoryStores = memoryStores();
  pageSize = 100;
  dropped = 0;
  /** Response of the service to a request for one run. */
  byRun: 'answered' | 'refused' | 'ignored' | 'failing' = 'answered';
  asked: string[] = [];
  readonly queries: WorkflowDlqQuery[] = [];
  maxPages = 50;
  onQuery: (query: WorkflowDlqQuery) => void = () => undefined;
  entered = 0;
  readonly events = new EventBus();
  readonly told: OpsEvent[] = [];
  board: ObservationBoard;
  readonly retentionMs: number | undefined;

  constructor(retentionMs?: number) {
    this.retentionMs = retentionMs;
    this.board = this.#newBoard();
    this.events.subscribe((event) => void this.told.push(event));
    applyOwnDepartures({
      events: this.events,
      clock: this.clock,
      store: {
        memory: (account) => this.stores.workflowDlq.memory(account),
        commitWorkflowDlq: (...commit) => this.stores.workflowDlq.commitWorkflowDlq(...commit),
      },
      actedOn: async () => this.acted,
      depart: (account, dlqIds) => this.board.depart(account, dlqIds),
    });
  }

  /** Returns a world whose first reading, of nothing, was followed by one of these entries. */
  static async entered(...entries: readonly Entry[]): Promise<WorkflowDlqWorld> {
    const w = new WorkflowDlqWorld();
    await w.run();
    for (const entry of entries) w.enter(entry);
    if (entries.length > 0) await w.run();
    return w;
  }

  /** Returns a world whose first reading had so many entries. */
  static async listed(entries: number, retentionMs?: number): Promise<WorkflowDlqWorld> {
    const w = new WorkflowDlqWorld(retentionMs);
    for (let n = 0; n < entries; n++) w.enter();
    await w.run();
    return w;
  }

  #newBoard(): ObservationBoard {
    const board = new ObservationBoard(this.clock);
    const times = { schedule: 'every 1m', intervalMs: MINUTE, maxStalenessMs: HOUR };
    board.register({ account: ACCOUNT, collector: 'workflowDlq', ...times });
    return board;
  }

  get previous(): Batch<'workflowDlq'> | undefined {
    return this.board.latest(ACCOUNT, 'workflowDlq');
  }

  /** Returns the content of the batch. */
  get shown(): readonly string[] {
    return this.previous?.rows.map(({ dlqId }) => dlqId) ?? [];
  }

  /** Simulates an action of the daemon on an entry, with its outcome. */
  act(dlqId: string, cause: 'resumed' | 'deleted', outcome = 'accepted'): void {
    this.acted.set(dlqId, cause);
    const action = cause === 'resumed' ? 'workflow-dlq.resume' : 'workflow-dlq.delete';
    this.events.emit(event('action.outcome', { account: ACCOUNT, target: dlqId, action, outcome }));
  }

  enter(more: Entry = {}): WorkflowDlqEntry {
    const serial = ++this.entered;
    const entry: WorkflowDlqEntry = {
      dlqId: `d${serial}`,
      workflowRunId: `run-${serial}`,
      workflowUrl: URLS[serial % 2]!,
      createdAt: this.clock.now(),
      labels: [],
      responseStatus: 503,
      ...more,
    };
    this.held.set(entry.dlqId, entry);
    return entry;
  }

  /** Runs the collector, once the time has passed. */
  async run(afterMs = 0): Promise<void> {
    if (afterMs > 0) await this.clock.advance(afterMs);
    const { clock, previous, stores } = this;
    const startedAt = clock.monotonic();
    const client = clientOf({ message: { listWorkflowDlq: async (query) => this.#answer(query) } });
    const { rows, dropped } = await workflowDlq.collect(
      client,
      context<'workflowDlq'>({
        target: target({ dlqRetentionMs: this.retentionMs, settings: { workflowDlq: { maxPages: this.maxPages } } }),
        clock,
        stores,
        actedOn: async () => this.acted,
        ...(previous && { previous }),
      }),
    );
    const batch = { account: ACCOUNT, collector: 'workflowDlq' as const, at: clock.now(), rows, dropped };
    this.board.publish(batch, clock.monotonic() - startedAt);
  }

  /** Starts a process with the state of the previous one. */
  restart(): void {
    this.stores = this.stores.restarted();
    this.board = this.#newBoard();
  }

  async wholeRun(): Promise<void> {
    await this.run(15 * MINUTE);
  }

  /** Returns the sums of a counter, by its last label. */
  counts(metric: string): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const row of this.stores.counters(ACCOUNT)) {
      if (row.metric !== metric) continue;
      const label = row.labels.at(-1)!;
      if (row.value > 0) sums[label] = (sums[label] ?? 0) + row.value;
    }
    return sums;
  }

  get in(): Record<string, number> {
    return this.counts('msgsvc_workflow_dlq_entered_runs_total');
  }

  get out(): Record<string, number> {
    return this.counts('msgsvc_workflow_dlq_left_runs_total');
  }

  #answer(query: WorkflowDlqQuery) {
    this.queries.push(query);
    this.onQuery(query);
    for (const { dlqId, createdAt } of this.held.values()) {
      if (this.retentionMs !== undefined && createdAt + this.retentionMs <= this.clock.now()) this.held.delete(dlqId);
    }
    const { workflowRunId } = query;
    if (workflowRunId !== undefined && /\p{Cc}/u.test(workflowRunId)) {
      throw Object.assign(new Error('workflowRunId holds a control character'), { code: 'invalid_request' });
    }
    if (workflowRunId !== undefined) this.asked.push(workflowRunId);
    if (workflowRunId !== undefined && this.byRun === 'refused') throw new FakeServiceError('client_error');
    if (workflowRunId !== undefined && this.byRun === 'failing') throw new FakeServiceError('server_error');
    const matching = [...this.held.values()].filter(
      (row) =>
        row.createdAt >= (query.fromDate ?? 0) &&
        (workflowRunId === undefined || this.byRun === 'ignored' || row.workflowRunId === workflowRunId),
    );
    // Positions shift when an earlier row leaves, which a listing must expect.
    const start = Number(query.cursor ?? 0);
    const next = start + this.pageSize;
    const value = matching.slice(start, next);
    return { value, dropped: this.dropped, ...(next < matching.length && { cursor: String(next) }) };
  }
}
