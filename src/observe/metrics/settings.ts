/** Settings of the metrics. */
import { z } from 'zod';
import { durationSetting } from '#foundation/platform/settings.ts';

const globs = z.array(z.string().min(1).max(200)).max(1_000).default([]);

const labelCap = (what: string, max: number) =>
  z
    .strictObject({
      max: z
        .int()
        .min(1)
        .max(100_000)
        .default(max)
        .describe('Maximum distinct values per account. Further values are counted as `other`.'),
      first: globs.describe(
        'Values that get a place before all others, in addition to values named in the configuration.',
      ),
      allow: globs.describe(
        'Patterns of values that can get a place; `*` is any text, `?` one character. Default: all.',
      ),
      deny: globs.describe('Patterns of values that never get a place.'),
    })
    .prefault({})
    .describe(what);

export const metricsSettings = z
  .strictObject({
    labels: z
      .strictObject({
        destination: labelCap('Hosts, queues and URL Groups that messages are delivered to.', 50),
        workflow: labelCap('Workflows, by host and path with ids aggregated.', 50),
        flowControlKey: labelCap('Flow-control keys.', 500),
        urlGroup: labelCap('URL Groups.', 500),
        value: labelCap('Values of the dimension in collectors.logs.dimension.', 500),
      })
      .prefault({})
      .describe('Limits of label values, so that the size of a scrape is bounded.'),
    maxSeries: z
      .int()
      .min(2_000)
      .max(5_000_000)
      .default(100_000)
      .describe(
        'Maximum series over all metrics. New label sets above it are rejected and counted in `opsd_series_dropped_total`; known ones continue.',
      ),
    newSeriesZeroFor: durationSetting({ min: '0s', max: '1h' })
      .prefault('90s')
      .describe(
        'Time that scrapers see a new counter as 0, so that its first increase counts. Must be longer than the scrape interval.',
      ),
    debug: z
      .boolean()
      .default(false)
      .describe(
        'True to export the metrics for developers of the daemon, which docs/metrics.md marks. No shipped alert, dashboard or runbook uses them.',
      ),
    workflowDlqLabels: z
      .boolean()
      .default(false)
      .describe('True to count failed workflow runs by label in `msgsvc_workflow_dlq_labeled_runs`.'),
    latencyUnit: z
      .enum(['ms', 's', 'us', 'ns'])
      .exactOptional()
      .describe(
        'Unit of the latencies in the vector statistics, which the service does not document. Default: none; the latencies are withheld.',
      ),
  })
  .prefault({})
  .describe('Metrics for Prometheus.');

export type MetricsSettings = z.output<typeof metricsSettings>;
