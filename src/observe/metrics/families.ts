/**
 * Metrics as defined in the catalog. All writes pass through here. Labels are limited, invalid values are rejected and
 * counted, and the gauges of one source are replaced together in one turn of the event loop. A write of an unchanged
 * value keeps the rendered text.
 *
 * A counter that appears while the daemon runs is exported as 0 for a while. The first sample that Prometheus scrapes
 * is not an increase.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import { COLLECTOR_NAMES } from '#foundation/domain/observation.ts';
import type { CounterName, GaugeName, HistogramName, LabelsOf, MetricName } from '../catalog/catalog.ts';
import { labelText } from './exposition-text.ts';
import { FamilyTables, type FamilyTablesOptions, type HandedCounts, type Observations } from './family-tables.ts';
import type { LabelLimiter } from './label-limiter.ts';
import type { SeriesTable } from './series.ts';
import { makesSense } from './values.ts';

type Labels = Record<string, string>;

/** Adds a sample. Undefined and invalid values create no series. */
export type Put = <N extends GaugeName>(metric: N, labels: LabelsOf<N>, value: number | undefined) => void;

/** Sources of values, for the counters of invalid values and failed computations. */
export const SOURCES = [
  ...COLLECTOR_NAMES,
  'responses',
  'collectors',
  'usage',
  'policies',
  'ledger',
  'store',
  'events',
  'process',
] as const;
export type Source = (typeof SOURCES)[number];

export interface Families {
  set<N extends GaugeName>(metric: N, labels: LabelsOf<N>, value: number): void;
  remove<N extends GaugeName>(metric: N, labels: LabelsOf<N>): void;
  /** Adds `by`; 0 creates the child. */
  add<N extends CounterName>(metric: N, labels: LabelsOf<N>, by?: number): void;
  /** @param span span of the observation, for an exemplar */
  observe<N extends HistogramName>(metric: N, labels: LabelsOf<N>, seconds: number, span?: SpanRef): void;
  /** Collects samples of `source` for `exchange`. */
  collect(source: Source): { readonly put: Put; readonly samples: Samples };
  /** Replaces the gauges by exactly these samples, in one turn. */
  exchange(metrics: readonly GaugeName[], samples: Samples): void;
  /** Replaces samples by others, in one turn. All other series stay, and cost nothing. */
  replace(before: Samples | undefined, after: Samples | undefined): void;
  /** Counts a value that was not exported. */
  refuse(source: Source): void;
  /**
   * Does the same as `add` and `observe` for metrics that are named by data and whose labels are already limited.
   *
   * @param restored true if the count is from before this process: it is not new, and its start of counting is unknown
   */
  mirror(metric: CounterName, labels: Readonly<Labels>, by: number, restored: boolean): void;
  /** Resets a counter to 0. Its counting starts now. */
  restart(metric: CounterName, labels: Readonly<Labels>): void;
  mirrorHistogram(metric: HistogramName, labels: Readonly<Labels>, added: Observations, restored: boolean): void;
  /** Removes the counters and histograms of a label value. */
  drop(account: string, label: string, value: string): void;
  /** Removes all series of an account, and admits no others of it. Its leases stay. */
  withdraw(account: string): void;
  /** Ends the start phase: counters that appear later are held at 0 for a while. */
  hold(): void;
  /** Releases the counters that were held long enough. */
  releaseHeld(): void;
  /** Returns the number of counters and histograms that are held at 0. */
  heldCount(): number;
  /** Returns the counts that only this process has: neither those in the store nor those of the process itself. */
  handOver(): HandedCounts;
  readonly tables: readonly SeriesTable[];
}

/** Samples by metric and exported labels. */
export type Samples = Map<MetricName, Map<string, number>>;

export interface FamiliesDeps extends FamilyTablesOptions {
  readonly limiter: Pick<LabelLimiter, 'admit'>;
}

export function createFamilies({ limiter, ...options }: FamiliesDeps): Families {
  const { clock } = options;
  const tables = new FamilyTables(options);

  function limited(table: SeriesTable, given: Readonly<Labels>): string {
    const account = given['account'] ?? '';
    let text = '';
    for (const name of table.labelNames) {
      text += `${text === '' ? '' : ','}${labelText(name, limiter.admit(account, name, given[name] ?? ''))}`;
    }
    return text;
  }

  function refuse(source: Source): void {
    tables.count(tables.of('opsd_invalid_values_total'), labelText('source', source), 1);
  }

  return {
    tables: tables.exposed(),
    refuse,
    set(metric, labels, value) {
      const table = tables.of(metric);
      if (!makesSense(table.spec, value)) return refuse('events');
      tables.set(table, limited(table, labels), value);
    },
    remove(metric, labels) {
      const table = tables.of(metric);
      const child = table.find(limited(table, labels));
      if (child !== undefined) tables.remove(table, child);
    },
    add(metric, labels, by = 1) {
      const table = tables.of(metric);
      if (!makesSense(table.spec, by)) return refuse('events');
      tables.count(table, limited(table, labels), by);
    },
    observe(metric, labels, seconds, span) {
      const table = tables.of(metric);
      if (!makesSense(table.spec, seconds)) return refuse('events');
      tables.observe(table, limited(table, labels), single(table, seconds, span, clock.now()));
    },
    mirror(metric, labels, by, restored) {
      const table = tables.of(metric);
      tables.count(table, textOf(table, labels), by, restored);
    },
    restart(metric, labels) {
      const table = tables.of(metric);
      tables.restart(table, textOf(table, labels));
    },
    mirrorHistogram(metric, labels, added, restored) {
      const table = tables.of(metric);
      tables.observe(table, textOf(table, labels), added, restored);
    },
    collect(source) {
      const samples: Samples = new Map();
      const put: Put = (metric, labels, value) => {
        if (value === undefined) return;
        const table = tables.of(metric);
        if (!makesSense(table.spec, value)) refuse(source);
        else merge(samples, table, limited(table, labels), value);
      };
      return { put, samples };
    },
    exchange(metrics, samples) {
      for (const metric of metrics) {
        const table = tables.of(metric);
        const ofMetric = samples.get(metric);
        for (const child of table.children()) if (ofMetric?.has(child.labels) !== true) tables.remove(table, child);
        for (const [labels, value] of ofMetric ?? []) tables.set(table, labels, value);
      }
    },
    replace(before = new Map(), after = new Map()) {
      for (const [metric, ofMetric] of before) {
        const table = tables.of(metric);
        for (const labels of ofMetric.keys()) {
          const child = after.get(metric)?.has(labels) === true ? undefined : table.find(labels);
          if (child !== undefined) tables.remove(table, child);
        }
      }
      for (const [metric, ofMetric] of after) {
        for (const [labels, value] of ofMetric) tables.set(tables.of(metric), labels, value);
      }
    },
    drop: (account, label, value) => tables.drop(account, label, value),
    withdraw: (account) => tables.withdraw(account),
    hold: () => tables.held.start(),
    releaseHeld: () => tables.held.releaseDue(),
    heldCount: () => tables.held.size,
    handOver: () => tables.handOver(),
  };
}

function textOf(table: SeriesTable, labels: Readonly<Labels>): string {
  return table.labelNames.map((name) => labelText(name, labels[name] ?? '')).join(',');
}

/** Returns a single observation as bucket counts. */
function single(table: SeriesTable, value: number, span: SpanRef | undefined, at: number): Observations {
  const bounds = table.spec.buckets!;
  const found = bounds.findIndex((bound) => value <= bound);
  const bucket = found === -1 ? bounds.length : found;
  const buckets = Array.from({ length: bounds.length + 1 }, (_, index) => (index === bucket ? 1 : 0));
  if (span === undefined) return { buckets, sum: value };
  return { buckets, sum: value, exemplars: buckets.map((count) => (count === 1 ? { ...span, value, at } : undefined)) };
}

/** Merges values that get the same label set after limiting, as the catalog defines. */
function merge(samples: Samples, { name, spec }: SeriesTable, labels: string, value: number): void {
  const metric = name as MetricName;
  let ofMetric = samples.get(metric);
  if (ofMetric === undefined) samples.set(metric, (ofMetric = new Map()));
  const before = ofMetric.get(labels);
  const how = spec.merge ?? 'sum';
  if (before === undefined) ofMetric.set(labels, value);
  else ofMetric.set(labels, how === 'sum' ? before + value : Math[how](before, value));
}
