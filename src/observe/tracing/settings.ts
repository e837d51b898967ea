/** Settings of the traces and of the delivery events. */
import * as z from 'zod/mini';
import {
  group,
  baseUrlSetting,
  crossCheck,
  defaulted,
  described,
  durationSetting,
  wholeNumber,
  optional,
  someText,
} from '#foundation/settings/blocks.ts';

export const deliveryEventsSettings = optional(
  'Delivery events for log pipelines: one line of JSON for each ended message. Default: off.',
  z
    .strictObject({
      file: optional('File to append the lines to.', someText),
      stdout: optional('True to write the lines to standard output.', z.literal(true)),
    })
    .check(
      crossCheck((value, context) => {
        if ((value.file === undefined) === (value.stdout === undefined)) {
          context.addIssue({ code: 'custom', message: 'set exactly one of file and stdout' });
        }
      }),
    ),
);

export type DeliveryEventsSettings = NonNullable<z.output<typeof deliveryEventsSettings>>;

export const traceSettings = group('Spans of deliveries for OpenTelemetry.', {
  otlp: optional(
    'Receiver of spans. Default: OTEL_EXPORTER_OTLP_ENDPOINT; if that is not set, no spans are made.',
    z.strictObject({
      url: described('Base URL of an OTLP/HTTP receiver; `/v1/traces` is appended.', baseUrlSetting()),
      protocol: defaulted('Encoding.', z.enum(['http/protobuf', 'http/json']), 'http/protobuf'),
      headers: optional('Additional request headers.', z.record(z.string(), z.string())),
    }),
  ),
  producer: defaulted(
    'Relation of a delivery’s trace to the producer’s span.',
    z.enum(['link', 'parent', 'none']),
    'link',
  ),
  sampleRatio: defaulted(
    'Share of messages to trace. Failed and slow messages are always traced.',
    z.number().check(z.minimum(0), z.maximum(1)),
    0.1,
  ),
  slow: defaulted(
    'Duration since its due time after which a message is slow and always traced.',
    durationSetting({ min: '1s', max: '1h' }),
    '30s',
  ),
  maxOpen: defaulted(
    'Time after which the trace of an open message is sent. Its end follows as a separate span.',
    durationSetting({ min: '1m', max: '31d' }),
    '50m',
  ),
  maxAge: defaulted(
    'Maximum age of spans. Older ones are dropped, because receivers reject them or cannot find them.',
    durationSetting({ min: '1m', max: '31d' }),
    '1h',
  ),
  maxSpansPerSecond: defaulted(
    'Maximum delivery spans per second, averaged over a minute. Further spans are dropped and counted.',
    wholeNumber(1, 100_000),
    200,
  ),
});

export type TraceSettings = z.output<typeof traceSettings>;
