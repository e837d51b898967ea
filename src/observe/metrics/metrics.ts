/**
 * Metrics of the daemon: tables of series, updated by events and, synchronously, at each scrape. Only changed parts are
 * rendered again. A scrape neither calls the service nor reads the store. A failing source withholds its own metrics
 * and is counted; all others are served.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import { createHash } from 'node:crypto';
import type { LeaseReadings } from '#foundation/domain/lease-readings.ts';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { AccountBudget } from '#foundation/domain/known-budget.ts';
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
import type { StoredMetrics } from './stored-metrics.ts';
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
  /** Totals in the store, mirrored by the metrics. */
  readonly totals: Pick<TotalsStore, 'follow'>;
  /** Store of the places of label values. */
  readonly labels: Pick<LabelStore, 'save' | 'evict'>;
  readonly stored: StoredMetrics;
  /** Returns the values of a label that the configuration of an account names. */
  configured?(account: string, label: string): readonly string[];
  /** Returns the span of a message's delivery for exemplars. Undefined if it is not traced. */
  spanOf?(account: string, messageId: string): SpanRef | undefined;
  /** Returns the daemon's own current span for exemplars. */
  currentSpan?(): SpanRef | undefined;
  usage(account: string, api: Api): { readonly usedToday: number; readonly allowedPerDay: number };
  /** Policies of the configuration. */
  readonly configuredPolicies: readonly Pick<PolicyStatus, 'account' | 'name'>[];
  policies(): Promise<readonly PolicyStatus[]>;
  engine(): Promise<EngineReadings>;
  /** Returns the budgets of all accounts. */
  budgets?(): Promise<ReadonlyMap<string, AccountBudget>>;
  /** Returns the leases; absent if the daemon does not share its store. */
  leases?(): LeaseReadings;
  /** Returns the current readings of the store's files. */
  store?(): StoreReadings;
  readonly stateRestored: boolean;
  readonly configHash: string;
  /** Counts of earlier daemons in this process. */
  readonly handed?: HandedCounts;
  readonly build: { readonly version: string; readonly revision: string };
}

export interface Metrics extends Disposable {
  /**
   * Reads the policies and the engine again, and totals that could not be read before, for the next scrapes. Must be
   * called every few seconds.
   */
  readStore(): Promise<void>;
  /** Returns the body of a scrape. Never rejects because of a source. */
  render(format: Format): Promise<ScrapeBody>;
  /**
   * Returns the value to count a label under: the cleaned value, or `other` if no more values of this label are
   * admitted. Aggregates with totals call this, so that the store has no more values than the metrics export.
   *
   * @param amount number of occurrences, for the statistics of overflowed values
   */
  admit(account: string, label: string, value: string, amount?: number): string;
  /**
   * Stores the places of label values and frees idle ones. Must be called every few seconds; calls must not overlap.
   * Rejects if the store cannot be written; the next call retries.
   */
  tidyLabels(): Promise<void>;
  /** Removes all series of an account, and admits no others of it. Its leases stay. */
  withdraw(account: string): void;
  /** Returns the counts for the next daemon in this process. Must be called when counting has ended. */
  handOver(): HandedCounts;
  /** Returns the use of the labels whose values come from outside. */
  labelUse(): readonly LabelUse[];
}

const LEVELS = ['debug', 'info', 'warn', 'error'];

export function createMetrics(deps: MetricsDeps): Metrics {
  const { board, clock, events, settings, accounts } = deps;
  const limiter = createLabelLimiter({
    settings: settings.labels,
    store: deps.labels,
    stored: deps.stored.labels,
    clock,
    configured: (account, label) => deps.configured?.(account, label) ?? [],
    onOverflow: (label) => families.add('opsd_label_values_overflowed_total', { label }),
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
  for (const label of limiter.labels) families.add('opsd_label_values_overflowed_total', { label }, 0);
  // Values in the store get their places first, as before a restart.
  const ofStore = { accounts, totals: deps.totals, feeds: deps.stored.totals, families, limiter };
  const mirror = createMirror({
    ...ofStore,
    spanOf: (account, messageId) => deps.spanOf?.(account, messageId),
    onFailure: () => onFailure('store'),
  });
  const projections = createProjections({ board, clock, settings, accounts, families, onFailure });
  const self = createSelfMetrics({
    ...deps,
    families,
    health,
    configured: deps.configuredPolicies,
    budgets: async () => (await deps.budgets?.()) ?? new Map(),
    ...(deps.leases !== undefined && { leases: () => deps.leases!() }),
    onFailure,
  });
  const parts: readonly (() => void)[] = [
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
    withdraw: (account) => families.withdraw(account),
    handOver() {
      readings.takeAudit();
      return families.handOver();
    },
    readStore: async () => void (await Promise.all([mirror.refresh(), self.readStore()])),
    render: (format) => exposition.render(format),
    [Symbol.dispose]() {
      subscription[Symbol.dispose]();
      projections[Symbol.dispose]();
      self[Symbol.dispose]();
      mirror[Symbol.dispose]();
    },
  };
}

/** Counts rejected label sets and reports the first one of each metric. */
function createRefusals(families: () => Families, { events, settings }: MetricsDeps): (family: string) => void {
  const reported = new Set<string>();
  return (family) => {
    families().add('opsd_series_dropped_total', {});
    if (reported.has(family)) return;
    reported.add(family);
    events.emit({ type: 'series.refused', family, limit: settings.maxSeries });
  };
}

/** Exports the number of series of the next scrape. */
function countSeries(
  families: Families,
  { ofProcess, debug }: { readonly ofProcess: readonly string[]; readonly debug: boolean },
): void {
  const { put, samples } = families.collect('process');
  let total = ofProcess.length;
  for (const { name, series: known } of families.tables) {
    let series = known;
    if (name === 'opsd_series') series = 1;
    // One series per metric, including this one.
    else if (name === 'opsd_series_by_family') series = families.tables.length + ofProcess.length;
    total += series;
    if (debug) put('opsd_series_by_family', { family: name }, series);
  }
  if (debug) for (const family of ofProcess) put('opsd_series_by_family', { family }, 1);
  put('opsd_series', {}, total);
  families.exchange(['opsd_series', 'opsd_series_by_family'], samples);
}

/** Returns when the collectors of an account last succeeded, and their interval. */
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

/** Returns the totals of the store that have a label, and its position among their labels. */
function totalsBy(label: string): { readonly metric: MetricName; readonly index: number }[] {
  return METRIC_NAMES.filter((metric) => specOf(metric).mirrored === true)
    .map((metric) => ({ metric, index: specOf(metric).labels.indexOf(label) }))
    .filter(({ index }) => index >= 0);
}

/** Sets metrics that do not change while the process runs, and zeros for events that have not happened yet. */
function sayOnce(families: Families, deps: MetricsDeps): void {
  const { version, revision } = deps.build;
  families.set('opsd_build_info', { version, revision, node_version: process.version }, 1);
  families.set('opsd_series_limit', {}, deps.settings.maxSeries);
  families.set('opsd_state_restored', {}, deps.stateRestored ? 1 : 0);
  families.set('opsd_config_hash', {}, numberOf(deps.configHash));
  for (const source of SOURCES) {
    families.add('opsd_invalid_values_total', { source }, 0);
    families.add('opsd_projection_failures_total', { source }, 0);
  }
  for (const level of LEVELS) families.add('opsd_log_messages_total', { level }, 0);
  for (const { name, limits } of deps.accounts) sayLimits(families, name, limits);
}

/** Returns 48 bits of a hash. These are the most hex digits that a sample holds exactly and an operator can compare. */
function numberOf(hash: string): number {
  const hex = /^[0-9a-f]{12}/i.test(hash) ? hash : createHash('sha256').update(hash).digest('hex');
  return Number.parseInt(hex.slice(0, 12), 16);
}
