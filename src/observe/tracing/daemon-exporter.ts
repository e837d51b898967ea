/**
 * Exporter of OpenTelemetry's SDK: encodes the daemon's own spans and passes them to the sender of all spans. It
 * reports the fate of every batch exactly once, including at the end of the process.
 */
import { SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { withTimeout } from '#foundation/platform/sleep.ts';
import type { OtlpEndpoint } from './otlp-endpoint.ts';
import type { OtlpBatch, OtlpSender } from './otlp-sender.ts';
import { FrameWriter } from './span-frames.ts';
import type { Attribute, Span, SpanHead } from './span.ts';

/** Numbers of ExportResultCode. */
const SUCCESS = 0;
const FAILED = 1;

/** Span kinds by the numbers of SpanKind in OpenTelemetry's API. */
const KINDS = ['internal', 'server', 'client', 'producer', 'consumer'] as const;

export interface DaemonExporterOptions {
  readonly sender: OtlpSender;
  readonly endpoint: Pick<OtlpEndpoint, 'protocol' | 'timeoutMs'>;
  readonly clock: Clock;
  readonly events: EventBus;
  /** Called with the size of each batch whose fate is known. */
  readonly onSettled: (spans: number) => void;
}

export interface DaemonExporter extends SpanExporter {
  /** Abandons all batches that are being sent. */
  abandon(): void;
}

export function createDaemonExporter(options: DaemonExporterOptions): DaemonExporter {
  const { sender, endpoint, clock, events, onSettled } = options;
  const stop = new AbortController();

  async function send(spans: readonly ReadableSpan[]): Promise<typeof SUCCESS | typeof FAILED> {
    try {
      const batch = encoded(spans, endpoint.protocol);
      await withTimeout(clock, endpoint.timeoutMs, stop.signal, (signal) => sender.send(batch, { signal }));
      return SUCCESS;
    } catch {
      events.emit({ type: 'spans.dropped', count: spans.length, reason: 'failed' });
      return FAILED;
    } finally {
      onSettled(spans.length);
    }
  }

  return {
    export: (spans, report) => void send(spans).then((code) => report({ code })),
    // A receiver may respond slowly. `abandon` ends the wait.
    shutdown: async () => undefined,
    abandon: () => stop.abort(new Error('the process stops')),
  };
}

function encoded(spans: readonly ReadableSpan[], protocol: OtlpEndpoint['protocol']): OtlpBatch {
  const writer = new FrameWriter(protocol);
  for (const span of spans) writer.add(spanOf(span));
  // One SDK makes all spans, so they share resource and scope.
  return { protocol, head: JSON.stringify(headOf(spans[0]!)), body: writer.take().body };
}

function headOf({ resource, instrumentationScope: { name, version = '' } }: ReadableSpan): SpanHead {
  const { attributes, schemaUrl = '' } = resource;
  return { resource: Object.entries(attributes) as Attribute[], scope: { name, version }, schemaUrl };
}

/** Converts a span. The daemon's spans have text, number or boolean attributes, and no events. */
function spanOf(span: ReadableSpan): Span {
  const { traceId, spanId } = span.spanContext();
  const { parentSpanContext: parent } = span;
  return {
    traceId,
    spanId,
    ...(parent !== undefined && { parentSpanId: parent.spanId, isParentRemote: parent.isRemote === true }),
    name: span.name,
    kind: KINDS[span.kind],
    startMs: millis(span.startTime),
    endMs: millis(span.endTime),
    isError: span.status.code === SpanStatusCode.ERROR,
    common: [],
    attributes: Object.entries(span.attributes) as Attribute[],
    links: span.links.map(({ context }) => ({
      traceId: context.traceId,
      spanId: context.spanId,
      sampled: (context.traceFlags & TraceFlags.SAMPLED) !== 0,
    })),
  };
}

function millis([seconds, nanos]: ReadableSpan['startTime']): number {
  return seconds * 1_000 + nanos / 1e6;
}
