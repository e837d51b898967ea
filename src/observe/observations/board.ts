/**
 * Connects reading and publishing: the latest complete batch of each collector, and the results of its runs. After a
 * failed run, the previous batch stays and its age grows visibly.
 */
import type { Batch, CollectorName } from '#foundation/domain/observation.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { Departures } from './departures.ts';
import { LogLag } from './log-lag.ts';

/** Status of a collector without its data. Times are epoch milliseconds. */
export interface CollectorStatus {
  readonly account: string;
  readonly collector: CollectorName;
  /**
   * Reason why the collector does not run: the account lacks the API, or the collector is disabled. Absent if it runs.
   */
  readonly off?: string;
  /** Readable schedule: `every 30s`, or the cron expression with its time zone. */
  readonly schedule: string;
  readonly intervalMs: number;
  readonly maxStalenessMs: number;
  readonly runs: number;
  readonly failures: number;
  readonly lastRunAt?: number;
  readonly lastDurationMs?: number;
  readonly lastSuccessAt?: number;
  readonly lastFailure?: { readonly at: number; readonly reason: string; readonly message: string };
  readonly lastRunFailed: boolean;
}

/** Board as views read it. */
export interface BoardReader extends Pick<ObservationBoard, 'latest' | 'fresh' | 'isStale' | 'statuses'> {
  readonly logLag: Pick<LogLag, 'of'>;
}

type Registration = Pick<
  CollectorStatus,
  'account' | 'collector' | 'schedule' | 'intervalMs' | 'maxStalenessMs' | 'off'
>;

export class ObservationBoard {
  /** Lag of the log counting. It is current even while runs of the collector fail. */
  readonly logLag: LogLag;
  readonly #clock: Clock;
  readonly #batches = new Map<string, Batch>();
  readonly #freshAt = new Map<string, number>();
  readonly #statuses = new Map<string, CollectorStatus>();
  readonly #departures = new Departures();
  readonly #listeners = new Set<(batch: Batch, freshAt: number) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.logLag = new LogLag(clock);
  }

  /** Registers a collector before its first run, so that missing data is visible. */
  register(registration: Registration): void {
    this.#statuses.set(keyOf(registration.account, registration.collector), {
      ...registration,
      runs: 0,
      failures: 0,
      lastRunFailed: false,
    });
  }

  /** Publishes the complete batch of a run. */
  publish(read: Batch, durationMs: number): void {
    const key = keyOf(read.account, read.collector);
    const freshAt = this.#clock.monotonic();
    const batch = isOfWorkflowDlq(read)
      ? { ...read, rows: this.#departures.without(read.account, read.rows, freshAt - durationMs) }
      : read;
    this.#batches.set(key, batch);
    this.#freshAt.set(key, freshAt);
    this.#update(key, (status) => ({
      ...status,
      runs: status.runs + 1,
      lastRunAt: batch.at,
      lastDurationMs: durationMs,
      lastSuccessAt: batch.at,
      lastRunFailed: false,
    }));
    for (const listener of this.#listeners) listener(batch, freshAt);
  }

  /**
   * Removes runs that the daemon's own actions took out of the workflow DLQ. They are removed from the latest batch,
   * whose age does not change, and from a batch that is being read.
   */
  depart(account: string, dlqIds: ReadonlySet<string>): void {
    const key = keyOf(account, 'workflowDlq');
    const before = this.latest(account, 'workflowDlq');
    const rows = this.#departures.leave(account, { dlqIds, rows: before?.rows ?? [], at: this.#clock.monotonic() });
    if (before === undefined || rows.length === before.rows.length) return;
    const batch = { ...before, rows };
    this.#batches.set(key, batch);
    for (const listener of this.#listeners) listener(batch, this.#freshAt.get(key)!);
  }

  /**
   * Returns runs that the daemon's own actions removed from the workflow DLQ in the last 15 minutes. They count as
   * failures.
   */
  departed(account: string): readonly WorkflowDlqEntry[] {
    return this.#departures.recent(account, this.#clock.monotonic());
  }

  /** Records a run without a batch. */
  fail(
    account: string,
    collector: CollectorName,
    failure: { readonly reason: string; readonly message: string; readonly durationMs: number },
  ): void {
    const at = this.#clock.now();
    this.#update(keyOf(account, collector), (status) => ({
      ...status,
      runs: status.runs + 1,
      failures: status.failures + 1,
      lastRunAt: at,
      lastDurationMs: failure.durationMs,
      lastFailure: { at, reason: failure.reason, message: failure.message },
      lastRunFailed: true,
    }));
  }

  /** Returns the latest complete batch, regardless of age. */
  latest<N extends CollectorName>(account: string, collector: N): Batch<N> | undefined {
    return this.#batches.get(keyOf(account, collector)) as Batch<N> | undefined;
  }

  /** Returns the latest batch, unless it is older than the collector's maximum staleness. */
  fresh<N extends CollectorName>(account: string, collector: N): Batch<N> | undefined {
    return this.isStale(account, collector) ? undefined : this.latest(account, collector);
  }

  /**
   * Returns true if there is no sufficiently recent batch. Age is measured on the monotonic clock, so a clock jump
   * withholds nothing.
   *
   * @param freshAt monotonic time of the batch, if it is not the latest
   */
  isStale(account: string, collector: CollectorName, freshAt = this.#freshAt.get(keyOf(account, collector))): boolean {
    const key = keyOf(account, collector);
    const status = this.#statuses.get(key);
    if (freshAt === undefined || status === undefined) return true;
    return this.#clock.monotonic() - freshAt > status.maxStalenessMs;
  }

  /** Returns milliseconds since the latest complete batch, on the monotonic clock. */
  ageMs(account: string, collector: CollectorName): number | undefined {
    const freshAt = this.freshAt(account, collector);
    return freshAt === undefined ? undefined : this.#clock.monotonic() - freshAt;
  }

  /** Returns the monotonic time of the latest complete batch. */
  freshAt(account: string, collector: CollectorName): number | undefined {
    return this.#freshAt.get(keyOf(account, collector));
  }

  statuses(): readonly CollectorStatus[] {
    return [...this.#statuses.values()];
  }

  /**
   * Calls the listener after each published batch and after each departure. `freshAt` is the monotonic time of the
   * batch's reading.
   */
  subscribe(listener: (batch: Batch, freshAt: number) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #update(key: string, change: (status: CollectorStatus) => CollectorStatus): void {
    const status = this.#statuses.get(key);
    if (status === undefined) throw new Error(`collector ${key} is not registered`);
    this.#statuses.set(key, change(status));
  }
}

function isOfWorkflowDlq(batch: Batch): batch is Batch<'workflowDlq'> {
  return batch.collector === 'workflowDlq';
}

function keyOf(account: string, collector: CollectorName): string {
  return `${account}\0${collector}`;
}
