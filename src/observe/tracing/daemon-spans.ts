/**
 * Spans of the daemon's own work: polls, policy runs, and their requests and actions. They have a separate resource and
 * random ids. OpenTelemetry's SDK makes and sends them with best effort. A crash may lose some of them.
 *
 * The batch processor drops spans silently when its queue is full. This module therefore counts every span until the
 * exporter has reported its fate, and starts no span while the queue is full.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import type { Span, SpanOptions, Tracer } from '@opentelemetry/api';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { createDaemonExporter } from './daemon-exporter.ts';
import { spansOfEvents } from './daemon-span-events.ts';
import type { OtlpEndpoint } from './otlp-endpoint.ts';
import type { OtlpSender } from './otlp-sender.ts';
import * as semconv from './semconv.ts';
import type { Attributes } from './span.ts';

export interface DaemonSpansOptions {
  readonly endpoint: Pick<OtlpEndpoint, 'protocol' | 'timeoutMs'>;
  readonly sender: OtlpSender;
  readonly events: EventBus;
  readonly clock: Clock;
  readonly version: string;
  readonly resource: Attributes;
}

/** Unit of the daemon's own work. */
export interface Undertaking {
  /** Name of low cardinality, such as `poll logs`. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface DaemonSpans extends AsyncDisposable {
  /** Runs the work inside a span. An error of the work is passed on. */
  during<T>(undertaking: Undertaking, work: () => Promise<T>): Promise<T>;
  /** Returns the caller's current span, for exemplars. */
  current(): SpanRef | undefined;
  /** Resolves when the fate of every ended span is known. */
  flush(): Promise<void>;
}

const SCOPE = 'msgsvc-opsd';

const QUEUE_SPANS = 2_048;
const BATCH_SPANS = 512;
const BATCH_DELAY_MS = 1_000;
/** Delay after the exporter's timeout when the SDK abandons a batch. */
const GRACE_MS = 5_000;
/** Maximum time that the end of the process waits for spans. */
const CLOSE_LIMIT_MS = 2_000;

export async function createDaemonSpans(options: DaemonSpansOptions): Promise<DaemonSpans> {
  const { endpoint, sender, events, clock, version } = options;
  const api = await import('@opentelemetry/api');
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  let begun = 0;
  let settled = 0;
  const exporter = createDaemonExporter({
    sender,
    endpoint,
    events,
    clock,
    onSettled: (spans) => (settled += spans),
  });
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: QUEUE_SPANS,
    maxExportBatchSize: BATCH_SPANS,
    scheduledDelayMillis: BATCH_DELAY_MS,
    exportTimeoutMillis: endpoint.timeoutMs + GRACE_MS,
  });
  const sdk = new NodeSDK({
    resource: resourceFromAttributes(Object.fromEntries(options.resource), { schemaUrl: semconv.SCHEMA_URL }),
    spanProcessors: [processor],
    autoDetectResources: false,
    textMapPropagator: null,
    // Without these, the SDK would start exporters to localhost.
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  const tracer: Tracer = api.trace.getTracerProvider().getTracer(SCOPE, version, { schemaUrl: semconv.SCHEMA_URL });
  let isClosed = false;
  /** Start of each current span, in epoch milliseconds. */
  const beginnings = new WeakMap<Span, number>();

  /** Starts a span if the queue has space. A span that is not sampled needs none. */
  function begin(name: string, spanOptions: SpanOptions): Span | undefined {
    if (isClosed) return undefined;
    if (begun - settled >= QUEUE_SPANS) {
      events.emit({ type: 'spans.dropped', count: 1, reason: 'queue' });
      return undefined;
    }
    const span = tracer.startSpan(name, spanOptions);
    if (span.isRecording()) begun += 1;
    return span;
  }

  const subscription = events.subscribe(spansOfEvents({ api, clock, begin, beganAt: (span) => beginnings.get(span) }));

  return {
    async during({ name, attributes }, work) {
      const startMs = clock.now();
      const span = begin(name, { root: true, startTime: new Date(startMs) });
      if (span === undefined) return work();
      beginnings.set(span, startMs);
      span.setAttributes(attributes);
      try {
        return await api.context.with(api.trace.setSpan(api.context.active(), span), work);
      } catch (error) {
        span.setAttribute(semconv.ATTR_ERROR_TYPE, error instanceof Error ? error.name : '_OTHER');
        span.setStatus({ code: api.SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end(new Date(Math.max(clock.now(), startMs)));
      }
    },
    current() {
      const context = api.trace.getActiveSpan()?.spanContext();
      if (context === undefined || (context.traceFlags & api.TraceFlags.SAMPLED) === 0) return undefined;
      return { traceId: context.traceId, spanId: context.spanId };
    },
    flush: () => processor.forceFlush().catch(() => undefined),
    async [Symbol.asyncDispose]() {
      if (isClosed) return;
      isClosed = true;
      subscription[Symbol.dispose]();
      const ended = Promise.allSettled([processor.shutdown(), sdk.shutdown()]);
      const limit = Promise.withResolvers<void>();
      {
        using _timer = clock.after(CLOSE_LIMIT_MS, limit.resolve);
        await Promise.race([ended, limit.promise]);
      }
      exporter.abandon();
      await ended;
      api.trace.disable();
      api.context.disable();
    },
  };
}
