/**
 * Compares the exporter of the daemon's own spans with the exporters of OpenTelemetry: receivers decode the same spans.
 */
import { context, trace, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDaemonExporter } from '#observe/tracing/daemon-exporter.ts';
import { createOtlpPost } from '#observe/tracing/otlp-post.ts';
import { createOtlpSender } from '#observe/tracing/otlp-sender.ts';
import { otlpEndpoint } from '#observe/tracing/otlp-endpoint.ts';
import { traceSettings } from '#observe/tracing/settings.ts';
import { EventBus } from '#foundation/events/events.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { otlpSink } from '../../support/otlp-sink.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const attributes = fc.dictionary(
  fc.string({ unit: fc.constantFrom('a', 'b', '.'), minLength: 1, maxLength: 5 }),
  fc.oneof(text, fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean()),
);
const made = fc.record({
  name: text,
  kind: fc.constantFrom(SpanKind.INTERNAL, SpanKind.CLIENT),
  attributes,
  durationMs: fc.nat(100_000),
  isError: fc.boolean(),
  isLinked: fc.boolean(),
  isChild: fc.boolean(),
});

const AT = Date.UTC(2026, 4, 4);
const LINK = {
  context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED, isRemote: true },
};

test.each(['http/protobuf', 'http/json'] as const)(
  'sends what the exporter of OpenTelemetry sends, over %s',
  async (protocol) => {
    const [ours, theirs] = [await otlpSink(), await otlpSink()];
    const endpoint = otlpEndpoint(traceSettings.parse({ otlp: { url: ours.url, protocol } }), {})!;
    const events = new EventBus();
    using sender = createOtlpSender({ post: createOtlpPost(endpoint, systemClock), clock: systemClock, events });
    const own = createDaemonExporter({ sender, endpoint, clock: systemClock, events, onSettled: () => undefined });
    const Reference = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
    const reference = new Reference({ url: `${theirs.url}/v1/traces` });
    await fc.assert(
      fc.asyncProperty(fc.array(made, { minLength: 1, maxLength: 5 }), attributes, async (all, resource) => {
        const memory = new InMemorySpanExporter();
        const provider = new TracerProvider({
          resource: resourceFromAttributes(resource, { schemaUrl: 'https://schema.example/1' }),
          spanProcessors: [new SimpleSpanProcessor({ exporter: memory })],
        });
        const tracer = provider.getTracer('scope', '1.2.3', { schemaUrl: 'https://schema.example/1' });
        const root = tracer.startSpan('root', { startTime: AT });
        for (const { name, kind, durationMs, isError, isLinked, isChild, ...rest } of all) {
          const within = isChild ? trace.setSpan(context.active(), root) : context.active();
          const startTime = AT + durationMs;
          const links = isLinked ? [LINK] : [];
          const span = tracer.startSpan(name, { kind, links, startTime, attributes: rest.attributes }, within);
          if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end(startTime + durationMs);
        }
        root.end(AT + 1);
        await provider.forceFlush();
        const spans = memory.getFinishedSpans();
        const before = ours.spans.length;
        for (const exporter of [own, reference]) {
          await new Promise<void>((resolve) => exporter.export([...spans], () => resolve()));
        }
        expect(ours.spans.slice(before)).toHaveLength(all.length + 1);
        expect(ours.spans.slice(before)).toEqual(theirs.spans.slice(before));
      }),
      { numRuns: 30 },
    );
    await reference.shutdown();
  },
);
