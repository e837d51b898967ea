/** Settings of the metrics. */
import * as z from 'zod/mini';
import {
  group,
  defaulted,
  durationSetting,
  wholeNumber,
  optional,
  settingsBlock,
  someText,
} from '#foundation/settings/blocks.ts';

const patterns = z.array(someText.check(z.maxLength(200))).check(z.maxLength(1_000));
const globs = (what: string) => defaulted(what, patterns, []);

const labelCap = (what: string, max: number) =>
  settingsBlock(
    what,
    z.strictObject({
      max: defaulted(
        'Maximum distinct values per account. Further values are counted as `other`.',
        wholeNumber(1, 100_000),
        max,
      ),
      first: globs('Values that get a place before all others, in addition to values named in the configuration.'),
      allow: globs('Patterns of values that can get a place; `*` is any text, `?` one character. Default: all.'),
      deny: globs('Patterns of values that never get a place.'),
    }),
  );

export const metricsSettings = group('Metrics for Prometheus.', {
  labels: group('Limits of label values, so that the size of a scrape is bounded.', {
    destination: labelCap('Hosts, queues and URL Groups that messages are delivered to.', 50),
    workflow: labelCap('Workflows, by host and path with ids aggregated.', 50),
    flowControlKey: labelCap('Flow-control keys.', 500),
    urlGroup: labelCap('URL Groups.', 500),
    value: labelCap('Values of the dimension in collectors.logs.dimension.', 500),
  }),
  maxSeries: defaulted(
    'Maximum series over all metrics. New label sets above it are rejected and counted in `opsd_series_dropped_total`; known ones continue.',
    wholeNumber(2_000, 5_000_000),
    100_000,
  ),
  newSeriesZeroFor: defaulted(
    'Time that scrapers see a new counter as 0, so that its first increase counts. Must be longer than the scrape interval.',
    durationSetting({ min: '0s', max: '1h' }),
    '90s',
  ),
  debug: defaulted(
    'True to export the metrics for developers of the daemon, which docs/metrics.md marks. No shipped alert, dashboard or runbook uses them.',
    z.boolean(),
    false,
  ),
  workflowDlqLabels: defaulted(
    'True to count failed workflow runs by label in `msgsvc_workflow_dlq_labeled_runs`.',
    z.boolean(),
    false,
  ),
  latencyUnit: optional(
    'Unit of the latencies in the vector statistics, which the service does not document. Default: none; the latencies are withheld.',
    z.enum(['ms', 's', 'us', 'ns']),
  ),
});

export type MetricsSettings = z.output<typeof metricsSettings>;
