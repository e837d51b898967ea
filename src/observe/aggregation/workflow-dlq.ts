/**
 * Counts the runs that entered and left the workflow DLQ, each once. A run is counted in when its dlqId is first read,
 * and out when a complete listing no longer has it. The absence of a run from an incremental listing proves nothing.
 *
 * Pages shift while the set changes, so a listing of several pages may skip a run that still exists. The aggregation therefore
 * returns missing runs without an explanation from `unexplained`, to be requested individually. A run is counted out
 * when the service no longer finds it. If it cannot be requested, the next complete listing must lack it, too. A run
 * that was counted out is remembered for a day. If it reappears, it is not counted in or out again.
 */
import { failureReason } from '#foundation/domain/reason.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { workflowLabel } from '#foundation/domain/workflow-label.ts';
import { memoByText } from '#foundation/platform/memo.ts';
import type { CounterName } from '../catalog/catalog.ts';
import { Gathered } from './gathered.ts';
import type { Increment } from './totals.ts';
import type { KnownRun, WorkflowDlqCommit, WorkflowDlqMemory } from './workflow-dlq-store.ts';

/**
 * Cause of a run's departure. `other`: the daemon did not remove the run and, if the retention is known, the run
 * did not expire. `unknown`: the DLQ was not read for so long that both someone else and expiry are possible.
 */
const LEFT_CAUSES = ['resumed', 'deleted', 'expired', 'other', 'unknown'] as const;
type LeftCause = (typeof LEFT_CAUSES)[number];

const HOUR_MS = 3_600_000;
const REMEMBERED_MS = 24 * HOUR_MS;
/** Maximum time that a request about a run may stay unanswered. */
const UNANSWERED_MS = 24 * HOUR_MS;
/** Maximum offset of the service's clock ahead of ours. */
const SKEW_MS = 60_000;
/** Number of runs per commit. A longer transaction would block the event loop. */
const RUNS_AT_ONCE = 2_000;

export interface DlqReading {
  readonly account: string;
  /** Rows with distinct dlqIds. */
  readonly rows: readonly WorkflowDlqEntry[];
  /** True if every page of the unfiltered listing was read. */
  readonly isWhole: boolean;
  readonly pages: number;
  /** Number of invalid rows. Their runs are unknown. */
  readonly dropped: number;
  /** Epoch milliseconds of the end of the listing. */
  readonly at: number;
  /** Runs that were requested individually and do not exist. */
  readonly gone?: ReadonlySet<string>;
  /** False if the service does not support such a request. */
  readonly canAsk?: boolean;
}

/** The daemon's own recorded actions on entries, by dlqId. */
export type OwnActions = ReadonlyMap<string, 'resumed' | 'deleted'>;

export interface DlqAggregationOptions {
  /** Returns the label to count a workflow under. */
  readonly admit: (label: 'workflow', value: string) => string;
  /** Actions on the entries that `departing` returned. An action without an effect is none. */
  readonly actedOn: OwnActions;
  /** Retention of runs in the service; undefined if unknown. */
  readonly retentionMs?: number;
  /** Usual time between two readings of a run. */
  readonly unseenMs: number;
}

const labelOf = memoByText(2_000, workflowLabel);

/** Yields the commits of a reading. Each is complete in itself; the last one records the end of a complete listing. */
export function* aggregateWorkflowDlq(
  reading: DlqReading,
  memory: WorkflowDlqMemory,
  options: DlqAggregationOptions,
): Generator<WorkflowDlqCommit> {
  const { account, rows, isWhole, dropped, at } = reading;
  // Nothing is counted before the first complete listing has ended: existing runs are not a spike.
  const isBaseline = memory.listedAt === undefined;
  if (isBaseline && !isWhole) return;
  const commits = new Commits(account, memory);
  for (const row of rows) {
    enter(commits, row, memory.runs.get(row.dlqId), { ...options, isBaseline, at });
    if (commits.isFull) yield commits.take();
  }
  if (isWhole && dropped === 0 && !isBaseline) {
    const listed = new Set(rows.map(({ dlqId }) => dlqId));
    // Commits change the map during the iteration. A run that is set again is not visited again.
    for (const run of memory.runs.values()) {
      if (!listed.has(run.dlqId)) miss(commits, run, { ...options, reading, listedAt: memory.listedAt! });
      if (commits.isFull) yield commits.take();
    }
  }
  if (isWhole && (dropped === 0 || isBaseline)) yield commits.take(at);
  else if (commits.hasAny) yield commits.take();
}

/** Counts out runs that the daemon acted on, if they are known and not counted out. */
export function aggregateOwnDepartures(
  { account, dlqIds }: { readonly account: string; readonly dlqIds: Iterable<string> },
  memory: WorkflowDlqMemory,
  { actedOn, at }: Pick<DlqAggregationOptions, 'actedOn'> & { readonly at: number },
): WorkflowDlqCommit | undefined {
  const commits = new Commits(account, memory);
  for (const dlqId of dlqIds) {
    const run = memory.runs.get(dlqId);
    const cause = actedOn.get(dlqId);
    if (run === undefined || run.leftAt !== undefined || cause === undefined) continue;
    commits.left(run, cause);
    commits.change({ ...withoutMiss(run), leftAt: at });
  }
  return commits.hasAny ? commits.take() : undefined;
}

/** Returns the known runs that a reading shows as departed, by whatever removed them: missing, or failed again later. */
export function departing(
  { rows, isWhole }: Pick<DlqReading, 'rows' | 'isWhole'>,
  { runs }: Pick<WorkflowDlqMemory, 'runs'>,
): readonly string[] {
  const listed = new Map(rows.map(({ dlqId, createdAt }) => [dlqId, createdAt]));
  const missing = isWhole ? Infinity : -Infinity;
  return [...runs.values()]
    .filter((run) => run.leftAt === undefined && (listed.get(run.dlqId) ?? missing) > run.createdAt)
    .map(({ dlqId }) => dlqId);
}

/**
 * Returns the runs that a complete listing lacks and that either left or were skipped. Runs that were already missing
 * come first.
 */
export function unexplained(
  reading: DlqReading,
  memory: WorkflowDlqMemory,
  options: DlqAggregationOptions,
): KnownRun[] {
  const { rows, isWhole, dropped, pages } = reading;
  const { listedAt } = memory;
  if (!isWhole || dropped > 0 || pages <= 1 || listedAt === undefined) return [];
  const listed = new Set(rows.map(({ dlqId }) => dlqId));
  const missing = [...memory.runs.values()].filter(
    (run) =>
      run.leftAt === undefined && !listed.has(run.dlqId) && !explains(causeOf(run, { ...options, reading, listedAt })),
  );
  return [
    ...missing.filter(({ missedSince }) => missedSince !== undefined),
    ...missing.filter(({ missedSince }) => missedSince === undefined),
  ];
}

interface EnterOptions extends DlqAggregationOptions {
  readonly isBaseline: boolean;
  readonly at: number;
}

function enter(commits: Commits, row: WorkflowDlqEntry, known: KnownRun | undefined, options: EnterOptions): void {
  const { dlqId, createdAt, workflowRunId } = row;
  if (known !== undefined && createdAt <= known.createdAt) {
    if (known.missedSince !== undefined) commits.change(withoutMiss(known));
    return;
  }
  // The id now belongs to a later failure. The earlier failure has left, by whatever restarted the run.
  if (known !== undefined && known.leftAt === undefined) commits.left(known, options.actedOn.get(dlqId) ?? 'other');
  const workflow = options.admit('workflow', labelOf(row.workflowUrl));
  commits.change({ dlqId, workflow, createdAt, workflowRunId });
  if (!options.isBaseline) commits.entered(workflow, row);
}

interface MissOptions extends DlqAggregationOptions {
  readonly reading: DlqReading;
  readonly listedAt: number;
}

/** Handles a run that a complete listing lacks. */
function miss(commits: Commits, run: KnownRun, options: MissOptions): void {
  const { reading } = options;
  const { at, pages, gone, canAsk = false } = reading;
  if (run.leftAt !== undefined) {
    if (at - run.leftAt > REMEMBERED_MS) commits.forget(run);
    return;
  }
  const cause = causeOf(run, options);
  const isUnanswered = !canAsk || at - lastSeen(run, options) > UNANSWERED_MS;
  const isMissedAgain = run.missedSince !== undefined && isUnanswered;
  if (explains(cause) || pages <= 1 || gone?.has(run.dlqId) === true || isMissedAgain) {
    commits.left(run, cause);
    commits.change({ ...withoutMiss(run), leftAt: at });
  } else if (run.missedSince === undefined) {
    commits.change({ ...run, missedSince: lastSeen(run, options) });
  }
}

function lastSeen({ missedSince, createdAt }: KnownRun, { listedAt }: MissOptions): number {
  return missedSince ?? Math.max(listedAt, createdAt);
}

function causeOf(run: KnownRun, options: MissOptions): LeftCause {
  return options.actedOn.get(run.dlqId) ?? causeOfAge(run.createdAt, lastSeen(run, options), options);
}

/** Returns true if the cause proves that a missing run has left. */
function explains(cause: LeftCause): boolean {
  return cause === 'resumed' || cause === 'deleted' || cause === 'expired';
}

function causeOfAge(createdAt: number, seenAt: number, options: MissOptions): LeftCause {
  const { retentionMs, unseenMs, reading } = options;
  if (retentionMs === undefined) return 'other';
  const expiresAt = createdAt + retentionMs;
  if (expiresAt > reading.at + SKEW_MS) return 'other';
  return expiresAt - seenAt <= Math.max(HOUR_MS, unseenMs) ? 'expired' : 'unknown';
}

function withoutMiss({ missedSince: _missedSince, ...run }: KnownRun): KnownRun {
  return run;
}

/** Collects the changes of one commit. */
class Commits {
  readonly #account: string;
  readonly #memory: WorkflowDlqMemory;
  #changed: KnownRun[] = [];
  #forgotten: string[] = [];
  #counts = new Map<string, Increment>();
  #lifetimes: Gathered | undefined;

  constructor(account: string, memory: WorkflowDlqMemory) {
    this.#account = account;
    this.#memory = memory;
  }

  get hasAny(): boolean {
    return this.#changed.length + this.#forgotten.length + this.#counts.size > 0;
  }

  get isFull(): boolean {
    return this.#changed.length + this.#forgotten.length >= RUNS_AT_ONCE;
  }

  change(run: KnownRun): void {
    this.#changed.push(run);
    if (this.#memory.workflows.has(run.workflow)) return;
    // All causes of a workflow are exported as soon as the workflow is, so that the first departure is an increase.
    for (const cause of LEFT_CAUSES) this.#count('msgsvc_workflow_dlq_left_runs_total', [run.workflow, cause], 0);
  }

  forget(run: KnownRun): void {
    this.#forgotten.push(run.dlqId);
  }

  entered(workflow: string, row: WorkflowDlqEntry): void {
    const reason = failureReason(row.responseStatus, row.responseText);
    this.#count('msgsvc_workflow_dlq_entered_runs_total', [workflow, reason], 1);
    const { createdAt, workflowCreatedAt } = row;
    if (workflowCreatedAt === undefined || workflowCreatedAt > createdAt) return;
    this.#lifetimes ??= new Gathered('msgsvc_workflow_run_lifetime_seconds');
    this.#lifetimes.observe(createdAt - workflowCreatedAt);
  }

  left(run: KnownRun, cause: LeftCause): void {
    this.#count('msgsvc_workflow_dlq_left_runs_total', [run.workflow, cause], 1);
  }

  take(listedAt?: number): WorkflowDlqCommit {
    const commit: WorkflowDlqCommit = {
      account: this.#account,
      listedAt,
      increments: [...this.#counts.values()],
      histograms: this.#lifetimes === undefined ? [] : [this.#lifetimes.increment([])],
      changed: this.#changed,
      forgotten: this.#forgotten,
    };
    this.#changed = [];
    this.#forgotten = [];
    this.#counts = new Map();
    this.#lifetimes = undefined;
    return commit;
  }

  #count(metric: CounterName, labels: readonly string[], by: number): void {
    const key = `${metric}\0${labels.join('\0')}`;
    const before = this.#counts.get(key);
    this.#counts.set(key, { metric, labels, by: (before?.by ?? 0) + by });
  }
}
