/**
 * Table of all metrics. The registry, the documentation and the units in dashboards come from this table. Tests compare
 * dashboards and rules with it.
 */
import * as actions from './actions.ts';
import * as collectors from './collectors.ts';
import { daemon, processMetrics, storeFiles } from './daemon.ts';
import * as messages from './messages.ts';
import type { MetricSpec, MetricType } from './metric-spec.ts';
import * as statistics from './statistics.ts';

/** In the order of the documentation. */
export const catalog = {
  ...messages.up,
  ...messages.logMetrics,
  ...messages.openMessages,
  ...messages.heldRuns,
  ...messages.passedRuns,
  ...messages.flowControlMetrics,
  ...messages.flowControlTotals,
  ...messages.urlGroupMetrics,
  ...statistics.accountStatsMetrics,
  ...statistics.accountTotals,
  ...statistics.accountLimits,
  ...statistics.searchIndexMetrics,
  ...statistics.vectorStatsMetrics,
  ...statistics.vectorTotals,
  ...messages.canaries,
  ...collectors.collectorMetrics,
  ...collectors.logReader,
  ...collectors.logProgress,
  ...collectors.entryMode,
  ...collectors.statsReader,
  ...collectors.statsPoints,
  ...collectors.api,
  ...actions.policies,
  ...actions.hooks,
  ...actions.callbacks,
  ...actions.incidents,
  ...actions.notifications,
  ...actions.replicas,
  ...daemon,
  ...storeFiles,
  ...processMetrics,
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof catalog;

/** Name of a metric that the daemon writes itself. prom-client writes the metrics of the process. */
type OwnMetricName = Exclude<MetricName, keyof typeof processMetrics>;

type NamesOfType<T extends MetricType> = {
  [N in OwnMetricName]: (typeof catalog)[N]['type'] extends T ? N : never;
}[OwnMetricName];

export type GaugeName = NamesOfType<'gauge'>;
export type CounterName = NamesOfType<'counter'>;
export type HistogramName = NamesOfType<'histogram'>;

type LabelNames<N extends MetricName> =
  | (typeof catalog)[N]['labels'][number]
  | ((typeof catalog)[N]['account'] extends true ? 'account' : never);

/** Labels of a metric, all required. */
export type LabelsOf<N extends MetricName> = Readonly<Record<LabelNames<N>, string>>;

export const METRIC_NAMES = Object.keys(catalog) as readonly MetricName[];

export const OWN_METRIC_NAMES = METRIC_NAMES.filter((name): name is OwnMetricName => !isProcessMetric(name));

export function specOf(name: MetricName): MetricSpec {
  return catalog[name];
}

export function isMetricName(name: string): name is MetricName {
  return Object.hasOwn(catalog, name);
}

export function isProcessMetric(name: string): name is keyof typeof processMetrics {
  return Object.hasOwn(processMetrics, name);
}

/** Returns the exported label names in order. `account` comes first if the series belong to an account. */
export function labelNamesOf(name: MetricName): readonly string[] {
  const spec = specOf(name);
  return spec.account ? ['account', ...spec.labels] : spec.labels;
}
