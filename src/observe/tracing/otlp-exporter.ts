/**
 * OpenTelemetry's OTLP/HTTP exporter over connections that can be taken away: it has no way to stop, and a receiver
 * that hangs would keep the process from ending.
 */
import type { Agent as HttpAgent } from 'node:http';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { OtlpEndpoint } from './otlp-endpoint.ts';

export interface OtlpExporter {
  readonly exporter: SpanExporter;
  /** Ends all connections and refuses new ones. */
  disconnect(): void;
}

export async function createOtlpExporter(endpoint: OtlpEndpoint): Promise<OtlpExporter> {
  const { OTLPTraceExporter } =
    endpoint.protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  const { Agent } = endpoint.url.startsWith('https:') ? await import('node:https') : await import('node:http');
  const agent: HttpAgent = new Agent({ keepAlive: true, ...endpoint.tls });
  type Options = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>;
  const exporter = new OTLPTraceExporter({
    url: endpoint.url,
    headers: { ...endpoint.headers },
    timeoutMillis: endpoint.timeoutMs,
    compression: endpoint.compression as NonNullable<Options['compression']>,
    httpAgentOptions: () => agent,
  });
  return { exporter, disconnect: () => disconnect(agent) };
}

/** The error has no code, so the exporter does not take it for one that is worth another try. */
function disconnect(agent: HttpAgent): void {
  agent.createConnection = () => {
    throw new Error('span export has ended');
  };
  for (const sockets of [...Object.values(agent.sockets), ...Object.values(agent.freeSockets)]) {
    for (const socket of sockets ?? []) socket.destroy(new Error('span export has ended'));
  }
}
