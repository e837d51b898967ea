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
import type { Clock } from '#foundation/platform/clock.ts';
import { FamilyTables, type FamilyTablesOptions, type HistogramCounts } from './family-tables.ts';
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

/** Samples by metric and exported labels. */
export type Samples = Map<MetricName, Map<string, number>>;

export interface FamiliesDeps extends FamilyTablesOptions {
  readonly limiter: Pick<LabelLimiter, 'admit'>;
}

export class Families {
  /** Series by exported labels. */
  readonly tables: FamilyTables;
  readonly exposed: readonly SeriesTable[];
  readonly #limiter: Pick<LabelLimiter, 'admit'>;
  readonly #clock: Clock;

  constructor({ limiter, ...options }: FamiliesDeps) {
    this.#limiter = limiter;
    this.#clock = options.clock;
    this.tables = new FamilyTables(options);
    this.exposed = this.tables.exposed();
  }

  set<N extends GaugeName>(metric: N, labels: LabelsOf<N>, value: number): void {
    const table = this.tables.of(metric);
    if (!makesSense(table.spec, value)) return this.refuse('events');
    this.tables.set(table, this.#limited(table, labels), value);
  }

  /** Sets a gauge, or removes it if there is no value. */
  setOrRemove<N extends GaugeName>(metric: N, labels: LabelsOf<N>, value: number | undefined): void {
    if (value !== undefined) return this.set(metric, labels, value);
    const table = this.tables.of(metric);
    const child = table.find(this.#limited(table, labels));
    if (child !== undefined) this.tables.remove(table, child);
  }

  /** Adds `by`; 0 creates the child. */
  add<N extends CounterName>(metric: N, labels: LabelsOf<N>, by = 1): void {
    const table = this.tables.of(metric);
    if (!makesSense(table.spec, by)) return this.refuse('events');
    this.tables.count(table, this.#limited(table, labels), by);
  }

  /** @param span span of the observation, for an exemplar */
  observe<N extends HistogramName>(metric: N, labels: LabelsOf<N>, seconds: number, span?: SpanRef): void {
    const table = this.tables.of(metric);
    if (!makesSense(table.spec, seconds)) return this.refuse('events');
    this.tables.observe(table, this.#limited(table, labels), single(table, seconds, span, this.#clock.now()));
  }

  /** Counts a value that was not exported. */
  refuse(source: Source): void {
    this.tables.count(this.tables.of('opsd_invalid_values_total'), labelText('source', source), 1);
  }

  /** Counts a failed computation of the metrics of a source. */
  fail(source: Source): void {
    this.add('opsd_projection_failures_total', { source });
  }

  /**
   * Does the same as `add` for metrics that are named by data and whose labels are already limited.
   *
   * @param restored true if the count is from before this process: it is not new, and its start of counting is unknown
   */
  mirror(metric: CounterName, labels: Readonly<Labels>, by: number, restored: boolean): void {
    const table = this.tables.of(metric);
    this.tables.count(table, textOf(table, labels), by, restored);
  }

  /** Does the same as `mirror` for observations. */
  mirrorHistogram(metric: HistogramName, labels: Readonly<Labels>, added: HistogramCounts, restored: boolean): void {
    const table = this.tables.of(metric);
    this.tables.observe(table, textOf(table, labels), added, restored);
  }

  /** Resets a counter to 0. Its counting starts now. */
  restart(metric: CounterName, labels: Readonly<Labels>): void {
    const table = this.tables.of(metric);
    this.tables.restart(table, textOf(table, labels));
  }

  /** Collects samples of `source` for `replace`. */
  collect(source: Source): { readonly put: Put; readonly samples: Samples } {
    const samples: Samples = new Map();
    const put: Put = (metric, labels, value) => {
      if (value === undefined) return;
      const table = this.tables.of(metric);
      if (!makesSense(table.spec, value)) this.refuse(source);
      else merge(samples, table, this.#limited(table, labels), value);
    };
    return { put, samples };
  }

  /** Replaces samples by others, in one turn. All other series stay, and cost nothing. */
  replace(before: Samples = new Map(), after: Samples = new Map()): void {
    for (const [metric, ofMetric] of before) {
      const table = this.tables.of(metric);
      for (const labels of ofMetric.keys()) {
        const child = after.get(metric)?.has(labels) === true ? undefined : table.find(labels);
        if (child !== undefined) this.tables.remove(table, child);
      }
    }
    for (const [metric, ofMetric] of after) {
      for (const [labels, value] of ofMetric) this.tables.set(this.tables.of(metric), labels, value);
    }
  }

  /**
   * Returns a function that replaces gauges by those that `fill` puts, in one turn. A failure withholds them and is
   * counted.
   */
  part(source: Source, fill: (put: Put) => void): () => void {
    let shown: Samples | undefined;
    return () => {
      const { put, samples } = this.collect(source);
      let next: Samples | undefined = samples;
      try {
        fill(put);
      } catch {
        next = undefined;
        this.fail(source);
      }
      this.replace(shown, next);
      shown = next;
    };
  }

  #limited(table: SeriesTable, given: Readonly<Labels>): string {
    const account = given['account'] ?? '';
    let text = '';
    for (const name of table.labelNames) {
      text += `${text === '' ? '' : ','}${labelText(name, this.#limiter.admit(account, name, given[name] ?? ''))}`;
    }
    return text;
  }
}

function textOf(table: SeriesTable, labels: Readonly<Labels>): string {
  return table.labelNames.map((name) => labelText(name, labels[name] ?? '')).join(',');
}

/** Returns a single observation as bucket counts. */
function single(table: SeriesTable, value: number, span: SpanRef | undefined, at: number): HistogramCounts {
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
