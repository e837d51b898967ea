/** Search and vector indexes: how full they are, what waits, and how they answer. */
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

/** One name for each index: while two daemons tell an old and a new one, a join with both would fail. */
const NAMES = `topk by (account, index) (1, max by (account, index, name) (${sel(INFO)}))`;

const index = (series: SeriesName, by: readonly string[] = []): string => once(series, ['index', ...by], CHOSEN);
const perSecond = (series: SeriesName): string => `sum by (account, index) (${rate(series, CHOSEN)})`;
const limit = (series: SeriesName): string => `(${index(series)} > 0 < Inf)`;

/**
 * With the name of the index as `name`: that of its record, where the index is among searchIndexes too; else its id.
 * `expr` has one series an index, or one for each of further labels.
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

/** What is used of each limit there is, with a label for which one; named by the record that the limit stands in. */
const used = QUOTAS.map(
  ([quota, use, of]) => `label_replace(${index(use)} / ${limit(of)}, "quota", "${quota}", "", "")`,
).join(' or ');
const usedByName = `(${used}) * on (account, index) group_left (name) ${NAMES}`;

/** With what the record says of the index, which the same daemon read with it. */
function recorded(series: SeriesName): string {
  const joined = `${sel(series, CHOSEN)} * on (job, instance, account, index) group_left (name, plan, index_region)`;
  return `max by (account, name, plan, index_region, index) (${joined} ${sel(INFO, CHOSEN)})`;
}

const LIMITS = [
  ['Vectors', 'msgsvc_search_index_limit_vectors', 'short'],
  ['Queries a day', 'msgsvc_search_index_limit_day_queries', 'short'],
  ['Updates a day', 'msgsvc_search_index_limit_day_updates', 'short'],
  ['Reranks a month', 'msgsvc_search_index_limit_month_reranks', 'short'],
  ['Bandwidth a month', 'msgsvc_search_index_limit_month_bandwidth_bytes', 'decbytes'],
  ['Queries a second', 'msgsvc_search_index_limit_queries_per_second', 'short'],
  ['Writes a second', 'msgsvc_search_index_limit_writes_per_second', 'short'],
] as const;

const now: Row = row('Now', [
  stat({
    title: 'Vectors',
    description: 'Vectors in all indexes chosen, as the statistics say.',
    unit: unitOf(VECTORS),
    queries: [query(`sum(${index(VECTORS)})`)],
    steps: PLAIN,
    noValue: 'none, or not read',
  }),
  stat({
    title: 'Vectors waiting to be indexed',
    description:
      'Written and not found by queries yet. A number that stays or grows: updates come faster than the service indexes them.',
    unit: unitOf(PENDING),
    queries: [query(`sum(${index(PENDING)})`)],
    steps: rising({ warning: THRESHOLDS.search.pendingVectors }),
    noValue: 'none, or not read',
  }),
  stat({
    title: 'Fullest quota',
    description:
      'Of vectors, queries and updates of the day, reranks and bandwidth of the month, the share of its limit that is used most. Quotas that are unlimited are not among them; limits are known of indexes that are among searchIndexes too.',
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
      'The newest 99th percentile of queries that the service computed, of the index where it is highest. What it is made of is the service’s secret: it cannot be averaged.',
    unit: unitOf(P99),
    queries: [query(`max(${once(P99, ['index'], `${CHOSEN},operation="query"`)})`)],
    steps: PLAIN,
    noValue: 'withheld: set the unit',
  }),
  stat({
    title: 'Cost this month',
    description: 'Of all indexes chosen, as the statistics of the indexes say.',
    unit: unitOf(COST),
    queries: [query(`sum(${index(COST)})`)],
    steps: PLAIN,
    noValue: 'none, or not read',
  }),
]);

const full: Row = row(
  'Are the indexes full, or behind?',
  [
    table({
      title: 'Limits of the indexes',
      description:
        'What the records of the search indexes allow. A quota that is unlimited is not drawn below. Of vector indexes that are not among searchIndexes too, no limits are known.',
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
        'What is used over what is allowed, for limits that there are: no line means unlimited, or not known. At 100% the index refuses: of vectors delete some or change the plan, of a day or a month wait or change the plan.',
      unit: 'percentunit',
      queries: [query(usedByName, '{{name}} {{quota}}')],
      steps: rising({ warning: THRESHOLDS.search.quotaRatio, critical: 1 }),
      limits: true,
      noValue: NO_LIMIT,
    }),
    timeSeries({
      title: 'Vectors by index',
      description: 'How many vectors each index has. A fall that nobody planned: a delete or a reset of the index.',
      unit: unitOf(VECTORS),
      queries: [query(named(index(VECTORS)), '{{name}}')],
      noValue: 'none, or not read',
    }),
    timeSeries({
      title: 'Vectors waiting to be indexed, by index',
      description: 'Written and not found by queries yet. A line that only climbs: write less, or in smaller batches.',
      unit: unitOf(PENDING),
      queries: [query(named(index(PENDING)), '{{name}}')],
      noValue: 'none, or not read',
    }),
  ],
);

const answers: Row = row(
  'Do they answer fast?',
  [
    timeSeries({
      title: 'Latency, p99 as the service computed it',
      description:
        'The newest settled 99th percentile of each index and operation. Computed by the service: it cannot be averaged or added up.',
      unit: unitOf(P99),
      queries: [query(named(index(P99, ['operation'])), '{{name}} {{operation}}')],
      noValue: NO_UNIT,
    }),
    timeSeries({
      title: 'Latency, mean as the service computed it',
      description:
        'The newest settled mean of each index and operation. A mean that stays while p99 climbs: few requests are slow.',
      unit: unitOf(MEAN),
      queries: [query(named(index(MEAN, ['operation'])), '{{name}} {{operation}}')],
      noValue: NO_UNIT,
    }),
    timeSeries({
      title: 'Throughput, as served',
      description:
        'Newest settled point of the throughput of each operation, and of the search index. Its unit is not told by the service: compare it with itself.',
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
        'A second, by the increase of the totals of the month that the service keeps; its limits a second are in the table above.',
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
      description: 'Of the current UTC day, as the statistics count them; they begin at 0 at midnight UTC.',
      unit: unitOf('msgsvc_vector_index_day_queries'),
      queries: [
        query(named(index('msgsvc_vector_index_day_queries')), '{{name}} queries'),
        query(named(index('msgsvc_vector_index_day_updates')), '{{name}} updates'),
        query(named(index('msgsvc_vector_index_day_reranks')), '{{name}} reranks'),
      ],
    }),
  ],
);

const cost: Row = row('What do they cost?', [
  timeSeries({
    title: 'Cost this month, by index',
    description: 'As the statistics of each index say; begins at 0 with the month.',
    unit: unitOf(COST),
    queries: [query(named(index(COST)), '{{name}}')],
  }),
  timeSeries({
    title: 'Bandwidth by index',
    description: 'Bytes a second, by the increase of the bandwidth of the month.',
    unit: rateUnitOf('msgsvc_vector_index_bandwidth_bytes_total'),
    interval: '5m',
    queries: [query(named(perSecond('msgsvc_vector_index_bandwidth_bytes_total')), '{{name}}')],
  }),
  timeSeries({
    title: 'Storage by index',
    description: 'Bytes stored, as the statistics say. Storage that grows without vectors: metadata and data do.',
    unit: unitOf('msgsvc_vector_index_storage_bytes'),
    queries: [query(named(index('msgsvc_vector_index_storage_bytes')), '{{name}}')],
  }),
]);

export const search = dashboard({
  uid: 'opsd-search',
  title: 'opsd: search and vector indexes',
  description: 'How full the indexes are, what waits to be indexed, how they answer, and what they cost.',
  variables: [
    {
      name: 'index',
      label: 'Index',
      description: 'Ids of vector indexes that are watched.',
      of: 'msgsvc_vector_index_queries_total',
      value: 'index',
    },
  ],
  rows: [now, full, answers, cost],
});
