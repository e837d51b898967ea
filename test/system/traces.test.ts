/** Spans and `kill -9`: between the commit and the acknowledgment nothing is lost, and repeats have equal bytes. */
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { spanIdOf, traceIdOf } from '#observe/tracing/trace-ids.ts';
import { addressOf, daemonConfig, daemonWorld, QUICK } from '../support/daemon-world.ts';
import { opsd } from '../support/program.ts';
import { otlpSink } from '../support/otlp-sink.ts';
import { logsUntil, publish } from '../support/service.ts';
import { until } from '../support/until.ts';

const KILLS = 4;

test.each(['http/protobuf', 'http/json'])(
  'over %s, each span arrives at least once, whenever the daemon is killed',
  async (protocol) => {
    const world = await daemonWorld();
    world.destination.answerWith((_request, response) => void response.writeHead(200).end());
    const sink = await otlpSink();
    const isDelivery = (body: Buffer): boolean => body.includes('messaging.message.id');
    const config = daemonConfig(world.service.url, {
      account: {
        client: QUICK.client,
        collectors: { logs: QUICK.collectors.logs, workflowDlq: { enabled: false }, urlGroups: { enabled: false } },
      },
      telemetry: { traces: { sampleRatio: 1, otlp: { url: sink.url, protocol } } },
    });
    // Each daemon is killed while its first batch of deliveries is sent: the batch arrived, and was never acknowledged.
    const unanswered: Buffer[] = [];
    for (let round = 0; round < KILLS; round += 1) {
      const taken = Promise.withResolvers<Buffer>();
      sink.answerWith((request, response) => {
        if (!isDelivery(request.body)) return void sink.accept(request, response);
        void sink.accept(request, { writeHead: () => ({ end: () => undefined }) } as unknown as ServerResponse);
        taken.resolve(request.body);
      });
      const daemon = world.run(config);
      await addressOf(daemon);
      // The first daemon counts from its start.
      if (round === 0) await until({ what: 'it counts' }, () => sink.requests.length > 0);
      for (let n = 0; n < 3; n += 1) {
        await publish(world.service, `${world.destination.url}/in`, { 'Svc-Forward-Traceparent': PARENT });
      }
      unanswered.push(await taken.promise);
      await daemon.crash();
    }
    sink.answerWith(sink.accept);
    const last = world.run(config);
    const messages = (await logsUntil(world.service, Date.now())).filter(({ state }) => state === 'CREATED');
    expect(messages).toHaveLength(3 * KILLS);
    const ids = messages.map(({ messageId }) => messageId);
    const rootsOf = (): Set<string> => new Set(sink.spans.map(({ spanId }) => spanId));
    await until({ what: 'every delivery has its root' }, () =>
      ids.every((id) => rootsOf().has(spanIdOf('production', id, 'deliver'))),
    );
    await last.stop();

    // The newest batch without a response came again, byte for byte; older ones came again before it.
    const bodies = sink.requests.map(({ body }) => body);
    for (const body of unanswered) expect(bodies.filter((other) => other.equals(body)).length).toBeGreaterThan(1);
    const versions = new Map<string, Set<string>>();
    for (const span of sink.spans.filter(({ resource }) => resource['service.name'] === 'msgsvc')) {
      const known = versions.get(span.spanId) ?? new Set();
      versions.set(span.spanId, known.add(JSON.stringify(span)));
    }
    for (const known of versions.values()) expect(known.size).toBe(1);
    for (const id of ids) {
      const own = sink.spans.filter(({ traceId }) => traceId === traceIdOf('production', id));
      expect(new Set(own.filter(({ kind }) => kind === 'client').map(({ spanId }) => spanId)).size).toBe(1);
    }
  },
);

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test('a log line names its span', async () => {
  const sink = await otlpSink();
  const demo = opsd(['demo', '--listen', '127.0.0.1:0'], { env: { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url } });
  const line = await demo.logged('policy run finished');
  expect(await demo.logged('daemon running')).not.toHaveProperty('trace_id');
  const span = await until({ what: 'the span of the run has come' }, () =>
    sink.spans.find(({ spanId }) => spanId === line['span_id']),
  );
  expect(span.traceId).toBe(line['trace_id']);
  expect(span.name).toBe(`policy ${String(line['policy'])}`);
});
