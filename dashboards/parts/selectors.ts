/** Selectors of metrics, checked against the catalog and the variables of every dashboard. */
import type { HistogramName, MetricName } from '#observe/catalog/catalog.ts';
import { isMetricName, labelNamesOf, specOf } from '#observe/catalog/catalog.ts';
import { ACCOUNTS_OF_REPLICA, isCounted, OTHER_OWNER, ownerSeries } from '../../deploy/prometheus/owner.ts';

/** Name of a series in Prometheus: a histogram has buckets, sum and count. */
export type SeriesName = Exclude<MetricName, HistogramName> | `${HistogramName}_${'bucket' | 'sum' | 'count'}`;

/** Returns the metric of a series in the catalog. */
export function metricOf(series: SeriesName): MetricName {
  if (isMetricName(series)) return series;
  const metric = series.replace(/_(bucket|sum|count)$/, '');
  if (!isMetricName(metric)) throw new Error(`${series} is not in the catalog of metrics`);
  return metric;
}

const OF_ACCOUNT = 'account=~"$account",job=~"$job"';
const OF_INSTANCE = 'job=~"$job",instance=~"$instance"';

/**
 * Returns `series{account=~"$account",job=~"$job",MORE}`, or with `instance` and not `account` for a series of the process.
 * The instance does not restrict series of accounts, because accounts move between replicas.
 */
export function samples(series: SeriesName, more = ''): string {
  return `${series}{${[hasAccount(series) ? OF_ACCOUNT : OF_INSTANCE, ...(more === '' ? [] : [more])].join(',')}}`;
}

/** Returns the samples of a series, for a gauge of an account without those of replicas that no longer own it. */
export function sel(series: SeriesName, more = ''): string {
  return owned(samples(series, more), series);
}

/** Returns the values of a function over a range in the same way. */
export function selOver(how: string, series: SeriesName, window: string, more = ''): string {
  return owned(`${how}(${samples(series, more)}[${window}])`, series);
}

function owned(expr: string, series: SeriesName): string {
  if (!hasAccount(series) || specOf(metricOf(series)).type !== 'gauge' || series.startsWith('opsd_lease_')) return expr;
  return `(${expr} unless on (job, instance, account) ${OTHER_OWNER}{${OF_ACCOUNT}})`;
}

function hasAccount(series: SeriesName): boolean {
  return labelNamesOf(metricOf(series)).includes('account');
}

/** Returns the change of a counter: as its owners have counted it, and of other daemons as each exposes it. */
function changed(how: 'rate' | 'increase', series: SeriesName, more: string, window: string): string {
  const each = `${how}(${samples(series, more)}[${window}])`;
  if (!isCounted(series)) return each;
  const matchers = [OF_ACCOUNT, ...(more === '' ? [] : [more])].join(',');
  const owners = `${how}(${ownerSeries(series)}{${matchers}}[${window}])`;
  return `(${owners} or (${each} unless on (account) ${owners}))`;
}

/** Returns the samples of a series without those of replicas that own no account. */
export function ofOwners(series: SeriesName): string {
  return `(${samples(series)} unless on (job, instance) ${ACCOUNTS_OF_REPLICA}{${OF_INSTANCE}} == 0)`;
}

/** Returns the rate of a counter per second. */
export function rate(series: SeriesName, more = ''): string {
  return changed('rate', series, more, '$__rate_interval');
}

/** Returns the increase of a counter over the time range of the dashboard, or over a given window such as `24h`. */
export function increase(series: SeriesName, more = '', window = '$__range'): string {
  return changed('increase', series, more, window);
}

/**
 * Returns the increase of a counter per step. `$__rate_interval` is up to four times as long as a step if the scrape
 * interval is as long as a step. An increase over it would show one action in several bars.
 */
export function perStep(series: SeriesName, more = ''): string {
  return `${rate(series, more)} * $__interval_ms / 1000`;
}

/** Returns the maximum of a gauge in each `window`, so that values shorter than a step are visible. */
export function most(series: SeriesName, window: '$__interval' | '$__rate_interval', more = ''): string {
  return selOver('max_over_time', series, window, more);
}

/** Returns a quantile of a histogram by the given labels. */
export function quantile(q: number, histogram: HistogramName, by: readonly string[] = [], more = ''): string {
  return `histogram_quantile(${q}, sum by (${['le', ...by].join(', ')}) (${rate(`${histogram}_bucket`, more)}))`;
}

/** Returns a quantile over a given window. It is absent without observations, because the number would be NaN. */
export function quantileOver(window: string, ...[q, histogram, by = [], more]: Parameters<typeof quantile>): string {
  const buckets = increase(`${histogram}_bucket`, more, window);
  return `histogram_quantile(${q}, sum by (${['le', ...by].join(', ')}) (${buckets})) >= 0`;
}

/** Window for current numbers. `$__rate_interval` would be hours if the dashboard shows a month. */
export const LATELY = '10m';

/** Returns a gauge of an account once, regardless of the number of daemons. A sum over it counts nothing twice. */
export function once(series: SeriesName, by: readonly string[] = [], more = ''): string {
  return `max by (${['account', ...by].join(', ')}) (${sel(series, more)})`;
}

/** Returns a ratio that is absent without a denominator: 0/0 is not a number, and no traffic is not 0 %. */
export function share(part: string, whole: string): string {
  return `${part} / (${whole} > 0)`;
}

/**
 * Returns the share of a part in its whole, at most 1. A counter that appears is 0 at first and catches up later
 * (docs/scraping.md). In that moment the part may grow more than the whole.
 */
export function portion(part: string, whole: string): string {
  return `clamp_max(${share(part, whole)}, 1)`;
}
