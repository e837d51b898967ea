/** Settings of the exporters. */
import { z } from 'zod';
import { always, baseUrlSetting, durationSetting } from '#foundation/platform/settings.ts';

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

export const telemetrySettings = z.strictObject({
  metrics: z
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
    .describe('Metrics for Prometheus.'),
  deliveryEvents: z
    .strictObject({
      file: z.string().min(1).exactOptional().describe('File that the lines are appended to.'),
      stdout: z.literal(true).exactOptional().describe('Write them to standard output.'),
    })
    .superRefine((value, context) => {
      if ((value.file === undefined) === (value.stdout === undefined)) {
        context.addIssue({ code: 'custom', message: 'exactly one of file and stdout says where the lines go' });
      }
    }, always)
    .exactOptional()
    .describe('One line of JSON for each message that ended, for log pipelines; off unless given.'),
  traces: z
    .strictObject({
      otlp: z
        .strictObject({
          url: baseUrlSetting().describe('Base URL of an OTLP/HTTP receiver; `/v1/traces` is appended.'),
          protocol: z.enum(['http/protobuf', 'http/json']).default('http/protobuf').describe('Encoding.'),
          headers: z.record(z.string(), z.string()).exactOptional().describe('Headers sent along.'),
        })
        .exactOptional()
        .describe('Where spans go; without it OTEL_EXPORTER_OTLP_ENDPOINT counts, and without that no spans are made.'),
      producer: z
        .enum(['link', 'parent', 'none'])
        .default('link')
        .describe('How a delivery’s trace relates to the producer’s span.'),
      sampleRatio: z
        .number()
        .min(0)
        .max(1)
        .default(0.1)
        .describe('Share of messages traced; those that fail or are slow always are.'),
      slow: durationSetting({ min: '1s', max: '1h' })
        .prefault('30s')
        .describe('A message that takes longer, from when it was due, is traced whatever the share.'),
      maxOpen: durationSetting({ min: '1m', max: '31d' })
        .prefault('50m')
        .describe('A message that is still open after this time is told of as it is; its end follows by itself.'),
      maxAge: durationSetting({ min: '1m', max: '31d' })
        .prefault('1h')
        .describe('Spans that began longer ago are not sent: receivers refuse them, or do not find them again.'),
      maxSpansPerSecond: z
        .int()
        .min(1)
        .max(100_000)
        .default(200)
        .describe('Spans of deliveries made a second, over a minute; what is beyond is dropped and counted.'),
    })
    .prefault({})
    .describe('Spans of deliveries for OpenTelemetry.'),
});

export type TelemetrySettings = z.output<typeof telemetrySettings>;
