/**
 * Parses statistics of the account (interface 2.11) and of vector indexes (2.10). An unreadable field is dropped and
 * counted; the rest of the response is used.
 */
import type {
  AccountStats,
  DataPoint,
  NamedSeries,
  RequestsPoint,
  VectorStats,
} from '#foundation/domain/statistics.ts';
import type { WireNames } from '../wire-names.ts';
import {
  compact,
  MalformedAnswer,
  objectOf,
  optionalCount,
  optionalNumber,
  parseJson,
  requireNumber,
  requireText,
  rowsOf,
  UnreadableField,
  type Drops,
  type JsonObject,
} from './reader.ts';
import { pointTime } from './time.ts';

export function parseAccountStats(body: Buffer, drops: Drops, names: WireNames): AccountStats {
  const row = objectOf(parseJson(body), 'answer');
  const points = (field: string): readonly DataPoint[] | undefined => pointsOf(drops, row, field);
  const series = (field: string): readonly NamedSeries[] | undefined =>
    listOf(drops, row, { field, parse: (item) => parseSeries(item, drops) });
  return notEmpty(
    compact<AccountStats>({
      days: drops.field(() => optionalTexts(row, 'days')),
      dlqMessages: drops.field(() => optionalCount(row, 'dlq_message_count')),
      monthBillingUsd: drops.field(() => optionalNumber(row, 'total_monthly_billing')),
      dailyBillings: points('daily_billings'),
      dailyBandwidths: inBytes(points('daily_bandwidths'), names),
      dailyRequests: listOf(drops, row, { field: 'daily_requests', parse: parseRequestsPoint }),
      used: points('daily_used'),
      usedWorkflow: points('daily_used_workflow'),
      bandwidthUsed: inBytes(points('daily_bandwidth_used'), names),
      messages: series(names.dailyMessagesField),
      workflowMessages: series('daily_workflow_messages'),
    }),
  );
}

/** Parses the statistics of an index. `index` is the requested id. */
export function parseVectorStats(
  body: Buffer,
  drops: Drops,
  { names, index }: { readonly names: WireNames; readonly index: string },
): VectorStats {
  const row = objectOf(parseJson(body), 'answer');
  const count = (field: string): number | undefined => drops.field(() => optionalCount(row, field));
  const points = (field: string): readonly DataPoint[] | undefined => pointsOf(drops, row, field);
  const scalars = compact<Omit<VectorStats, 'index' | 'latencyMean' | 'latencyP99' | 'throughput'>>({
    vectors: count('current_vector_count'),
    pendingVectors: count('pending_index_count'),
    storageBytes: count('storage_usage'),
    dayQueries: count('daily_query_count'),
    dayUpdates: count('daily_update_count'),
    dayReranks: count('daily_rerank_count'),
    monthQueries: count('monthly_query_count'),
    monthUpdates: count('monthly_update_count'),
    monthReranks: count('monthly_rerank_count'),
    monthBandwidthBytes: count('monthly_bandwidth_usage'),
    monthCostUsd: drops.field(() => optionalNumber(row, 'monthly_cost')),
    dailyBandwidths: inBytes(points('daily_bandwidths'), names),
    dataSize: points('data_size'),
  });
  return {
    index,
    ...notEmpty(scalars),
    latencyMean: compact<VectorStats['latencyMean']>({
      query: points('query_latency_mean'),
      update: points('update_latency_mean'),
      embed: points('embeds_latency_mean'),
      rerank: points('rerank_latency_mean'),
    }),
    latencyP99: compact<VectorStats['latencyP99']>({
      query: points('query_latency_99'),
      update: points('update_latency_99'),
      embed: points('embeds_latency_99'),
      rerank: points('rerank_latency_99'),
    }),
    throughput: compact<VectorStats['throughput']>({
      query: points('query_throughput'),
      update: points('update_throughput'),
    }),
  };
}

/** Converts bandwidths whose unit the interface does not define. */
function inBytes(
  points: readonly DataPoint[] | undefined,
  { bytesOfBandwidth }: WireNames,
): readonly DataPoint[] | undefined {
  return points?.map(({ at, value }) => ({ at, value: value * bytesOfBandwidth }));
}

/** Returns the points of an optional field. */
export function pointsOf(drops: Drops, row: JsonObject, field: string): readonly DataPoint[] | undefined {
  return listOf(drops, row, { field, parse: parsePoint });
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

function parsePoint(row: JsonObject): DataPoint {
  return { at: pointTime(row), value: requireNumber(row, 'y') };
}

function parseRequestsPoint(row: JsonObject): RequestsPoint {
  return compact<RequestsPoint>({
    ...parsePoint(row),
    workflowMessages: optionalNumber(row, 'workflow_message'),
    workflowRuns: optionalNumber(row, 'workflow_run'),
  });
}

function parseSeries(row: JsonObject, drops: Drops): NamedSeries {
  return { id: requireText(row, 'id'), points: pointsOf(drops, row, 'data_points') ?? [] };
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
  if (Object.keys(stats).length === 0) throw new MalformedAnswer('it has none of the statistics');
  return stats;
}
