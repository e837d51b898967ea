/** Parses search index records (interface 2.8). Tokens, owners and addresses are not read. */
import type { SearchIndex } from '#foundation/domain/statistics.ts';
import type { WireNames } from '../wire-names.ts';
import {
  jsonObject,
  optionalBoolean,
  optionalCount,
  optionalLimit,
  parseJson,
  requireText,
  type Drops,
  type JsonObject,
} from './reader.ts';
import { pointsOf } from './statistics.ts';
import { optionalSecondsTime } from './time.ts';

/** Parses a record. `asked` is the requested id; the record names a new index. */
export function parseSearchIndex(
  body: Buffer,
  drops: Drops,
  { names, asked }: { readonly names: WireNames; readonly asked?: string },
): SearchIndex {
  const row = jsonObject(parseJson(body), 'answer');
  const count = (field: string): number | undefined => drops.field(() => optionalCount(row, field));
  const limit = (field: string): number | undefined => drops.field(() => optionalLimit(row, field));
  return {
    index: asked ?? requireText(row, 'id'),
    name: requireText(row, 'name'),
    plan: requireText(row, 'type'),
    region: requireText(row, 'region'),
    maxVectors: count('max_vector_count'),
    maxMonthlyReranks: limit('max_monthly_reranks'),
    maxDailyUpdates: limit('max_daily_updates'),
    maxDailyQueries: limit('max_daily_queries'),
    maxMonthlyBandwidth: limit('max_monthly_bandwidth'),
    maxWritesPerSecond: count('max_writes_per_second'),
    maxQueriesPerSecond: count('max_query_per_second'),
    maxReadsPerRequest: count('max_reads_per_request'),
    maxWritesPerRequest: count('max_writes_per_request'),
    createdAt: drops.field(() => optionalSecondsTime(row, 'creation_time')),
    inputEnrichmentEnabled: drops.field(() => optionalBoolean(row, 'input_enrichment_enabled')),
    hasIntegration: drops.field(() => isSet(row, names.integrationEmailField)),
    throughput: pointsOf(drops, row, 'throughput_vector'),
  };
}

/** Returns undefined if the record does not have the field. */
function isSet(row: JsonObject, field: string): boolean | undefined {
  const value = row[field];
  return value === undefined || value === null ? undefined : value !== '';
}
