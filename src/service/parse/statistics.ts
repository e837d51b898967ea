/**
 * Parses statistics of the account (interface 2.11) and of vector indexes (2.10). An unreadable field is dropped and
 * counted; the rest of the response is used. Counters add these numbers up, so each has a range: a value outside of it is
 * dropped here, where no counter, forecast or gauge has seen it.
 */
import {
  LARGEST,
  type AccountStats,
  type DataPoint,
  type NamedSeries,
  type RequestsPoint,
  type VectorStats,
} from '#foundation/domain/statistics.ts';
import type { WireNames } from '../wire-names.ts';
import {
  MalformedAnswer,
  jsonObject,
  optionalAmount,
  optionalCount,
  parseJson,
  present,
  requireText,
  rowsOf,
  UnreadableField,
  type Drops,
  type JsonObject,
} from './reader.ts';
import { pointTime } from './time.ts';

export function parseAccountStats(body: Buffer, drops: Drops, names: WireNames): AccountStats {
  const row = jsonObject(parseJson(body), 'answer');
  const { largestPoint } = names;
  const points = (field: string, largest: number): readonly DataPoint[] | undefined =>
    pointsOf(drops, row, field, largest);
  const series = (field: string): readonly NamedSeries[] | undefined =>
    listOf(drops, row, { field, parse: (item) => parseSeries(item, drops, largestPoint) });
  return notEmpty({
    days: drops.field(() => optionalTexts(row, 'days')),
    dlqMessages: drops.field(() => optionalCount(row, 'dlq_message_count')),
    monthBillingUsd: drops.field(() => optionalAmount(row, 'total_monthly_billing', LARGEST.dollars)),
    dailyBillings: points('daily_billings', LARGEST.dollars),
    dailyBandwidths: bandwidthsOf(drops, row, { field: 'daily_bandwidths', names }),
    dailyRequests: listOf(drops, row, {
      field: 'daily_requests',
      parse: (item) => parseRequestsPoint(item, largestPoint),
    }),
    used: points('daily_used', largestPoint),
    usedWorkflow: points('daily_used_workflow', largestPoint),
    bandwidthUsed: bandwidthsOf(drops, row, { field: 'daily_bandwidth_used', names }),
    messages: series(names.dailyMessagesField),
    workflowMessages: series('daily_workflow_messages'),
  });
}

/** Parses the statistics of an index. `index` is the requested id. */
export function parseVectorStats(
  body: Buffer,
  drops: Drops,
  { names, index }: { readonly names: WireNames; readonly index: string },
): VectorStats {
  const row = jsonObject(parseJson(body), 'answer');
  const count = (field: string, largest?: number): number | undefined =>
    drops.field(() => optionalCount(row, field, largest));
  const points = (field: string): readonly DataPoint[] | undefined => pointsOf(drops, row, field);
  const scalars: Omit<VectorStats, 'index' | 'latencyMean' | 'latencyP99' | 'throughput'> = {
    vectors: count('current_vector_count'),
    pendingVectors: count('pending_index_count'),
    storageBytes: count('storage_usage', LARGEST.bytes),
    dayQueries: count('daily_query_count'),
    dayUpdates: count('daily_update_count'),
    dayReranks: count('daily_rerank_count'),
    monthQueries: count('monthly_query_count'),
    monthUpdates: count('monthly_update_count'),
    monthReranks: count('monthly_rerank_count'),
    monthBandwidthBytes: count('monthly_bandwidth_usage', LARGEST.bytes),
    monthCostUsd: drops.field(() => optionalAmount(row, 'monthly_cost', LARGEST.dollars)),
    dailyBandwidths: bandwidthsOf(drops, row, { field: 'daily_bandwidths', names }),
    dataSize: points('data_size'),
  };
  return {
    index,
    ...notEmpty(scalars),
    latencyMean: {
      query: points('query_latency_mean'),
      update: points('update_latency_mean'),
      embed: points('embeds_latency_mean'),
      rerank: points('rerank_latency_mean'),
    },
    latencyP99: {
      query: points('query_latency_99'),
      update: points('update_latency_99'),
      embed: points('embeds_latency_99'),
      rerank: points('rerank_latency_99'),
    },
    throughput: {
      query: points('query_throughput'),
      update: points('update_throughput'),
    },
  };
}

/** Returns bandwidths in bytes. The interface does not define their unit. */
function bandwidthsOf(
  drops: Drops,
  row: JsonObject,
  { field, names: { bytesOfBandwidth } }: { readonly field: string; readonly names: WireNames },
): readonly DataPoint[] | undefined {
  const points = pointsOf(drops, row, field, LARGEST.bytes / bytesOfBandwidth);
  return points?.map(({ at, value }) => ({ at, value: value * bytesOfBandwidth }));
}

/** Returns the points of an optional field, each from 0 to `largest`. */
export function pointsOf(
  drops: Drops,
  row: JsonObject,
  field: string,
  largest: number = LARGEST.bytes,
): readonly DataPoint[] | undefined {
  return listOf(drops, row, { field, parse: (item) => parsePoint(item, largest) });
}

function listOf<T>(
  drops: Drops,
  row: JsonObject,
  options: { readonly field: string; readonly parse: (item: JsonObject) => T },
): readonly T[] | undefined {
  const list = row[options.field];
  if (list === undefined || list === null) return undefined;
  return drops.field(() => rowsOf(drops, list, { what: options.field, parse: options.parse }));
}

function parsePoint(row: JsonObject, largest: number): DataPoint {
  return { at: pointTime(row), value: present(optionalAmount(row, 'y', largest), 'y') };
}

function parseRequestsPoint(row: JsonObject, largest: number): RequestsPoint {
  return {
    ...parsePoint(row, largest),
    workflowMessages: optionalAmount(row, 'workflow_message', largest),
    workflowRuns: optionalAmount(row, 'workflow_run', largest),
  };
}

function parseSeries(row: JsonObject, drops: Drops, largest: number): NamedSeries {
  return { id: requireText(row, 'id'), points: pointsOf(drops, row, 'data_points', largest) ?? [] };
}

function optionalTexts(row: JsonObject, field: string): readonly string[] | undefined {
  const list = row[field];
  if (list === undefined || list === null) return undefined;
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string')) {
    throw new UnreadableField(`${field}: not a list of texts`);
  }
  return list;
}

/**
 * Returns the statistics if at least one field is present. Otherwise the response is of another kind, which must not
 * look like one without values.
 */
function notEmpty<T extends object>(stats: T): T {
  if (Object.values(stats).every((value) => value === undefined))
    throw new MalformedAnswer('it has none of the statistics');
  return stats;
}
