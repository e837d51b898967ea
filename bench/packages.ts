/**
 * Own code of the hot paths against the packages that do the same: OTLP bytes against OpenTelemetry's serializer, and
 * exchanges with one origin against undici. The contestants take turns in one process. The result is CPU time of all
 * threads, as medians of rounds, because a busy machine changes it least. `bench/scrape.ts` compares the exposition with
 * prom-client.
 */
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Pool } from 'undici';
import { freeBytes } from '#foundation/platform/gathered-bytes.ts';
import { FrameWriter, spanRequest } from '#observe/tracing/span-frames.ts';
import type { Attribute, Span } from '#observe/tracing/span.ts';
import { sendOnce, openConnections } from '#service/transport.ts';
import { AnswerMemory } from '#service/answer-memory.ts';
import { freePort } from '../test/support/free-port.ts';
import { figures, pause } from './measure.ts';

const ROUNDS = Number(process.env['ROUNDS'] ?? 15);
const SPANS = 512;
const EXCHANGES = 1_000;
const CONNECTIONS = 4;
const AT = Date.UTC(2026, 10, 20);

type Work = () => unknown;

/** Prints the CPU microseconds of one unit of each contestant, and the ratio to the first one. */
async function compare(what: string, units: number, works: Readonly<Record<string, Work>>): Promise<void> {
  const rounds = new Map(Object.keys(works).map((name) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, work] of Object.entries(works)) {
      const before = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(before);
      // Round 0 warms up.
      if (round > 0) rounds.get(name)!.push((user + system) / units);
    }
  }
  const [first] = [...rounds.values()].map((cpu) => figures(cpu).median);
  console.log(`\n${what}, CPU µs each, medians of ${ROUNDS} rounds`);
  for (const [name, cpu] of rounds) {
    const { median } = figures(cpu);
    console.log(`${name.padEnd(30)}${median.toFixed(1).padStart(8)}${(median / first!).toFixed(2).padStart(8)} x`);
  }
}

const ATTRIBUTES: Readonly<Record<string, string | number>> = {
  'messaging.system': 'msgsvc',
  'messaging.message.id': 'msg_2wKq7PzL9xT4vB8nR3sD6',
  'messaging.destination.name': 'host.customers.example.com',
  'messaging.msgsvc.account': 'production',
  'http.request.method': 'POST',
  'url.full': 'https://host.customers.example.com/hooks/orders?id=1',
  'server.address': 'host.customers.example.com',
  'server.port': 443,
  'http.response.status_code': 200,
};

async function spans(): Promise<void> {
  const memory = new InMemorySpanExporter();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'msgsvc' }),
    spanProcessors: [new SimpleSpanProcessor({ exporter: memory })],
  });
  const tracer = provider.getTracer('msgsvc-opsd', '1');
  for (let n = 0; n < SPANS; n++) {
    const span = tracer.startSpan('POST', { kind: SpanKind.CLIENT, startTime: AT + n, attributes: ATTRIBUTES });
    if (n % 10 === 0) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(AT + n + 40);
  }
  await provider.forceFlush();
  const theirs = [...memory.getFinishedSpans()];
  const [common, attributes] = [Object.entries(ATTRIBUTES).slice(0, 4), Object.entries(ATTRIBUTES).slice(4)];
  const ours = theirs.map((span, n): Span => ({
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    name: span.name,
    kind: 'client',
    startMs: AT + n,
    endMs: AT + n + 40,
    isError: n % 10 === 0,
    common: common as Attribute[],
    attributes: attributes as Attribute[],
    links: [],
  }));
  const head = JSON.stringify({
    resource: [['service.name', 'msgsvc']],
    scope: { name: 'msgsvc-opsd', version: '1' },
    schemaUrl: '',
  });
  const writer = new FrameWriter('http/protobuf');
  const times = 20;
  const repeat = (work: Work) => () => {
    for (let time = 0; time < times; time++) work();
  };
  await compare(`a span of ${SPANS} of a request`, SPANS * times, {
    'own: frames, and a request': repeat(() => {
      for (const span of ours) writer.add(span);
      spanRequest({ protocol: 'http/protobuf', head, body: writer.take().body }, 0);
    }),
    'OpenTelemetry’s serializer': repeat(() => ProtobufTraceSerializer.serializeRequest(theirs)),
  });
}

async function exchanges(): Promise<void> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const path = `/v2/logs?fromDate=${AT}&toDate=${AT + 999}&count=100`;
  const args = [join(import.meta.dirname, 'log-pages.ts'), String(port), '1', '1000', String(AT)];
  const server = spawn(process.execPath, args, { stdio: 'ignore' });
  try {
    while (
      !(await fetch(origin + path).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await pause(20);
    const headers = { authorization: 'Bearer token' };
    using connections = await openConnections(origin, CONNECTIONS);
    const pool = new Pool(origin, { connections: CONNECTIONS });
    const memory = new AnswerMemory();
    const { signal } = new AbortController();
    const concurrently = (one: () => Promise<unknown>) => () =>
      Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          for (let n = 0; n < EXCHANGES / CONNECTIONS; n++) await one();
        }),
      );
    await compare('an exchange with a page of 100 entries', EXCHANGES, {
      'own: node:http': concurrently(async () => {
        using reading = memory.begin();
        const request = { method: 'GET', path, headers } as const;
        const { body } = await sendOnce(connections, request, { maxBytes: 1_000_000, reading, signal });
        freeBytes(body);
      }),
      undici: concurrently(async () => {
        const { body } = await pool.request({ method: 'GET', path, headers });
        await body.arrayBuffer();
      }),
    });
    await pool.close();
  } finally {
    server.kill('SIGKILL');
  }
}

await spans();
await exchanges();
