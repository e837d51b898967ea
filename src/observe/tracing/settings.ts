/** Settings of the traces and of the delivery events. */
import { z } from 'zod';
import { always, baseUrlSetting, durationSetting } from '#foundation/platform/settings.ts';

export const deliveryEventsSettings = z
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
  .describe('One line of JSON for each message that ended, for log pipelines; off unless given.');

export type DeliveryEventsSettings = NonNullable<z.output<typeof deliveryEventsSettings>>;

export const traceSettings = z
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
  .describe('Spans of deliveries for OpenTelemetry.');

export type TraceSettings = z.output<typeof traceSettings>;
