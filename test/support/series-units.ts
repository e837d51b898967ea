/** Units in which Grafana may show a query, if one metric of the catalog determines them. */
import { isMetricName, METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';
import type { Unit } from '#observe/catalog/metric-spec.ts';
import type { PromqlReading } from './promql.ts';

const COUNTS = ['short', 'none', 'locale'];

const VALUES: Partial<Readonly<Record<Unit, readonly string[]>>> = {
  messages: COUNTS,
  runs: COUNTS,
  requests: COUNTS,
  items: COUNTS,
  seconds: ['s', 'dtdurations'],
  bytes: ['bytes', 'decbytes'],
  dollars: ['currencyUSD'],
};

const RATES: Partial<Readonly<Record<Unit, readonly string[]>>> = {
  messages: ['mps', 'cps'],
  runs: ['cps'],
  requests: ['reqps', 'cps'],
  items: ['cps'],
  // Seconds per second: a share of time.
  seconds: ['percentunit'],
  bytes: ['Bps', 'binBps'],
};

/** Operations that change the unit, in the words of the grammar. */
const OTHER = ['Div', 'Mul', 'Add', 'BoolModifier', 'Count', 'CountValues', 'Changes', 'Deriv', 'PredictLinear'];

export function unitsOf({ selectors, words }: PromqlReading): readonly string[] | undefined {
  const units = new Set(selectors.map(({ metric }) => unitOf(metric)));
  const [unit] = units;
  if (units.size !== 1 || unit === undefined || OTHER.some((word) => words.has(word))) return undefined;
  if (words.has('Sub')) return unit === 'timestamp' && words.has('Time') ? VALUES.seconds : undefined;
  const counted = selectors.every(({ metric }) => /_(bucket|count)$/.test(metric)) && !words.has('HistogramQuantile');
  const rated = selectors.some(({ call }) => call === 'rate') && !words.has('HistogramQuantile');
  // Counts may be messages or requests as well.
  if (counted) return rated ? ['cps', 'mps', 'reqps'] : COUNTS;
  return (rated ? RATES : VALUES)[unit];
}

function unitOf(series: string): Unit | undefined {
  const metric = isMetricName(series) ? series : METRIC_NAMES.find((name) => name === series.replace(/_[a-z]+$/, ''));
  return metric === undefined ? undefined : specOf(metric).unit;
}
