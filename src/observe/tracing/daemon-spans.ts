/**
 * Spans of what the daemon itself does: polls, policy runs, their requests and actions. They are a second resource, made
 * and sent by OpenTelemetry's SDK, with random ids and best effort: what a crash takes of them, nobody misses.
 *
 * The batch processor drops without a word when its queue is full. Here every span is accounted for until the exporter
 * has said what became of it, and none is begun that would find no place.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import type { Context, Span, SpanOptions, Tracer } from '@opentelemetry/api';
import { redact } from '#foundation/domain/redact.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus, OpsEvent } from '#foundation/events/events.ts';
import { createDaemonExporter } from './daemon-exporter.ts';
import type { OtlpEndpoint } from './otlp-endpoint.ts';
import type { OtlpSender } from './otlp-sender.ts';
import * as semconv from './semconv.ts';
import { serverOf } from './server-of.ts';
import type { Attributes } from './span.ts';
import { spanIdOf, workflowTraceIdOf } from './trace-ids.ts';

export interface DaemonSpansOptions {
  readonly endpoint: Pick<OtlpEndpoint, 'protocol' | 'timeoutMs'>;
  readonly sender: OtlpSender;
  readonly events: EventBus;
  readonly clock: Clock;
  readonly version: string;
  readonly resource: Attributes;
}

/** What the daemon does of itself. */
export interface Undertaking {
  /** Low in number: `poll logs`. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface DaemonSpans extends AsyncDisposable {
  /** Runs the work inside a span, an error of which is the work's. */
  during<T>(undertaking: Undertaking, work: () => Promise<T>): Promise<T>;
  /** The span that the caller runs inside of: where an exemplar leads. */
  current(): SpanRef | undefined;
  /** Resolves when the fate of every ended span is known. */
  flush(): Promise<void>;
}

const SCOPE = 'msgsvc-opsd';

const QUEUE_SPANS = 2_048;
const BATCH_SPANS = 512;
const BATCH_DELAY_MS = 1_000;
/** The SDK gives up a batch this much later than the exporter does. */
const GRACE_MS = 5_000;
/** How long the end of the process waits for spans. */
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
    // Left out, these would start exporters to localhost.
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  const tracer: Tracer = api.trace.getTracerProvider().getTracer(SCOPE, version, { schemaUrl: semconv.SCHEMA_URL });
  let isClosed = false;
  /** When each span under way began, epoch milliseconds. */
  const beginnings = new WeakMap<Span, number>();

  /** Returns the times of a span that ends now. It does not begin before its parent, though the clock was set back. */
  function timesOf(durationMs: number): { readonly startMs: number; readonly endMs: number } {
    const parent = api.trace.getActiveSpan();
    const earliest = (parent && beginnings.get(parent)) ?? -Infinity;
    const now = clock.now();
    const startMs = Math.max(now - durationMs, earliest);
    return { startMs, endMs: Math.max(now, startMs) };
  }

  /** Begins a span where there is place for it; what is not sampled takes none. */
  function begin(name: string, spanOptions: SpanOptions, within: Context = api.context.active()): Span | undefined {
    if (isClosed) return undefined;
    if (begun - settled >= QUEUE_SPANS) {
      events.emit({ type: 'spans.dropped', count: 1, reason: 'queue' });
      return undefined;
    }
    const span = tracer.startSpan(name, spanOptions, within);
    if (span.isRecording()) begun += 1;
    return span;
  }

  function onRequest(event: Extract<OpsEvent, { type: 'api.request' }>): void {
    // A request of nobody's is one that a person asked for: it has no undertaking to belong to.
    if (api.trace.getActiveSpan() === undefined) return;
    const { account, operation, method, url, code, failure, durationMs } = event;
    const { startMs, endMs } = timesOf(durationMs);
    const span = begin(operation, { kind: api.SpanKind.CLIENT, startTime: new Date(startMs) });
    const { host, port } = serverOf(url);
    span?.setAttributes({
      [semconv.ATTR_MSGSVC_ACCOUNT]: account,
      [semconv.ATTR_HTTP_REQUEST_METHOD]: method,
      [semconv.ATTR_URL_FULL]: redact(url),
      ...(host !== undefined && { [semconv.ATTR_SERVER_ADDRESS]: host }),
      ...(port !== undefined && { [semconv.ATTR_SERVER_PORT]: port }),
    });
    if (typeof code === 'number') span?.setAttribute(semconv.ATTR_HTTP_RESPONSE_STATUS_CODE, code);
    if (failure !== undefined) {
      span?.setAttribute(semconv.ATTR_ERROR_TYPE, typeof code === 'number' && code >= 400 ? String(code) : failure);
      span?.setStatus({ code: api.SpanStatusCode.ERROR });
    }
    span?.end(new Date(endMs));
  }

  function onAction(event: Extract<OpsEvent, { type: 'action.outcome' }>): void {
    // Without a duration it tells what became of an earlier act.
    if (event.durationMs === 0) return;
    const { account, action, policy, target, workflowRunId, outcome, durationMs } = event;
    const { startMs, endMs } = timesOf(durationMs);
    const links =
      workflowRunId === undefined
        ? []
        : [
            {
              context: {
                traceId: workflowTraceIdOf(account, workflowRunId),
                spanId: spanIdOf(account, workflowRunId, 'run'),
                traceFlags: api.TraceFlags.SAMPLED,
                isRemote: true,
              },
            },
          ];
    // The run tells of all that it acted on, as far as a span may have links.
    if (links.length > 0) api.trace.getActiveSpan()?.addLinks(links);
    const span = begin(`action ${action}`, { links, startTime: new Date(startMs) });
    span?.setAttributes({
      [semconv.ATTR_MSGSVC_ACCOUNT]: account,
      'opsd.policy': policy,
      'opsd.target': redact(target),
      'opsd.outcome': outcome,
    });
    if (outcome !== 'acked') {
      span?.setAttribute(semconv.ATTR_ERROR_TYPE, outcome);
      span?.setStatus({ code: api.SpanStatusCode.ERROR });
    }
    span?.end(new Date(endMs));
  }

  /** What a run came to, on the span that it ran inside of. */
  function onRun(event: Extract<OpsEvent, { type: 'policy.run' }>): void {
    const span = api.trace.getActiveSpan();
    const { account, outcome, planId, matched, acted, backlog, stopped, error } = event;
    span?.setAttributes({
      [semconv.ATTR_MSGSVC_ACCOUNT]: account,
      'opsd.outcome': outcome,
      'opsd.matched': matched,
      'opsd.acted': acted,
      'opsd.backlog': backlog,
      ...(planId !== undefined && { 'opsd.plan': planId }),
      ...(stopped !== undefined && { 'opsd.guard': stopped.guard }),
    });
    if (error === undefined) return;
    span?.setAttribute(semconv.ATTR_ERROR_TYPE, outcome);
    span?.setStatus({ code: api.SpanStatusCode.ERROR });
  }

  const subscription = events.subscribe((event) => {
    if (event.type === 'policy.run') onRun(event);
    if (event.type === 'api.request') onRequest(event);
    if (event.type === 'action.outcome') onAction(event);
  });

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
