/**
 * Aggregates the account's statistics into counters. The sources are five kinds of points and the billing of the month. Two
 * of the five are lists of named series, one for messages and one for workflows. The functions are pure: records and
 * statistics in, increments and records out.
 */
import type {
  AccountStats,
  DataPoint,
  AggregatedSeries,
  NamedSeries,
  StatsPeriod,
} from '#foundation/domain/statistics.ts';
import type { CounterName } from '../catalog/catalog.ts';
import { aggregateBilling } from './month-counters.ts';
import { aggregatePoints, intervalsOf, periodsToFill, type PointMeaning, type SeriesState } from './points.ts';
import { readDays, readPoints, writeDays, writePoints } from './series-record.ts';
import type { SeriesRecord } from './series-store.ts';
import { billedDays, type BilledDays } from './spend.ts';
import type { Increment } from './totals.ts';

/** Point series that are counted. `source` is the name used in metrics and records. */
const SOURCES: readonly {
  readonly source: string;
  readonly metric: CounterName;
  readonly isNamed: boolean;
  /** Returns undefined if the response does not have this source. */
  readonly of: (stats: AccountStats) => readonly NamedSeries[] | undefined;
}[] = [
  { source: 'used', metric: 'msgsvc_account_used_messages_total', isNamed: false, of: ({ used }) => single(used) },
  {
    source: 'used_workflow',
    metric: 'msgsvc_account_used_workflow_messages_total',
    isNamed: false,
    of: ({ usedWorkflow }) => single(usedWorkflow),
  },
  {
    source: 'bandwidth',
    metric: 'msgsvc_account_bandwidth_bytes_total',
    isNamed: false,
    of: ({ bandwidthUsed }) => single(bandwidthUsed),
  },
  { source: 'messages', metric: 'msgsvc_account_messages_total', isNamed: true, of: ({ messages }) => messages },
  {
    source: 'workflow_messages',
    metric: 'msgsvc_account_workflow_messages_total',
    isNamed: true,
    of: ({ workflowMessages }) => workflowMessages,
  },
];

/** Maximum number of named series counted per source. The set is open-ended, and each series is a stored record. */
const MOST_SERIES = 100;

const MINUTE_MS = 60_000;

export interface AccountAggregation {
  readonly subject: string;
  readonly records: readonly SeriesRecord[];
  readonly fine: AccountStats;
  /** Responses for the coarser periods that `periodsOf` requested. */
  readonly coarse: readonly { readonly period: StatsPeriod; readonly stats: AccountStats }[];
  readonly servedAt: number;
  readonly settleMs: number;
  readonly intervalMs: number;
  readonly meaning: PointMeaning;
  /** Returns the label to count a named series under. */
  readonly label: (series: string) => string;
}

export interface StatsAggregate {
  readonly increments: readonly Increment[];
  /** Changed records only. */
  readonly records: readonly SeriesRecord[];
  readonly aggregated: readonly AggregatedSeries[];
  /** Number of series that are not counted because of the limit. */
  readonly dropped: number;
  readonly days: BilledDays;
}

/** Returns the periods to read in addition to the finest one, coarsest first. */
export function periodsOf(records: readonly SeriesRecord[], fine: AccountStats, servedAt: number): StatsPeriod[] {
  const periods = new Set<StatsPeriod>();
  const known = byKey(records);
  for (const { source, of } of SOURCES) {
    for (const { id, points } of of(fine) ?? []) {
      // Nothing is aggregated without the finest period.
      if (points.length === 0) continue;
      const state = readPoints(known.get(keyOf(source, id)));
      for (const period of periodsToFill(state, servedAt)) periods.add(period);
    }
  }
  return [...periods];
}

export function aggregateAccount(input: AccountAggregation): StatsAggregate {
  const known = byKey(input.records);
  const counting: PointCount = { input, known, increments: [], records: [], aggregated: [], dropped: 0 };
  for (const source of SOURCES) aggregateSource(counting, source);
  const billing = aggregateBilling(known.get(keyOf('billing', '')), input.fine, input.servedAt);
  if (billing !== undefined) {
    counting.increments.push(...billing.increments);
    save(counting, 'billing', '', billing.record);
  }
  const days = billedDays(readDays(known.get(keyOf('billed_days', ''))), input.fine, input.servedAt);
  if (days.size > 0) save(counting, 'billed_days', '', writeDays(days));
  const { increments, records, aggregated, dropped } = counting;
  return { increments, records, aggregated, dropped, days };
}

interface PointCount {
  readonly input: AccountAggregation;
  readonly known: ReadonlyMap<string, string>;
  readonly increments: Increment[];
  readonly records: SeriesRecord[];
  readonly aggregated: AggregatedSeries[];
  dropped: number;
}

function aggregateSource(counting: PointCount, { source, metric, isNamed, of }: (typeof SOURCES)[number]): void {
  const { input, known, increments } = counting;
  const { servedAt, settleMs, intervalMs, meaning, label } = input;
  const list = of(input.fine);
  if (list === undefined) return;
  const about = { points: 0, backfilled: 0, revised: 0, missed: 0 };
  const presence = isNamed ? aggregatePresence(counting, source) : undefined;
  let mayBegin = MOST_SERIES - [...known.keys()].filter((key) => key.startsWith(keyOf(source, ''))).length;
  let isFirst = false;
  // The response may list a series twice, as it may list a point twice.
  for (const id of new Set(list.map((series) => series.id))) {
    const record = known.get(keyOf(source, id));
    if (record === undefined && --mayBegin < 0) {
      counting.dropped += 1;
      continue;
    }
    const state = readPoints(record) ?? presence;
    const wanted = periodsToFill(state, servedAt);
    const coarse = input.coarse
      .filter(({ period }) => wanted.includes(period))
      .map(({ period, stats }) => intervalsOf(pointsOf(of(stats), id), period, meaning));
    const fine = intervalsOf(pointsOf(list, id), '1h', meaning);
    const result = aggregatePoints(state, { fine, coarse, servedAt, settleMs, intervalMs });
    if (result === undefined) continue;
    about.points += result.points;
    about.backfilled += result.backfilled;
    about.revised += result.revised;
    about.missed += result.missed;
    const labels = isNamed ? [label(id)] : [];
    if (result.increase > 0 || record === undefined) increments.push({ metric, labels, by: result.increase });
    isFirst ||= record === undefined;
    const { watermark } = result.state;
    counting.aggregated.push({
      source,
      series: labels[0] ?? '',
      at: meaning.at === 'end' ? watermark : watermark - MINUTE_MS,
    });
    save(counting, source, id, writePoints(result.state));
  }
  for (const [metric, by] of [
    ['opsd_stats_points_total', about.points],
    ['opsd_stats_points_backfilled_total', about.backfilled],
    ['opsd_stats_points_revised_total', about.revised],
    ['opsd_stats_points_missed_total', about.missed],
  ] as const) {
    if (by > 0 || isFirst) increments.push({ metric, labels: [source], by });
  }
}

/**
 * Returns the initial state of a named series that appears in the list for the first time. Such a series had no items
 * before. Its counting begins where the list was first read, with a value of 0 for the intervals counted so far.
 *
 * @returns the state before this response; undefined when the list is read for the first time
 */
function aggregatePresence(counting: PointCount, source: string): SeriesState | undefined {
  const { servedAt, settleMs, intervalMs } = counting.input;
  const before = readPoints(counting.known.get(keyOf(source, '')));
  const newest = Math.floor(servedAt / MINUTE_MS) * MINUTE_MS;
  const fine = Array.from({ length: 60 }, (_, index) => {
    const from = newest - (59 - index) * MINUTE_MS;
    return { from, to: from + MINUTE_MS, value: 0 };
  });
  const after = aggregatePoints(before, { fine, servedAt, settleMs, intervalMs });
  if (after !== undefined) save(counting, source, '', writePoints(after.state));
  return before;
}

function save({ input, known, records }: PointCount, source: string, series: string, record: string): void {
  if (known.get(keyOf(source, series)) === record) return;
  records.push({ subject: input.subject, source, series, record });
}

function single(points: readonly DataPoint[] | undefined): readonly NamedSeries[] | undefined {
  return points && [{ id: '', points }];
}

function pointsOf(list: readonly NamedSeries[] | undefined, id: string): readonly DataPoint[] {
  return (list ?? []).filter((series) => series.id === id).flatMap(({ points }) => points);
}

function byKey(records: readonly SeriesRecord[]): Map<string, string> {
  return new Map(records.map(({ source, series, record }) => [keyOf(source, series), record]));
}

function keyOf(source: string, series: string): string {
  return `${source}\0${series}`;
}
