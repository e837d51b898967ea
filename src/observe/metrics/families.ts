/**
 * The metrics as the catalogue describes them. All writing goes through here: labels are limited, values that make no
 * sense are refused and counted, and gauges of one source are exchanged as a whole in one turn of the event loop. A
 * write of what is shown already leaves the text that was rendered of it as it is.
 *
 * Scrapers see a counter that appears while the daemon runs as 0 for a while: the first sample that Prometheus sees is
 * no increase.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import { COLLECTOR_NAMES } from '#foundation/domain/observation.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import {
  OWN_METRIC_NAMES,
  labelNamesOf,
  specOf,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
} from '../catalog/catalog.ts';
import { labelText, parseLabels } from './exposition-text.ts';
import type { LabelLimiter } from './label-limiter.ts';
import { increase, observe, release, SeriesTable, setValue, type Child, type ShownExemplar } from './series.ts';
import { SeriesLimit } from './series-limit.ts';
import { makesSense } from './values.ts';

type Labels = Record<string, string>;

/** Takes a sample; undefined and refused values leave no series. */
export type Put = <N extends GaugeName>(metric: N, labels: LabelsOf<N>, value: number | undefined) => void;

/** Where values come from, for the counters of what was refused and what could not be shown. */
export const SOURCES = [
  ...COLLECTOR_NAMES,
  'collectors',
  'usage',
  'policies',
  'ledger',
  'store',
  'events',
  'process',
] as const;
export type Source = (typeof SOURCES)[number];

/** What fell into a histogram elsewhere. */
export interface Observations {
  readonly buckets: readonly number[];
  readonly sum: number;
  readonly exemplars?: readonly (ShownExemplar | undefined)[];
}

export interface Families {
  set<N extends GaugeName>(metric: N, labels: LabelsOf<N>, value: number): void;
  remove<N extends GaugeName>(metric: N, labels: LabelsOf<N>): void;
  /** Adds `by`, 0 to make the child known. */
  add<N extends CounterName>(metric: N, labels: LabelsOf<N>, by?: number): void;
  /** @param span where the observation was made, as an exemplar */
  observe<N extends HistogramName>(metric: N, labels: LabelsOf<N>, seconds: number, span?: SpanRef): void;
  /** Collects samples of `source`, to be shown by `exchange`. */
  collect(source: Source): { readonly put: Put; readonly samples: Samples };
  /** Shows exactly these samples of these gauges, in one turn. */
  exchange(metrics: readonly GaugeName[], samples: readonly Samples[]): void;
  /** Counts a value that was not exported. */
  refuse(source: Source): void;
  /**
   * As `add` and `observe`, for metrics that are named by data, with labels that are limited already.
   *
   * @param restored counted before this process: neither new nor known since when it counts
   */
  mirror(metric: CounterName, labels: Readonly<Labels>, by: number, restored: boolean): void;
  mirrorHistogram(metric: HistogramName, labels: Readonly<Labels>, added: Observations, restored: boolean): void;
  /** Ends the counters and histograms of a label's value. */
  drop(account: string, label: string, value: string): void;
  /** Ends the start: counters that appear from now on are held at 0 for a while. */
  hold(): void;
  /** Shows the counters that were held for long enough. */
  releaseHeld(): void;
  /** Counters and histograms that are held at 0. */
  heldCount(): number;
  /** What only this process knows: without what the store keeps, and without what the process itself counts. */
  handOver(): HandedCounts;
  readonly tables: readonly SeriesTable[];
}

/** Counters and histograms as they stand, for a daemon that follows in the same process. */
export type HandedCounts = ReadonlyMap<string, readonly Omit<Child, 'chunk'>[]>;

/** Samples by metric and labels, these as exposed. */
export type Samples = Map<MetricName, Map<string, number>>;

export interface FamiliesDeps {
  readonly limiter: Pick<LabelLimiter, 'admit'>;
  readonly clock: Clock;
  /** How long a counter that appears is shown as 0. */
  readonly zeroForMs: number;
  /** What earlier ones of this process counted: it goes on from there, for the accounts that are still there. */
  readonly handed?: HandedCounts;
  readonly accounts?: readonly string[];
  /** Series there may be, over all metrics. */
  readonly maxSeries: number;
  /** A label set was not shown, since there are as many series as there may be. */
  readonly onRefused: (metric: string) => void;
  /** Whether the metrics for developers of the daemon are exposed too. */
  readonly debug: boolean;
}

export function createFamilies(deps: FamiliesDeps): Families {
  const { limiter, clock, zeroForMs } = deps;
  const tables = new Map<MetricName, SeriesTable>();
  const limit = new SeriesLimit({ max: deps.maxSeries, onRefused: deps.onRefused });
  /** Oldest first: all are held for the same time. */
  const held = new Map<Child, number>();
  let holds = false;
  let created = { at: Number.NaN, text: '' };

  function limited(table: SeriesTable, given: Readonly<Labels>): string {
    const account = given['account'] ?? '';
    let text = '';
    for (const name of table.labelNames) {
      text += `${text === '' ? '' : ','}${labelText(name, limiter.admit(account, name, given[name] ?? ''))}`;
    }
    return text;
  }

  const isHidden = ({ spec }: SeriesTable): boolean => spec.debug === true && !deps.debug;

  /** Returns undefined for what is not exposed. */
  function create(table: SeriesTable, labels: string, options?: Parameters<SeriesTable['create']>[1]) {
    return isHidden(table) ? undefined : limit.create(table, labels, options);
  }

  /** One text for all that are created at once. */
  function nowText(): string {
    const now = clock.now();
    if (now !== created.at) created = { at: now, text: `${now / 1_000}` };
    return created.text;
  }

  /** It counted before this process: were it 0 at first, all of it would be taken for an increase. */
  function unhold(child: Child): void {
    release(child);
    child.created = undefined;
    held.delete(child);
  }

  function counting(table: SeriesTable, labels: string, restored: boolean): Child | undefined {
    const known = table.find(labels);
    if (known !== undefined) {
      if (restored) unhold(known);
      return known;
    }
    if (restored) return create(table, labels);
    const isHeld = holds && zeroForMs > 0;
    const child = create(table, labels, { created: nowText(), held: isHeld });
    if (isHeld && child !== undefined) held.set(child, clock.monotonic());
    return child;
  }

  function count(table: SeriesTable, labels: string, by: number, restored = false): void {
    const child = counting(table, labels, restored);
    if (child !== undefined) increase(child, by);
  }

  function observeAll(table: SeriesTable, labels: string, added: Observations, restored = false): void {
    const child = counting(table, labels, restored);
    if (child !== undefined) observe(child, added);
  }

  function setTo(table: SeriesTable, labels: string, value: number): void {
    const child = table.find(labels) ?? create(table, labels);
    if (child !== undefined) setValue(child, value);
  }

  function refuse(source: Source): void {
    count(tables.get('opsd_refused_values_total')!, labelText('source', source), 1);
  }

  function takeOver(table: SeriesTable): void {
    for (const { labels, value, created, held: isHeld, buckets, exemplars } of deps.handed?.get(table.name) ?? []) {
      if (table.spec.account && !deps.accounts?.includes(parseLabels(labels)['account'] ?? '')) continue;
      const child = create(table, labels, { held: isHeld, ...(created !== undefined && { created }) });
      if (child === undefined) continue;
      if (buckets === undefined) increase(child, value);
      else observe(child, { buckets, sum: value, ...(exemplars !== undefined && { exemplars }) });
      if (isHeld) held.set(child, clock.monotonic());
    }
  }

  for (const name of OWN_METRIC_NAMES) {
    const table = new SeriesTable(name, specOf(name), labelNamesOf(name));
    tables.set(name, table);
    takeOver(table);
    // A gauge without labels is absent until it is set; what the store keeps, until the store was read.
    const isAbsent = table.spec.type === 'gauge' || table.spec.mirrored === true;
    if (table.labelNames.length === 0 && !isAbsent) counting(table, '', false);
  }

  return {
    tables: [...tables.values()].filter((table) => !isHidden(table)),
    refuse,
    set(metric, labels, value) {
      const table = tables.get(metric)!;
      if (!makesSense(table.spec, value)) return refuse('events');
      setTo(table, limited(table, labels), value);
    },
    remove(metric, labels) {
      const table = tables.get(metric)!;
      const child = table.find(limited(table, labels));
      if (child !== undefined) limit.remove(table, child);
    },
    add(metric, labels, by = 1) {
      const table = tables.get(metric)!;
      if (!makesSense(table.spec, by)) return refuse('events');
      count(table, limited(table, labels), by);
    },
    observe(metric, labels, seconds, span) {
      const table = tables.get(metric)!;
      if (!makesSense(table.spec, seconds)) return refuse('events');
      observeAll(table, limited(table, labels), single(table, seconds, span, clock.now()));
    },
    mirror(metric, labels, by, restored) {
      const table = tables.get(metric)!;
      count(table, textOf(table, labels), by, restored);
    },
    mirrorHistogram(metric, labels, added, restored) {
      const table = tables.get(metric)!;
      observeAll(table, textOf(table, labels), added, restored);
    },
    collect(source) {
      const samples: Samples = new Map();
      const put: Put = (metric, labels, value) => {
        if (value === undefined) return;
        const table = tables.get(metric)!;
        if (!makesSense(table.spec, value)) refuse(source);
        else merge(samples, table, limited(table, labels), value);
      };
      return { put, samples };
    },
    exchange(metrics, samples) {
      for (const metric of metrics) {
        const table = tables.get(metric)!;
        const parts = samples.map((part) => part.get(metric)).filter((part) => part !== undefined);
        for (const child of table.children()) {
          if (!parts.some((part) => part.has(child.labels))) limit.remove(table, child);
        }
        for (const part of parts) for (const [labels, value] of part) setTo(table, labels, value);
      }
    },
    drop(account, label, value) {
      for (const table of tables.values()) {
        if (table.spec.type === 'gauge' || !table.labelNames.includes(label)) continue;
        const part = labelText(label, value);
        for (const child of table.children()) {
          // Another label's value may read like it: this only spares most of them the parsing.
          if (!child.labels.includes(part)) continue;
          const labels = parseLabels(child.labels);
          if (labels[label] === value && (labels['account'] ?? '') === account) {
            held.delete(child);
            limit.remove(table, child);
          }
        }
      }
    },
    hold: () => void (holds = true),
    handOver: () =>
      new Map(
        [...tables.values()]
          .filter(({ spec }) => spec.type !== 'gauge' && spec.mirrored !== true && !OF_PROCESS.has(spec.source))
          .map((table) => [table.name, [...table.children()]]),
      ),
    heldCount: () => held.size,
    releaseHeld() {
      const now = clock.monotonic();
      for (const [child, since] of held) {
        if (now - since < zeroForMs) return;
        release(child);
        held.delete(child);
      }
    },
  };
}

/** Sources that tell their totals since the start of the process, or, as the limiter, since a reload. */
const OF_PROCESS: ReadonlySet<string> = new Set(['logger', 'limiter']);

function textOf(table: SeriesTable, labels: Readonly<Labels>): string {
  return table.labelNames.map((name) => labelText(name, labels[name] ?? '')).join(',');
}

/** One observation, as what fell into the buckets. */
function single(table: SeriesTable, value: number, span: SpanRef | undefined, at: number): Observations {
  const bounds = table.spec.buckets!;
  const found = bounds.findIndex((bound) => value <= bound);
  const bucket = found === -1 ? bounds.length : found;
  const buckets = Array.from({ length: bounds.length + 1 }, (_, index) => (index === bucket ? 1 : 0));
  if (span === undefined) return { buckets, sum: value };
  return { buckets, sum: value, exemplars: buckets.map((count) => (count === 1 ? { ...span, value, at } : undefined)) };
}

/** Values that meet under one label set after limiting are put together as the catalogue says. */
function merge(samples: Samples, { name, spec }: SeriesTable, labels: string, value: number): void {
  const metric = name as MetricName;
  let ofMetric = samples.get(metric);
  if (ofMetric === undefined) samples.set(metric, (ofMetric = new Map()));
  const before = ofMetric.get(labels);
  const how = spec.merge ?? 'sum';
  if (before === undefined) ofMetric.set(labels, value);
  else ofMetric.set(labels, how === 'sum' ? before + value : Math[how](before, value));
}
