/** Grafana's unit names, derived from the catalog. */
import { specOf } from '#observe/catalog/catalog.ts';
import type { Unit } from '#observe/catalog/metric-spec.ts';
import { metricOf } from './selectors.ts';
import type { SeriesName } from './selectors.ts';

const UNITS: Readonly<Record<Unit, string>> = {
  messages: 'short',
  runs: 'short',
  requests: 'short',
  items: 'short',
  seconds: 's',
  // Grafana counts times in milliseconds, so the query multiplies by 1000.
  timestamp: 'dateTimeFromNow',
  bytes: 'bytes',
  dollars: 'currencyUSD',
  flag: 'bool_yes_no',
  info: 'none',
  'as served': 'none',
};

const RATES: Partial<Readonly<Record<Unit, string>>> = {
  messages: 'mps',
  runs: 'cps',
  requests: 'reqps',
  items: 'cps',
  // Seconds per second: a share of time.
  seconds: 'percentunit',
  bytes: 'Bps',
};

/** Returns the unit of a metric's values, and of the increase of a counter. */
export function unitOf(series: SeriesName): string {
  return series.endsWith('_bucket') || series.endsWith('_count') ? 'short' : UNITS[specOf(metricOf(series)).unit];
}

/** Returns the unit of the rate of a counter. */
export function rateUnitOf(series: SeriesName): string {
  const unit = series.endsWith('_bucket') || series.endsWith('_count') ? 'items' : specOf(metricOf(series)).unit;
  const rate = RATES[unit];
  if (rate === undefined) throw new Error(`the rate of ${series} has no unit`);
  return rate;
}
