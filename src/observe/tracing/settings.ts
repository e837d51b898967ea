/** Settings of the traces and of the delivery events. */
import { z } from 'zod';
import { always, baseUrlSetting, durationSetting } from '#foundation/platform/settings.ts';

export const deliveryEventsSettings = z
  .strictObject({
    file: z.string().min(1).exactOptional().describe('File to append the lines to.'),
    stdout: z.literal(true).exactOptional().describe('True to write the lines to standard output.'),
  })
  .superRefine((value, context) => {
    if ((value.file === undefined) === (value.stdout === undefined)) {
      context.addIssue({ code: 'custom', message: 'set exactly one of file and stdout' });
    }
  }, always)
  .exactOptional()
  .describe('Delivery events for log pipelines: one line of JSON for each ended message. Default: off.');

export type DeliveryEventsSettings = NonNullable<z.output<typeof deliveryEventsSettings>>;

export const traceSettings = z
  .strictObject({
    otlp: z
      .strictObject({
        url: baseUrlSetting().describe('Base URL of an OTLP/HTTP receiver; `/v1/traces` is appended.'),
        protocol: z.enum(['http/protobuf', 'http/json']).default('http/protobuf').describe('Encoding.'),
        headers: z.record(z.string(), z.string()).exactOptional().describe('Additional request headers.'),
      })
      .exactOptional()
      .describe('Receiver of spans. Default: OTEL_EXPORTER_OTLP_ENDPOINT; if that is not set, no spans are made.'),
    producer: z
      .enum(['link', 'parent', 'none'])
      .default('link')
      .describe('Relation of a delivery’s trace to the producer’s span.'),
    sampleRatio: z
      .number()
      .min(0)
      .max(1)
      .default(0.1)
      .describe('Share of messages to trace. Failed and slow messages are always traced.'),
    slow: durationSetting({ min: '1s', max: '1h' })
      .prefault('30s')
      .describe('Duration since its due time after which a message is slow and always traced.'),
    maxOpen: durationSetting({ min: '1m', max: '31d' })
      .prefault('50m')
      .describe('Time after which the trace of an open message is sent. Its end follows as a separate span.'),
    maxAge: durationSetting({ min: '1m', max: '31d' })
      .prefault('1h')
      .describe('Maximum age of spans. Older ones are dropped, because receivers reject them or cannot find them.'),
    maxSpansPerSecond: z
      .int()
      .min(1)
      .max(100_000)
      .default(200)
      .describe('Maximum delivery spans per second, averaged over a minute. Further spans are dropped and counted.'),
  })
  .prefault({})
  .describe('Spans of deliveries for OpenTelemetry.');

export type TraceSettings = z.output<typeof traceSettings>;
