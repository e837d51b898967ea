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
        .describe('Distinct values of an account; the rest is counted as `other`.'),
      first: globs.describe('Values that have a place before all others; what the configuration names has one too.'),
      allow: globs.describe('Only values that one of these matches get a place; `*` is any text, `?` one character.'),
      deny: globs.describe('Values that one of these matches get no place.'),
    })
    .prefault({})
    .describe(what);

export const metricsSettings = z
  .strictObject({
    labels: z
      .strictObject({
        destination: labelCap('Hosts, queues and URL Groups that messages are delivered to.', 50),
        workflow: labelCap('Workflows, by host and path with ids folded.', 50),
        flowControlKey: labelCap('Flow-control keys.', 500),
        urlGroup: labelCap('URL Groups.', 500),
        value: labelCap('Values of the dimension that collectors.logs.dimension names.', 500),
      })
      .prefault({})
      .describe('Which values labels have, and how many, so that a scrape stays bounded.'),
    maxSeries: z
      .int()
      .min(2_000)
      .max(5_000_000)
      .default(100_000)
      .describe(
        'Series over all metrics; new label sets beyond it are refused, counted in `opsd_series_refused_total`, and known ones go on.',
      ),
    newSeriesZeroFor: durationSetting({ min: '0s', max: '1h' })
      .prefault('90s')
      .describe(
        'Time for which scrapers see a new counter as 0, so that its first increase counts. Must be longer than the scrape interval.',
      ),
    debug: z
      .boolean()
      .default(false)
      .describe(
        'Whether the metrics for developers of the daemon are exposed too; docs/metrics.md marks them. No shipped alert, dashboard or runbook uses them.',
      ),
    workflowDlqLabels: z
      .boolean()
      .default(false)
      .describe('Whether failed workflow runs are counted by label, in `msgsvc_workflow_dlq_labeled_runs`.'),
    latencyUnit: z
      .enum(['ms', 's', 'us', 'ns'])
      .exactOptional()
      .describe(
        'Unit of the latencies in the vector statistics, which the service does not show; without it they are withheld.',
      ),
  })
  .prefault({})
  .describe('Metrics for Prometheus.');

export type MetricsSettings = z.output<typeof metricsSettings>;
