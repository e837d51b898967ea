/** Selectors of metrics, held to the catalogue and to the variables that every dashboard has. */
import type { HistogramName, MetricName } from '#observe/catalog/catalog.ts';
import { isMetricName, labelNamesOf } from '#observe/catalog/catalog.ts';

/** A series as Prometheus has it: a histogram is its buckets, its sum and its count. */
export type SeriesName = Exclude<MetricName, HistogramName> | `${HistogramName}_${'bucket' | 'sum' | 'count'}`;

/** The metric of the catalogue that a series belongs to. */
export function metricOf(series: SeriesName): MetricName {
  if (isMetricName(series)) return series;
  const metric = series.replace(/_(bucket|sum|count)$/, '');
  if (!isMetricName(metric)) throw new Error(`${series} is not in the catalogue of metrics`);
  return metric;
}

/** `series{account=~"$account",job=~"$job",instance=~"$instance",MORE}`, with `account` where the metric has it. */
export function sel(series: SeriesName, more = ''): string {
  const account = labelNamesOf(metricOf(series)).includes('account') ? ['account=~"$account"'] : [];
  const matchers = [...account, 'job=~"$job"', 'instance=~"$instance"', ...(more === '' ? [] : [more])];
  return `${series}{${matchers.join(',')}}`;
}

/** `rate()` of a counter, a second. */
export function rate(series: SeriesName, more = ''): string {
  return `rate(${sel(series, more)}[$__rate_interval])`;
}

/** What a counter grew by over the time that the dashboard shows, or over a stated window such as `24h`. */
export function increase(series: SeriesName, more = '', window = '$__range'): string {
  return `increase(${sel(series, more)}[${window}])`;
}

/**
 * What a counter grew by in each step of a drawing. `$__rate_interval` is longer than a step, up to four times where the
 * scrape interval is as long as a step: an increase over it would tell of one act in several bars, in each of them whole.
 */
export function perStep(series: SeriesName, more = ''): string {
  return `${rate(series, more)} * $__interval_ms / 1000`;
}

/** The most of a gauge within each `window`: what is there for less than a step of a drawing is seen too. */
export function most(series: SeriesName, window: '$__interval' | '$__rate_interval', more = ''): string {
  return `max_over_time(${sel(series, more)}[${window}])`;
}

/** A quantile of a histogram, by the labels given. */
export function quantile(q: number, histogram: HistogramName, by: readonly string[] = [], more = ''): string {
  return `histogram_quantile(${q}, sum by (${['le', ...by].join(', ')}) (${rate(`${histogram}_bucket`, more)}))`;
}

/** Of one within a stated window: none where nothing was observed, since no number is NaN. */
export function quantileOver(window: string, ...[q, histogram, by = [], more]: Parameters<typeof quantile>): string {
  const buckets = increase(`${histogram}_bucket`, more, window);
  return `histogram_quantile(${q}, sum by (${['le', ...by].join(', ')}) (${buckets})) >= 0`;
}

/** Of numbers that tell of just now. `$__rate_interval` would be hours where a month is shown. */
export const LATELY = '10m';

/** A gauge of an account once, however many daemons read it: a sum over it counts nothing twice. */
export function once(series: SeriesName, by: readonly string[] = [], more = ''): string {
  return `max by (${['account', ...by].join(', ')}) (${sel(series, more)})`;
}

/** A ratio, and none where there is no denominator: 0/0 is not a number, and no traffic is not 0%. */
export function share(part: string, whole: string): string {
  return `${part} / (${whole} > 0)`;
}

/**
 * The share of a part that is counted among its whole. A counter that appears is 0 at first and catches up later
 * (docs/scraping.md): in that moment the part may have grown by more than the whole, which can be no more than all.
 */
export function portion(part: string, whole: string): string {
  return `clamp_max(${share(part, whole)}, 1)`;
}
