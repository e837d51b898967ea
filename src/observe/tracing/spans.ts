/**
 * Traces over OTLP/HTTP: of deliveries, from the log aggregation through the store, and of the daemon itself. Disabled tracing
 * costs nothing: OpenTelemetry is loaded only if an endpoint is configured.
 */
import type { SpanOutbox, SpanSource } from '../aggregation/span-outbox.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { ExportProblem } from './otlp-sender.ts';
import type { DaemonSpans } from './daemon-spans.ts';
import { otlpEndpoint, type Env } from './otlp-endpoint.ts';
import { otlpResources } from './otlp-resource.ts';
import * as semconv from './semconv.ts';
import type { TraceSettings } from './settings.ts';
import type { SpanSourceOptions } from './span-source.ts';
import type { SpanHead } from './span.ts';

export interface SpanExportOptions {
  readonly settings: TraceSettings;
  readonly env: Env;
  readonly events: EventBus;
  readonly clock: Clock;
  readonly version: string;
  readonly outbox: SpanOutbox;
  readonly failedRuns?: SpanSourceOptions['failedRuns'];
}

export interface SpanExport extends AsyncDisposable {
  /** Source of delivery spans, called by commits of the log. */
  readonly source: SpanSource;
  /** Spans of the daemon's own work. */
  readonly own: DaemonSpans;
  /** Returns why no spans arrive; undefined while they do. */
  problem(): ExportProblem | undefined;
  /** Resolves when no spans are waiting. Rejects with the signal's reason. */
  flush(signal: AbortSignal): Promise<void>;
}

const SCOPE = 'msgsvc-opsd';

/**
 * @returns undefined if no endpoint is configured
 * @throws {Error} if the OTEL_* environment requests something unsupported
 */
export async function createSpanExport(options: SpanExportOptions): Promise<SpanExport | undefined> {
  const { settings, clock, events, outbox, version } = options;
  const onIgnored = (variable: string): void => events.emit({ type: 'telemetry.variable_ignored', variable });
  const endpoint = otlpEndpoint(settings, options.env, onIgnored);
  if (endpoint === undefined) return undefined;
  const { createDaemonSpans } = await import('./daemon-spans.ts');
  const { createOtlpPost } = await import('./otlp-post.ts');
  const { createOtlpSender } = await import('./otlp-sender.ts');
  const { createSpanSender } = await import('./span-sender.ts');
  const { createSpanSource } = await import('./span-source.ts');

  const resources = otlpResources(options.env, version, onIgnored);
  const sender = createOtlpSender({ post: createOtlpPost(endpoint, clock), clock, events });
  const own = await createDaemonSpans({ endpoint, sender, events, clock, version, resource: resources.daemon });
  const source = createSpanSource({
    settings,
    protocol: endpoint.protocol,
    outbox,
    clock,
    events,
    headOf: (account): SpanHead => ({
      resource: resources.account(account),
      scope: { name: SCOPE, version },
      schemaUrl: semconv.SCHEMA_URL,
    }),
    failedRuns: options.failedRuns ?? (() => Promise.resolve(new Map())),
  });
  const deliveries = createSpanSender({
    outbox,
    sender,
    clock,
    events,
    maxAgeMs: settings.maxAge,
    onError: (message) => events.emit({ type: 'store.failed', operation: 'read of spans', message }),
  });
  return {
    source,
    own,
    problem: () => sender.problem(),
    flush: (signal) => deliveries.flush(signal),
    async [Symbol.asyncDispose]() {
      await Promise.all([deliveries[Symbol.asyncDispose](), own[Symbol.asyncDispose]()]);
      sender[Symbol.dispose]();
    },
  };
}
