/**
 * Metrics of the daemon: tables of series, updated by events and, synchronously, at each scrape. Only changed parts are
 * rendered again. A scrape neither calls the service nor reads the store. A failing source withholds its own metrics
 * and is counted; all others are served.
 */
import type { ObservationBoard } from '../observations/board.ts';
import { createApiHealth } from './api-health.ts';
import { METRIC_NAMES, specOf, type MetricName } from '../catalog/catalog.ts';
import { daemonParts, sayOnce } from './daemon-parts.ts';
import { countEvents } from './event-metrics.ts';
import { createExposition, type ScrapeBody } from './exposition.ts';
import { Families, SOURCES } from './families.ts';
import type { HandedCounts } from './family-tables.ts';
import { createLabelLimiter, type ReadOf } from './label-limiter.ts';
import type { LabelUse } from './label-places.ts';
import { createMirror } from './mirror.ts';
import { createProcessReader, type ProcessReader } from './process-metrics.ts';
import { createProjections } from './projections.ts';
import type { Format } from './series.ts';
import type { MetricsDeps } from './sources.ts';
import { createStoredParts } from './stored-parts.ts';

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
  /** Metrics whose rejected label sets are reported. */
  const reported = new Set<string>();
  const limiter = createLabelLimiter({
    settings: settings.labels,
    store: deps.labels,
    stored: deps.stored.labels,
    clock,
    configured: (account, label) => deps.configured?.(account, label) ?? [],
    onOverflow: (label) => families.add('opsd_label_values_overflowed_total', { label }),
    totalsBy,
    onEvicted: (account, label, value) => families.tables.drop(account, label, value),
  });
  const families = new Families({
    limiter,
    clock,
    zeroForMs: settings.newSeriesZeroFor,
    maxSeries: settings.maxSeries,
    debug: settings.debug,
    onRefused(family) {
      families.add('opsd_series_dropped_total', {});
      if (!reported.has(family)) events.emit({ type: 'series.refused', family, limit: settings.maxSeries });
      reported.add(family);
    },
    accounts: accounts.map(({ name }) => name),
    handed: deps.handed,
  });
  const ofProcess = createProcessReader(() => families.fail('process'));
  const all = { ...deps, families, limiter, health: createApiHealth(clock) };
  sayOnce(all);
  createZeroes(families, limiter.labels);
  // Values in the store get their places first, as before a restart.
  const mirror = createMirror(all);
  const projections = createProjections(all);
  const stored = createStoredParts(all);
  const parts: readonly (() => void)[] = [
    () => projections.refresh(),
    ...daemonParts(all),
    () => families.tables.held.releaseDue(),
    families.part('process', (put) => {
      const counts = seriesOf(families, ofProcess);
      const total = counts.values().reduce((sum, series) => sum + series, 0);
      put('opsd_series', {}, total);
      if (settings.debug) for (const [family, series] of counts) put('opsd_series_by_family', { family }, series);
    }),
  ];
  const subscription = countEvents(events, all);
  refresh();
  families.tables.held.start();
  const exposition = createExposition({
    tables: families.exposed,
    refresh,
    heldCounters: () => families.tables.held.size,
    textBehind: (format) => ofProcess.read(format),
  });

  function refresh(): void {
    for (const part of parts) {
      try {
        part();
      } catch {
        families.fail('process');
      }
    }
  }

  return {
    admit: (account, label, value, amount) => limiter.admit(account, label, value, amount),
    tidyLabels: () => limiter.tidy((account, collectors) => readOf(board, account, collectors)),
    labelUse: () => limiter.use(),
    withdraw: (account) => families.tables.withdraw(account),
    handOver() {
      refresh();
      return families.tables.handOver();
    },
    readStore: async () => void (await Promise.all([mirror.refresh(), stored.read()])),
    render: (format) => exposition.render(format),
    [Symbol.dispose]() {
      for (const part of [subscription, projections, stored, mirror]) part[Symbol.dispose]();
    },
  };
}

/** Creates counters of events that have not happened yet. */
function createZeroes(families: Families, labels: readonly string[]): void {
  for (const source of SOURCES) {
    families.add('opsd_invalid_values_total', { source }, 0);
    families.add('opsd_projection_failures_total', { source }, 0);
  }
  for (const level of LEVELS) families.add('opsd_log_messages_total', { level }, 0);
  for (const label of labels) families.add('opsd_label_values_overflowed_total', { label }, 0);
}

/** Returns the number of series of each metric in the next scrape. */
function seriesOf({ exposed }: Families, ofProcess: ProcessReader): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { name, series } of exposed) counts.set(name, name === 'opsd_series' ? 1 : series);
  for (const name of ofProcess.names) counts.set(name, 1);
  // One series per metric, including this one.
  if (counts.has('opsd_series_by_family')) counts.set('opsd_series_by_family', counts.size);
  return counts;
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
