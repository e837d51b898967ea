/** Labels of the series that the daemon exposes, as in Prometheus after a scrape. */
import { isMetricName, labelNamesOf, METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';

const TARGET = ['job', 'instance'];

/** Labels that Prometheus adds to each target. */
const ALERT_LABELS = ['alertname', 'severity', 'area', 'account', 'destination', 'workflow', 'policy', ...TARGET];
const OF_RULES: Readonly<Record<string, readonly string[]>> = {
  ALERTS: [...ALERT_LABELS, 'alertstate'],
  ALERTS_FOR_STATE: ALERT_LABELS,
};
const OF_SCRAPES = ['up', 'scrape_duration_seconds', 'scrape_samples_scraped'];

/**
 * Returns undefined for a name that is neither in the catalog, nor part of one of its histograms, nor Prometheus' own.
 */
export function labelsOfSeries(series: string): readonly string[] | undefined {
  if (Object.hasOwn(OF_RULES, series)) return OF_RULES[series];
  if (OF_SCRAPES.includes(series)) return TARGET;
  if (isMetricName(series))
    return specOf(series).type === 'histogram' ? undefined : [...labelNamesOf(series), ...TARGET];
  const histogram = METRIC_NAMES.find(
    (name) =>
      specOf(name).type === 'histogram' &&
      /^_(bucket|sum|count)$/.test(series.slice(name.length)) &&
      series.startsWith(name),
  );
  if (histogram === undefined) return undefined;
  return [...labelNamesOf(histogram), ...(series.endsWith('_bucket') ? ['le'] : []), ...TARGET];
}
