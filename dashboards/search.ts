/** Dashboard of search and vector indexes: use of limits, indexing backlog, latency and cost. */
import { THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { PLAIN, rising, UNLIMITED } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import type { Row } from './parts/layout.ts';
import { stat, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { once, rate, sel } from './parts/selectors.ts';
import type { SeriesName } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { rateUnitOf, unitOf } from './parts/units.ts';

const CHOSEN = 'index=~"$index"';
const INFO = 'msgsvc_search_index_info';
const VECTORS = 'msgsvc_vector_index_vectors';
const PENDING = 'msgsvc_vector_index_pending_vectors';
const COST = 'msgsvc_vector_index_month_cost_dollars';
const MEAN = 'msgsvc_vector_index_latency_mean_seconds';
const P99 = 'msgsvc_vector_index_latency_p99_seconds';
const NO_UNIT = 'withheld until telemetry.metrics.latencyUnit is set';
const NO_LIMIT = 'no limit known';

/** One name per index. A join with two names would fail while two daemons export an old and a new one. */
const NAMES = `topk by (account, index) (1, max by (account, index, name) (${sel(INFO)}))`;

const index = (series: SeriesName, by: readonly string[] = []): string => once(series, ['index', ...by], CHOSEN);
const perSecond = (series: SeriesName): string => `sum by (account, index) (${rate(series, CHOSEN)})`;
const limit = (series: SeriesName): string => `(${index(series)} > 0 < Inf)`;

/**
 * Adds the label `name`: the name in the index's record if the index is also in searchIndexes; else its id. `expr` has
 * one series per index, or one per further label.
 */
function named(expr: string): string {
  return `(${expr}) * on (account, index) group_left (name) ${NAMES} or on (account, index) label_replace(${expr}, "name", "$1", "index", "(.+)")`;
}

const QUOTAS = [
  ['vectors', VECTORS, 'msgsvc_search_index_limit_vectors'],
  ['queries today', 'msgsvc_vector_index_day_queries', 'msgsvc_search_index_limit_day_queries'],
  ['updates today', 'msgsvc_vector_index_day_updates', 'msgsvc_search_index_limit_day_updates'],
  ['reranks this month', 'msgsvc_vector_index_month_reranks', 'msgsvc_search_index_limit_month_reranks'],
  [
    'bandwidth this month',
    'msgsvc_vector_index_month_bandwidth_bytes',
    'msgsvc_search_index_limit_month_bandwidth_bytes',
  ],
] as const;

/** Used part of each finite limit, with a label for the limit. The name is from the record that has the limit. */
const used = QUOTAS.map(
  ([quota, use, of]) => `label_replace(${index(use)} / ${limit(of)}, "quota", "${quota}", "", "")`,
).join(' or ');
const usedByName = `(${used}) * on (account, index) group_left (name) ${NAMES}`;

/** Adds the labels of the index's record, which the same daemon read. */
function recorded(series: SeriesName): string {
  const joined = `${sel(series, CHOSEN)} * on (job, instance, account, index) group_left (name, plan, index_region)`;
  return `max by (account, name, plan, index_region, index) (${joined} ${sel(INFO, CHOSEN)})`;
}

const LIMITS = [
  ['Vectors', 'msgsvc_search_index_limit_vectors', 'short'],
  ['Queries per day', 'msgsvc_search_index_limit_day_queries', 'short'],
  ['Updates per day', 'msgsvc_search_index_limit_day_updates', 'short'],
  ['Reranks per month', 'msgsvc_search_index_limit_month_reranks', 'short'],
  ['Bandwidth per month', 'msgsvc_search_index_limit_month_bandwidth_bytes', 'decbytes'],
  ['Queries per second', 'msgsvc_search_index_limit_queries_per_second', 'short'],
  ['Writes per second', 'msgsvc_search_index_limit_writes_per_second', 'short'],
] as const;

const now: Row = row('Now', [
  stat({
    title: 'Vectors',
    description: 'Vectors in all selected indexes, from the statistics.',
    unit: unitOf(VECTORS),
    queries: [query(`sum(${index(VECTORS)})`)],
    steps: PLAIN,
    noValue: 'none, or not read',
  }),
  stat({
    title: 'Vectors waiting to be indexed',
    description:
      'Vectors that were written and that queries do not find yet. If the number stays or grows, updates arrive faster than the service indexes them.',
    unit: unitOf(PENDING),
    queries: [query(`sum(${index(PENDING)})`)],
    steps: rising({ warning: THRESHOLDS.search.pendingVectors }),
    noValue: 'none, or not read',
  }),
  stat({
    title: 'Most used quota',
    description:
      'Largest used share of a limit: vectors, queries and updates per day, reranks and bandwidth per month. Unlimited quotas are excluded. Limits are known only for indexes in searchIndexes.',
    unit: 'percentunit',
    decimals: 1,
    queries: [query(`topk(1, ${usedByName})`, '{{name}} {{quota}}')],
    steps: rising({ warning: THRESHOLDS.search.quotaRatio, critical: 1 }),
    noValue: NO_LIMIT,
    names: true,
  }),
  stat({
    title: 'Slowest query, p99',
    description:
      'Newest 99th percentile of query latency, for the index with the highest value. The service computes it, so it cannot be averaged.',
    unit: unitOf(P99),
    queries: [query(`max(${once(P99, ['index'], `${CHOSEN},operation="query"`)})`)],
    steps: PLAIN,
    noValue: 'withheld: set the unit',
  }),
  stat({
    title: 'Cost this month',
    description: 'Cost of all selected indexes, from their statistics.',
    unit: unitOf(COST),
    queries: [query(`sum(${index(COST)})`)],
    steps: PLAIN,
    noValue: 'none, or not read',
  }),
]);

const full: Row = row(
  'Limits and backlog',
  [
    table({
      title: 'Limits of the indexes',
      description:
        'Limits in the records of the search indexes. Unlimited quotas are not drawn below. Limits of vector indexes that are not in searchIndexes are unknown.',
      labels: { account: 'Account', name: 'Name', plan: 'Plan', index_region: 'Region', index: 'Index' },
      columns: LIMITS.map(([title, series, unit]) => ({
        title,
        expr: recorded(series),
        unit,
        mappings: [UNLIMITED],
      })),
      sortBy: 'Vectors',
      noValue: 'none, or not read',
      height: 6,
    }),
  ],
  [
    timeSeries({
      title: 'Use of limits',
      description:
        'Used share of finite limits; no line means unlimited or unknown. At 100 % the index rejects requests. Vectors: delete some or change the plan. Daily and monthly limits: wait or change the plan.',
      unit: 'percentunit',
      queries: [query(usedByName, '{{name}} {{quota}}')],
      steps: rising({ warning: THRESHOLDS.search.quotaRatio, critical: 1 }),
      limits: true,
      noValue: NO_LIMIT,
    }),
    timeSeries({
      title: 'Vectors by index',
      description: 'Vectors in each index. An unexpected fall: a delete or a reset of the index.',
      unit: unitOf(VECTORS),
      queries: [query(named(index(VECTORS)), '{{name}}')],
      noValue: 'none, or not read',
    }),
    timeSeries({
      title: 'Vectors waiting to be indexed, by index',
      description: 'Vectors that queries do not find yet. A line that only rises: write less, or in smaller batches.',
      unit: unitOf(PENDING),
      queries: [query(named(index(PENDING)), '{{name}}')],
      noValue: 'none, or not read',
    }),
  ],
);

const answers: Row = row(
  'Latency and throughput',
  [
    timeSeries({
      title: 'Latency, p99',
      description:
        'Newest settled 99th percentile of each index and operation. The service computes it, so it cannot be averaged or summed.',
      unit: unitOf(P99),
      queries: [query(named(index(P99, ['operation'])), '{{name}} {{operation}}')],
      noValue: NO_UNIT,
    }),
    timeSeries({
      title: 'Latency, mean',
      description:
        'Newest settled mean of each index and operation, computed by the service. If the mean stays and p99 rises, few requests are slow.',
      unit: unitOf(MEAN),
      queries: [query(named(index(MEAN, ['operation'])), '{{name}} {{operation}}')],
      noValue: NO_UNIT,
    }),
    timeSeries({
      title: 'Throughput, as served',
      description:
        'Newest settled throughput point of each operation and of the search index. The service does not document its unit: compare it only with itself.',
      unit: unitOf('msgsvc_vector_index_throughput'),
      queries: [
        query(named(index('msgsvc_vector_index_throughput', ['operation'])), '{{name}} {{operation}}'),
        query(named(index('msgsvc_search_index_throughput')), '{{name}} search'),
      ],
    }),
  ],
  [
    timeSeries({
      title: 'Queries, updates and reranks',
      description:
        'Requests per second, from increases of the monthly totals. The table above has the limits per second.',
      unit: rateUnitOf('msgsvc_vector_index_queries_total'),
      interval: '5m',
      queries: [
        query(named(perSecond('msgsvc_vector_index_queries_total')), '{{name}} queries'),
        query(named(perSecond('msgsvc_vector_index_updates_total')), '{{name}} updates'),
        query(named(perSecond('msgsvc_vector_index_reranks_total')), '{{name}} reranks'),
      ],
    }),
    timeSeries({
      title: 'Queries, updates and reranks today',
      description: 'Requests of the current UTC day, from the statistics; they start at 0 at midnight UTC.',
      unit: unitOf('msgsvc_vector_index_day_queries'),
      queries: [
        query(named(index('msgsvc_vector_index_day_queries')), '{{name}} queries'),
        query(named(index('msgsvc_vector_index_day_updates')), '{{name}} updates'),
        query(named(index('msgsvc_vector_index_day_reranks')), '{{name}} reranks'),
      ],
    }),
  ],
);

const cost: Row = row('Cost', [
  timeSeries({
    title: 'Cost this month, by index',
    description: 'Cost of each index, from its statistics; starts at 0 with the month.',
    unit: unitOf(COST),
    queries: [query(named(index(COST)), '{{name}}')],
  }),
  timeSeries({
    title: 'Bandwidth by index',
    description: 'Bytes per second, from increases of the monthly bandwidth.',
    unit: rateUnitOf('msgsvc_vector_index_bandwidth_bytes_total'),
    interval: '5m',
    queries: [query(named(perSecond('msgsvc_vector_index_bandwidth_bytes_total')), '{{name}}')],
  }),
  timeSeries({
    title: 'Storage by index',
    description: 'Bytes stored, from the statistics. Growth without new vectors: metadata and data grow.',
    unit: unitOf('msgsvc_vector_index_storage_bytes'),
    queries: [query(named(index('msgsvc_vector_index_storage_bytes')), '{{name}}')],
  }),
]);

export const search = dashboard({
  uid: 'opsd-search',
  title: 'opsd: search and vector indexes',
  description: 'Use of limits, indexing backlog, latency and cost of the indexes.',
  variables: [
    {
      name: 'index',
      label: 'Index',
      description: 'Ids of watched vector indexes.',
      of: 'msgsvc_vector_index_queries_total',
      value: 'index',
    },
  ],
  rows: [now, full, answers, cost],
});
