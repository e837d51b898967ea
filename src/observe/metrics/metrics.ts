/**
 * The metrics of the daemon: tables of series that are brought up to date as things happen and, without awaiting, at
 * each scrape, and rendered where they changed. A scrape never calls the service nor reads the store, and what fails in one source
 * withholds that source's metrics and is counted, while the rest is served.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import { createHash } from 'node:crypto';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { BudgetKnowledge } from '#foundation/domain/known-budget.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { LabelStore } from '../aggregation/label-store.ts';
import type { TotalsStore } from '../aggregation/totals.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api, EventBus } from '#foundation/events/events.ts';
import { createApiHealth } from './api-health.ts';
import { countEvents } from './event-metrics.ts';
import { createExposition, type ScrapeBody } from './exposition.ts';
import { METRIC_NAMES, specOf, type MetricName } from '../catalog/catalog.ts';
import { createFamilies, SOURCES, type Families, type Source } from './families.ts';
import type { HandedCounts } from './family-tables.ts';
import { sayLimits, type KnownLimits } from './known-limits.ts';
import { createLabelLimiter, type ReadOf } from './label-limiter.ts';
import type { LabelUse } from './label-places.ts';
import { createMirror } from './mirror.ts';
import { createProcessReader } from './process-metrics.ts';
import { createProjections } from './projections.ts';
import { createSelfMetrics } from './self.ts';
import type { Format } from './series.ts';
import type { MetricsSettings } from './settings.ts';
import { createReadings, type Readings } from './readings.ts';
import { createStoreStats, type StoreReadings } from './store-stats.ts';

export interface MetricsDeps extends Readings {
  readonly board: ObservationBoard;
  readonly events: EventBus;
  readonly clock: Clock;
  readonly settings: MetricsSettings;
  readonly accounts: readonly {
    readonly name: string;
    readonly apis: readonly Api[];
    readonly requestsPerDay: number;
    readonly dlqRetentionMs?: number;
    readonly limits?: KnownLimits;
  }[];
  /** Totals persisted in the store, which are mirrored here. */
  readonly totals: TotalsStore;
  /** Where label values keep their places. */
  readonly labels: LabelStore;
  /** Values of a label that the configuration of an account names. */
  configured?(account: string, label: string): readonly string[];
  /** The span of a message's delivery, for exemplars; undefined when it is not traced. */
  spanOf?(account: string, messageId: string): SpanRef | undefined;
  /** The span of the daemon's own that the caller runs inside of, for exemplars. */
  currentSpan?(): SpanRef | undefined;
  usage(account: string, api: Api): { readonly usedToday: number; readonly allowedPerDay: number };
  policies(): readonly PolicyStatus[];
  engine(): EngineReadings;
  /** What is known of an account's budget; undefined when nobody knows it. */
  budget?(account: string): BudgetKnowledge | undefined;
  /** The files of the store now. */
  store?(): StoreReadings;
  readonly stateRestored: boolean;
  readonly configHash: string;
  /** What earlier daemons of this process counted. */
  readonly handed?: HandedCounts;
  readonly build: { readonly version: string; readonly revision: string };
}

export interface Metrics extends Disposable {
  /** The body of a scrape. Never rejects for what a source does. */
  render(format: Format): Promise<ScrapeBody>;
  /**
   * The value to count a label under: itself, cleaned, or `other` when no more values of this label are admitted. Folds
   * that keep totals ask here, so that the store holds no more values than the metrics show.
   *
   * @param amount how much of it was seen, for the figures of what folds
   */
  admit(account: string, label: string, value: string, amount?: number): string;
  /**
   * Keeps the places of label values, and lets those go that are idle: to be called every few seconds.
   *
   * @throws {Error} when the store cannot be written; the next call tries again
   */
  tidyLabels(): void;
  /** What a daemon that follows in this process goes on counting from. To be called when nothing is counted any more. */
  handOver(): HandedCounts;
  /** How the labels are used whose values come from outside. */
  labelUse(): readonly LabelUse[];
}

const LEVELS = ['debug', 'info', 'warn', 'error'];

export function createMetrics(deps: MetricsDeps): Metrics {
  const { board, clock, events, settings, accounts } = deps;
  const limiter = createLabelLimiter({
    settings: settings.labels,
    store: deps.labels,
    clock,
    configured: (account, label) => deps.configured?.(account, label) ?? [],
    onFolded: (label) => families.add('opsd_label_values_folded_total', { label }),
    totalsBy,
    onEvicted: (account, label, value) => families.drop(account, label, value),
  });
  const families = createFamilies({
    limiter,
    clock,
    zeroForMs: settings.newSeriesZeroFor,
    maxSeries: settings.maxSeries,
    debug: settings.debug,
    onRefused: createRefusals(() => families, deps),
    accounts: accounts.map(({ name }) => name),
    ...(deps.handed !== undefined && { handed: deps.handed }),
  });
  const health = createApiHealth(clock);
  const onFailure = (source: Source): void => families.add('opsd_projection_failures_total', { source });
  const ofProcess = createProcessReader(() => onFailure('process'));

  const readings = createReadings(families, deps);
  sayOnce(families, deps);
  for (const label of limiter.labels) families.add('opsd_label_values_folded_total', { label }, 0);
  // What the store knows comes first in line for the places of a label, as it did before a restart.
  const mirror = createMirror({
    accounts,
    totals: deps.totals,
    families,
    limiter,
    spanOf: (account, messageId) => deps.spanOf?.(account, messageId),
    onFailure: () => onFailure('store'),
  });
  const projections = createProjections({ board, clock, settings, accounts, families, onFailure });
  const self = createSelfMetrics({
    ...deps,
    families,
    health,
    budget: (account) => deps.budget?.(account),
    onFailure,
  });
  const parts: readonly (() => void)[] = [
    () => mirror.refresh(),
    () => projections.refresh(),
    () => self.refresh(),
    ...(deps.store === undefined ? [] : [createStoreStats(families, () => deps.store!())]),
    ...Object.values(readings),
  ];
  const subscription = countEvents({
    events,
    clock,
    families,
    health,
    currentSpan: () => deps.currentSpan?.(),
  });
  refresh();
  families.hold();
  const exposition = createExposition({
    tables: families.tables,
    refresh,
    heldCounters: () => families.heldCount(),
    textBehind: (format) => ofProcess.read(format),
  });

  function refresh(): void {
    for (const part of parts) {
      try {
        part();
      } catch {
        onFailure('process');
      }
    }
    families.releaseHeld();
    countSeries(families, { ofProcess: ofProcess.names, debug: settings.debug });
  }

  return {
    admit: (account, label, value, amount) => limiter.admit(account, label, value, amount),
    tidyLabels: () => limiter.tidy((account, collectors) => readOf(board, account, collectors)),
    labelUse: () => limiter.use(),
    handOver() {
      readings.takeAudit();
      return families.handOver();
    },
    render: (format) => exposition.render(format),
    [Symbol.dispose]() {
      subscription[Symbol.dispose]();
      projections[Symbol.dispose]();
      self[Symbol.dispose]();
      mirror[Symbol.dispose]();
    },
  };
}

/** Counts label sets that were refused, and reports the first one of each metric. */
function createRefusals(families: () => Families, { events, settings }: MetricsDeps): (family: string) => void {
  const reported = new Set<string>();
  return (family) => {
    families().add('opsd_series_refused_total', {});
    if (reported.has(family)) return;
    reported.add(family);
    events.emit({ type: 'series.refused', family, limit: settings.maxSeries });
  };
}

/** Shows how many series the next scrape has. */
function countSeries(
  families: Families,
  { ofProcess, debug }: { readonly ofProcess: readonly string[]; readonly debug: boolean },
): void {
  const { put, samples } = families.collect('process');
  let total = ofProcess.length;
  for (const { name, series: known } of families.tables) {
    let series = known;
    if (name === 'opsd_series') series = 1;
    // A series for each metric, this one too.
    else if (name === 'opsd_series_by_family') series = families.tables.length + ofProcess.length;
    total += series;
    if (debug) put('opsd_series_by_family', { family: name }, series);
  }
  if (debug) for (const family of ofProcess) put('opsd_series_by_family', { family }, 1);
  put('opsd_series', {}, total);
  families.exchange(['opsd_series', 'opsd_series_by_family'], [samples]);
}

/** Returns when the collectors of an account last succeeded, and how often they run. */
function readOf(board: ObservationBoard, ...[account, collectors]: Parameters<ReadOf>): ReturnType<ReadOf> {
  const statuses = board
    .statuses()
    .filter((status) => status.account === account && collectors.includes(status.collector))
    .filter((status) => status.off === undefined);
  return {
    lastSuccesses: statuses.map((status) => status.lastSuccessAt),
    intervalMs: Math.max(0, ...statuses.map((status) => status.intervalMs)),
  };
}

/** Totals of the store that have a label, and where it stands among their labels. */
function totalsBy(label: string): { readonly metric: MetricName; readonly index: number }[] {
  return METRIC_NAMES.filter((metric) => specOf(metric).mirrored === true)
    .map((metric) => ({ metric, index: specOf(metric).labels.indexOf(label) }))
    .filter(({ index }) => index >= 0);
}

/** What does not change while the process runs, and the zeroes of what has not happened yet. */
function sayOnce(families: Families, deps: MetricsDeps): void {
  const { version, revision } = deps.build;
  families.set('opsd_build_info', { version, revision, node_version: process.version }, 1);
  families.set('opsd_series_limit', {}, deps.settings.maxSeries);
  families.set('opsd_state_restored', {}, deps.stateRestored ? 1 : 0);
  families.set('opsd_config_hash', {}, numberOf(deps.configHash));
  for (const source of SOURCES) {
    families.add('opsd_refused_values_total', { source }, 0);
    families.add('opsd_projection_failures_total', { source }, 0);
  }
  for (const level of LEVELS) families.add('opsd_log_messages_total', { level }, 0);
  for (const { name, limits } of deps.accounts) sayLimits(families, name, limits);
}

/** 48 bits of a hash: the most hex digits that a sample holds exactly and that compare by eye. */
function numberOf(hash: string): number {
  const hex = /^[0-9a-f]{12}/i.test(hash) ? hash : createHash('sha256').update(hash).digest('hex');
  return Number.parseInt(hex.slice(0, 12), 16);
}
