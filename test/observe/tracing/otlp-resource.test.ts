import { describe, expect, test } from 'vitest';
import { otlpSink } from '../../support/otlp-sink.ts';
import { message, spanWorld } from './span-world.ts';

const SCHEMA = 'https://opentelemetry.io/schemas/1.37.0';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function sent(env: Record<string, string>, protocol: 'http/protobuf' | 'http/json' = 'http/protobuf') {
  const sink = await otlpSink();
  const { spans, send, flush, events } = await spanWorld(sink, { env, traces: { otlp: { protocol } } });
  await send([message()]);
  await spans.own.during({ name: 'poll logs', attributes: {} }, () => Promise.resolve());
  await flush();
  await spans.own.flush();
  return {
    own: sink.spans.find(({ name }) => name === 'poll logs')!,
    delivery: sink.spans.find(({ name }) => name.startsWith('deliver '))!,
    events,
  };
}

describe.each(['http/protobuf', 'http/json'] as const)('over %s', (protocol) => {
  test('both resources name an instance and a schema', async () => {
    const { own, delivery } = await sent({}, protocol);
    expect(own.resource).toEqual({
      'service.name': 'msgsvc-opsd',
      'service.namespace': 'msgsvc',
      'service.version': '1.2.3',
      'service.instance.id': expect.stringMatching(UUID) as string,
    });
    expect(delivery.resource).toEqual({
      'service.name': 'msgsvc',
      'service.namespace': 'msgsvc',
      'service.instance.id': 'prod',
      'messaging.msgsvc.account': 'prod',
    });
    for (const { schemas } of [own, delivery]) expect(schemas).toEqual([SCHEMA, SCHEMA]);
  });

  test('the environment names the daemon, and adds to both resources', async () => {
    const env = {
      OTEL_SERVICE_NAME: 'opsd-eu',
      OTEL_RESOURCE_ATTRIBUTES:
        'service.name=loses, service.instance.id=pod-1,deployment.environment.name=prod%2Feu%2C%3D%C3%A9',
    };
    const { own, delivery } = await sent(env, protocol);
    expect(own.resource).toMatchObject({
      'service.name': 'opsd-eu',
      'service.instance.id': 'pod-1',
      'deployment.environment.name': 'prod/eu,=é',
    });
    expect(delivery.resource).toMatchObject({
      'service.name': 'msgsvc',
      'service.instance.id': 'prod',
      'deployment.environment.name': 'prod/eu,=é',
    });
  });
});

test('service.name of the resource attributes applies where no service name is given', async () => {
  const { own } = await sent({ OTEL_SERVICE_NAME: ' ', OTEL_RESOURCE_ATTRIBUTES: 'service.name=opsd-us' });
  expect(own.resource).toMatchObject({ 'service.name': 'opsd-us' });
});

test.each(['team', 'team=a,=b', 'team=a,env=%zz', 'team=a=b', 'team=a,'])(
  'resource attributes with an error are ignored as a whole and reported: %s',
  async (text) => {
    const { own, events } = await sent({ OTEL_SERVICE_NAME: 'opsd-eu', OTEL_RESOURCE_ATTRIBUTES: text });
    expect(own.resource).not.toHaveProperty('team');
    expect(own.resource).toMatchObject({ 'service.name': 'opsd-eu' });
    expect(events).toContainEqual({ type: 'telemetry.variable_ignored', variable: 'OTEL_RESOURCE_ATTRIBUTES' });
  },
);

test('no delivery span begins before its root, whatever the entries say', async () => {
  const sink = await otlpSink();
  const { send, flush, clock } = await spanWorld(sink, { traces: { maxOpen: '1m', maxAge: '1d' } });
  const at = clock.now() - 600_000;
  await send([
    // Entries of two machines disagree: an attempt began before the creation.
    message({
      messageId: 'early',
      createdAt: at + 50,
      attempts: [{ startedAt: at, endedAt: at + 100 }],
      end: { at: at + 100, outcome: 'delivered' },
    }),
    // The root is shortened to a minute. The first attempt has ended by then, the second is in progress.
    message({
      messageId: 'long',
      createdAt: at,
      attempts: [
        { startedAt: at, endedAt: at + 1_000, failure: 'timeout' },
        { startedAt: at + 30_000, endedAt: at + 300_000 },
      ],
      end: { at: at + 300_000, outcome: 'delivered' },
    }),
  ]);
  await flush();
  const roots = new Map(
    sink.spans.filter(({ parentSpanId }) => parentSpanId === '').map((span) => [span.spanId, span]),
  );
  const children = sink.spans.filter(({ parentSpanId }) => roots.has(parentSpanId));
  expect(children.length).toBeGreaterThanOrEqual(2);
  for (const { parentSpanId, startMs, endMs } of children) {
    expect(startMs).toBeGreaterThanOrEqual(roots.get(parentSpanId)!.startMs);
    expect(endMs).toBeGreaterThanOrEqual(startMs);
  }
});
