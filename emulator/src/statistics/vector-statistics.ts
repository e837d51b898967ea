/**
 * Vector index statistics (interface 2.10) of an index's workload. Latencies are in milliseconds and throughputs in
 * operations per second: the interface gives no units. `days` and the daily arrays cover the last seven days, oldest
 * first, today included.
 */
import { indexWorkload, type IndexWorkload, type WorkloadOperation } from './index-workload.ts';
import { DAY_MS, dayOf, daysOfMonth, formatPointTime, MINUTE_MS, nameOfDay } from './point-time.ts';
import type { FractionDigits } from '../state/switches.ts';
import { pointGrid, type StatsPeriodName } from './statistics-period.ts';
import type { WirePoint } from './account-stats.ts';

/** Dollars for 100,000 queries or updates, for 1,000 reranks, and per GB stored for a month. */
const USD_PER_100K_REQUESTS = 0.4;
const USD_PER_1K_RERANKS = 1;
const USD_PER_GB_MONTH = 0.25;

const DAYS_SHOWN = 7;

/** Mean milliseconds at average load, and the distance of the 99th percentile from the mean. */
const LATENCIES = {
  query: { mean: 4.2, tail: 3.1 },
  update: { mean: 7.5, tail: 2.8 },
  embeds: { mean: 31, tail: 2.5 },
  rerank: { mean: 55, tail: 2.2 },
} as const;

export interface WorkloadReading {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Nine when absent. */
  readonly fractionDigits?: FractionDigits;
}

/** Returns the statistics as of `now`. Monthly counts increase until the UTC month turns, then restart at zero. */
export function vectorStatistics(indexId: string, period: StatsPeriodName, reading: WorkloadReading): object {
  const { now, fractionDigits } = reading;
  const point = (at: number, y: number): WirePoint => ({ x: formatPointTime(at, fractionDigits), y });
  const workload = indexWorkload(indexId);
  const monthStart = daysOfMonth(now)[0]! * DAY_MS;
  const dayStart = dayOf(now) * DAY_MS;
  const month = countsOf(workload, monthStart, now);
  const day = countsOf(workload, dayStart, now);
  const days = Array.from({ length: DAYS_SHOWN }, (_, index) => dayOf(now) - (DAYS_SHOWN - 1) + index);
  const daily = (value: (from: number, to: number) => number): WirePoint[] =>
    days.map((at) => point(at * DAY_MS, value(at * DAY_MS, Math.min((at + 1) * DAY_MS, now))));
  const { stepMinutes, starts } = pointGrid(period, now);
  const points = (value: (from: number, to: number) => number): WirePoint[] =>
    starts.map((start) => {
      const from = start * MINUTE_MS;
      return point(from, value(from, Math.min(from + stepMinutes * MINUTE_MS, now)));
    });
  const throughput = (operation: WorkloadOperation): WirePoint[] =>
    points((from, to) => perSecond(workload, operation, from, to));
  const latency = (operation: keyof typeof LATENCIES, factor: number): WirePoint[] =>
    points((from) => rounded(LATENCIES[operation].mean * (0.6 + 0.4 * workload.load(from)) * factor));
  const storage = workload.vectors(now) * workload.vectorBytes;

  return {
    pending_index_count: pendingVectors(workload, now),
    current_vector_count: workload.vectors(now),
    daily_query_count: day.query,
    daily_update_count: day.update,
    monthly_query_count: month.query,
    monthly_update_count: month.update,
    monthly_bandwidth_usage: bandwidthOf(workload, month),
    storage_usage: storage,
    daily_rerank_count: day.rerank,
    monthly_rerank_count: month.rerank,
    monthly_cost: rounded(
      ((month.query + month.update) / 100_000) * USD_PER_100K_REQUESTS +
        (month.rerank / 1_000) * USD_PER_1K_RERANKS +
        (storage / 1e9) * USD_PER_GB_MONTH,
    ),
    days: days.map(nameOfDay),
    daily_update_requests: daily((from, to) => workload.count('update', from, to)),
    daily_query_requests: daily((from, to) => workload.count('query', from, to)),
    daily_bandwidths: daily((from, to) => bandwidthOf(workload, countsOf(workload, from, to))),
    query_throughput: throughput('query'),
    update_throughput: throughput('update'),
    query_latency_mean: latency('query', 1),
    query_latency_99: latency('query', LATENCIES.query.tail),
    update_latency_mean: latency('update', 1),
    update_latency_99: latency('update', LATENCIES.update.tail),
    embeds_latency_mean: latency('embeds', 1),
    embeds_latency_99: latency('embeds', LATENCIES.embeds.tail),
    vector_count: points((from) => workload.vectors(from)),
    data_size: points((from) => workload.vectors(from) * workload.vectorBytes),
    daily_rerank_requests: daily((from, to) => workload.count('rerank', from, to)),
    rerank_latency_mean: latency('rerank', 1),
    rerank_latency_99: latency('rerank', LATENCIES.rerank.tail),
  };
}

/** Returns the queries per second over the last hour, one point per minute: `throughput_vector` of the index record. */
export function throughputVector(indexId: string, { now, fractionDigits }: WorkloadReading): readonly WirePoint[] {
  const workload = indexWorkload(indexId);
  return pointGrid('1h', now).starts.map((start) => {
    const from = start * MINUTE_MS;
    const y = perSecond(workload, 'query', from, Math.min(from + MINUTE_MS, now));
    return { x: formatPointTime(from, fractionDigits), y };
  });
}

function perSecond(workload: IndexWorkload, operation: WorkloadOperation, from: number, to: number): number {
  return to > from ? rounded(workload.count(operation, from, to) / ((to - from) / 1_000)) : 0;
}

type Counts = Readonly<Record<WorkloadOperation, number>>;

function countsOf(workload: IndexWorkload, from: number, to: number): Counts {
  return {
    query: workload.count('query', from, to),
    update: workload.count('update', from, to),
    rerank: workload.count('rerank', from, to),
  };
}

function bandwidthOf(workload: IndexWorkload, counts: Counts): number {
  return counts.query * workload.queryBytes + counts.update * workload.vectorBytes;
}

/** Returns the pending updates: an update waits for some seconds, and longer under high load. */
function pendingVectors(workload: IndexWorkload, now: number): number {
  return Math.floor(workload.rate('update', now) * 6 * workload.load(now) ** 3);
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
