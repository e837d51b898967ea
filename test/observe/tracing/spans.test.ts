import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { spanIdOf, traceIdOf, workflowTraceIdOf } from '#observe/tracing/trace-ids.ts';
import type { MessageProgress } from '#observe/aggregation/message-trace.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import { otlpSink } from '../../support/otlp-sink.ts';
import { freePort } from '../../support/free-port.ts';
import { httpProxy, proxyEnvironment } from '../../support/http-proxy.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { AT, message, openMessage, PARENT, spanWorld, type Committing, type SpanWorldOptions } from './span-world.ts';

const numbered = (index: number, more: Partial<MessageProgress> = {}): MessageProgress =>
  message({ messageId: `msg_${index}`, ...more });

const exported = (count: number): object => expect.objectContaining({ type: 'spans.exported', count }) as object;
const dropped = (count: number, reason: string): object => ({ type: 'spans.dropped', count, reason });

const namesOfWaits = (spans: readonly { readonly name: string }[]): string[] =>
  spans.map(({ name }) => name).filter((name) => name.startsWith('wait'));

async function sinkWorld(options: SpanWorldOptions = {}) {
  const sink = await otlpSink();
  const world = await spanWorld(sink, options);
  const deliver: typeof world.send = async (...progress) => {
    await world.send(...progress);
    await world.flush();
  };
  /** Sets the status of further responses, and their headers. */
  const answer = (status: number, headers: Record<string, string> = {}): void =>
    sink.answerWith((_request, response) => void response.writeHead(status, headers).end());
  /** Lets the sender wait so many seconds, one after the other, each after another request. */
  async function waits(seconds: readonly number[], check: () => void = () => undefined): Promise<void> {
    for (const [index, wait] of seconds.entries()) {
      await expect.poll(() => sink.requests.length).toBe(index + 1);
      await expect.poll(() => world.clock.nextIn).toBe(wait * 1_000);
      check();
      await world.clock.advance(wait * 1_000);
    }
  }
  return { ...world, sink, deliver, answer, waits };
}

async function sent(progress: readonly MessageProgress[], options: SpanWorldOptions = {}, committing: Committing = {}) {
  const { sink, deliver } = await sinkWorld(options);
  await deliver(progress, committing);
  return sink.spans;
}

describe.each(['http/protobuf', 'http/json'] as const)('over %s', (protocol) => {
  test('a message that was delivered at the second attempt', async () => {
    const traces = { otlp: { protocol, headers: { 'x-tenant': 'one' } } };
    const { sink, deliver, events } = await sinkWorld({ traces });
    await deliver([message()]);

    expect(events).toEqual([exported(5)]);
    expect(sink.requests).toHaveLength(1);
    expect(sink.requests[0]).toMatchObject({
      url: '/v1/traces',
      headers: {
        'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
        'x-tenant': 'one',
      },
    });
    const traceId = traceIdOf('prod', 'msg_1');
    const rootId = spanIdOf('prod', 'msg_1', 'deliver');
    const shared = {
      traceId,
      links: [],
      resource: {
        'service.name': 'msgsvc',
        'service.namespace': 'msgsvc',
        'service.instance.id': 'prod',
        'messaging.msgsvc.account': 'prod',
      },
      scope: 'msgsvc-opsd',
      schemas: ['https://opentelemetry.io/schemas/1.37.0', 'https://opentelemetry.io/schemas/1.37.0'],
    };
    const messaging = {
      'messaging.system': 'msgsvc',
      'messaging.message.id': 'msg_1',
      'messaging.destination.name': 'hooks.example:8443',
      'messaging.msgsvc.account': 'prod',
    };
    const http = {
      'http.request.method': 'PUT',
      'url.full': 'https://hooks.example:8443/in/42?id=7&api_key=REDACTED',
      'server.address': 'hooks.example',
      'server.port': 8443,
    };
    const child = (part: string, more: object): object => ({
      ...shared,
      spanId: spanIdOf('prod', 'msg_1', part),
      parentSpanId: rootId,
      ...more,
    });
    expect(sink.spans).toEqual([
      {
        ...shared,
        spanId: rootId,
        parentSpanId: '',
        name: 'deliver hooks.example:8443',
        kind: 'internal',
        startMs: AT,
        endMs: AT + 3_000,
        status: 'unset',
        attributes: {
          ...messaging,
          'messaging.operation.name': 'deliver',
          'messaging.msgsvc.outcome': 'delivered',
          'messaging.msgsvc.attempts': 2,
        },
      },
      child(`wait:${AT + 600}:0`, {
        name: 'wait (queue)',
        kind: 'internal',
        startMs: AT,
        endMs: AT + 100,
        status: 'unset',
        attributes: { ...messaging, 'messaging.msgsvc.overdue_ms': 100 },
      }),
      child(`attempt:${AT + 600}:0`, {
        name: 'PUT',
        kind: 'client',
        startMs: AT + 100,
        endMs: AT + 600,
        status: 'error',
        attributes: { ...messaging, ...http, 'http.response.status_code': 503, 'error.type': '503' },
      }),
      child(`wait:${AT + 3_000}:0`, {
        name: 'wait (retry)',
        kind: 'internal',
        startMs: AT + 600,
        endMs: AT + 2_000,
        status: 'unset',
        attributes: { ...messaging, 'messaging.msgsvc.overdue_ms': 400 },
      }),
      child(`attempt:${AT + 3_000}:0`, {
        name: 'PUT',
        kind: 'client',
        startMs: AT + 2_000,
        endMs: AT + 3_000,
        status: 'unset',
        attributes: { ...messaging, ...http, 'http.response.status_code': 200, 'http.request.resend_count': 1 },
      }),
    ]);
  });

  test('sent again with the same bytes', async () => {
    const sink = await otlpSink();
    for (const _time of [1, 2]) {
      const { send, flush } = await spanWorld(sink, { traces: { otlp: { protocol } } });
      await send([message({ traceparent: PARENT, workflowRunId: 'wfr_9' })]);
      await flush();
    }
    expect(sink.requests).toHaveLength(2);
    expect(sink.requests[0]!.body.equals(sink.requests[1]!.body)).toBe(true);
  });

  test('long texts, texts beyond ASCII and many attributes survive', async () => {
    const [root, , attempt] = await sent(
      [message({ topicName: `grüße-${'x'.repeat(300)}-\u{1F600}`, url: `https://h.example/${'p'.repeat(1_500)}` })],
      { traces: { otlp: { protocol } } },
    );
    expect(root!.name).toBe(`deliver grüße-${'x'.repeat(300)}-\u{1F600}`);
    expect(attempt!.attributes['url.full']).toBe(`https://h.example/${'p'.repeat(1_500)}`);
  });
});

describe('content of spans', () => {
  test('a permanently failed message is an error, with the type of its last attempt', async () => {
    const attempts: MessageProgress['attempts'] = [
      { startedAt: AT, endedAt: AT + 10, responseStatus: 500, failure: 'http' },
      { startedAt: AT + 20, endedAt: AT + 30, failure: 'timeout' },
    ];
    const spans = await sent([message({ end: { at: AT + 30, outcome: 'failed' }, attempts })]);
    const root = spans[0]!;
    const last = spans.at(-1)!;
    expect(root).toMatchObject({ status: 'error', attributes: { 'error.type': 'timeout' } });
    expect(last).toMatchObject({ status: 'error', attributes: { 'error.type': 'timeout' } });
    expect(last.attributes).not.toHaveProperty('http.response.status_code');
  });

  test('a canceled message is not an error, and its last wait ends with it; a group or a queue is its destination', async () => {
    const end = { at: AT + 700, outcome: 'cancelled' } as const;
    const delayed = { topicName: 'orders', queueName: 'q', dueAt: AT + 900, end, attempts: [] };
    const [root, wait] = await sent([message(delayed)]);
    expect(root).toMatchObject({ name: 'deliver orders', status: 'unset' });
    expect(wait).toMatchObject({ name: 'wait (delay)', startMs: AT, endMs: AT + 700 });
    expect(wait!.attributes).not.toHaveProperty('messaging.msgsvc.overdue_ms');
    const [queued] = await sent([message({ queueName: 'q' })]);
    expect(queued).toMatchObject({ name: 'deliver q', attributes: { 'messaging.destination.name': 'q' } });
  });

  test.each([
    ['delay', 'wait (delay)'],
    ['not_before', 'wait (not_before)'],
  ] as const)('a wait before the first attempt has the reason of the delay: %s', async (postponedBy, name) => {
    const attempts = [
      { dueAt: AT + 500, startedAt: AT + 500, endedAt: AT + 510, failure: 'timeout' as const },
      { dueAt: AT + 600, startedAt: AT + 600, endedAt: AT + 610, responseStatus: 200 },
    ];
    const end = { at: AT + 610, outcome: 'delivered' } as const;
    const postponed = await sent([message({ postponedBy, dueAt: AT + 500, attempts, end })]);
    expect(namesOfWaits(postponed)).toEqual([name, 'wait (retry)']);
    // The header stays with a message that was already due when it was published.
    const atOnce = [{ dueAt: AT, startedAt: AT + 5, endedAt: AT + 10, responseStatus: 200 }];
    expect(namesOfWaits(await sent([message({ postponedBy, dueAt: AT, attempts: atOnce })]))).toEqual(['wait (queue)']);
  });

  test('an attempt whose start is unknown has no length and says so; unordered entries cause no negative duration', async () => {
    const attempts = [{ endedAt: AT + 10 }, { startedAt: AT + 90, endedAt: AT + 20 }];
    const spans = await sent([message({ attempts })]);
    const [first, second] = spans.filter(({ kind }) => kind === 'client');
    expect(first).toMatchObject({
      startMs: AT + 10,
      endMs: AT + 10,
      attributes: { 'messaging.msgsvc.start_known': false },
    });
    expect(second).toMatchObject({ startMs: AT + 20, endMs: AT + 20 });
  });

  test('a message whose creation is unknown begins with the first known fact, and says so', async () => {
    const { createdAt: _created, dueAt: _due, ...rest } = message();
    const [root] = await sent([rest]);
    expect(root).toMatchObject({ startMs: AT + 100, attributes: { 'messaging.msgsvc.start_known': false } });
  });

  test('entries without transitions produce only the root, which says so', async () => {
    const { createdAt: _created, dueAt: _due, ...rest } = message({ attempts: [{ endedAt: AT + 3_000 }] });
    const spans = await sent([rest], {}, { entryMode: 'snapshot' });
    expect(spans).toHaveLength(1);
    expect(spans[0]).toMatchObject({
      startMs: AT + 3_000,
      endMs: AT + 3_000,
      attributes: { 'messaging.msgsvc.transitions': false, 'messaging.msgsvc.outcome': 'delivered' },
    });
    expect(spans[0]!.attributes).not.toHaveProperty('messaging.msgsvc.attempts');
  });

  test('attempts that ended in the same millisecond have separate ids', async () => {
    const attempts = [{ endedAt: AT }, { endedAt: AT }, { endedAt: AT }];
    const spans = await sent([message({ attempts })]);
    expect(new Set(spans.map((span) => span.spanId)).size).toBe(4);
  });

  test('missing or invalid values are omitted, never invented', async () => {
    const { url: _url, method: _method, ...bare } = message({ attempts: [{ endedAt: AT }] });
    const [root, attempt] = await sent([bare]);
    expect(root!.name).toBe('deliver unknown');
    expect(attempt).toMatchObject({ name: 'POST' });
    expect(Object.keys(attempt!.attributes)).not.toContain('url.full');
    const [, odd] = await sent([message({ method: 'BREW', url: 'not a url', attempts: [{ endedAt: AT }] })]);
    expect(odd).toMatchObject({
      name: 'HTTP',
      attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'BREW' },
    });
  });
});

describe('the producer', () => {
  const delivery = { traceId: traceIdOf('prod', 'msg_1'), spanId: spanIdOf('prod', 'msg_1', 'deliver') };
  const producer = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', parentSpanId: '00f067aa0ba902b7' };
  const quick = { attempts: [{ endedAt: AT }] };

  test('is linked, and finds the delivery from its own trace', async () => {
    const [root, publish, attempt] = await sent([message({ ...quick, traceparent: PARENT })]);
    expect(root).toMatchObject({ ...delivery, parentSpanId: '' });
    expect(root!.links).toEqual([{ traceId: producer.traceId, spanId: producer.parentSpanId, flags: 0x301 }]);
    expect(publish).toMatchObject({
      ...producer,
      name: 'publish hooks.example:8443',
      kind: 'producer',
      startMs: AT,
      endMs: AT,
      links: [{ ...delivery, flags: 0x301 }],
    });
    expect(attempt!.links).toEqual([]);
  });

  test('that is not sampled gets nothing into its trace', async () => {
    const spans = await sent([message({ ...quick, traceparent: PARENT.replace(/1$/, '0') })]);
    expect(spans).toHaveLength(2);
    expect(spans[0]!.links).toEqual([expect.objectContaining({ flags: 0x300 })]);
  });

  test('is the parent when configured', async () => {
    const options = { traces: { producer: 'parent' } };
    const [root, attempt] = await sent([message({ ...quick, traceparent: PARENT })], options);
    expect(root).toMatchObject({ ...producer, spanId: delivery.spanId, links: [] });
    expect(attempt).toMatchObject({ traceId: root!.traceId, parentSpanId: root!.spanId });
  });

  test.each([
    ['none is asked for', PARENT, 'none'],
    ['its header is malformed', 'ff-nonsense', 'parent'],
    ['its header is malformed', 'ff-nonsense', 'link'],
  ])('stays out when %s', async (_why, traceparent, relation) => {
    const spans = await sent([message({ ...quick, traceparent })], { traces: { producer: relation } });
    expect(spans).toHaveLength(2);
    expect(spans[0]).toMatchObject({ ...delivery, parentSpanId: '', links: [] });
  });
});

test('the steps of a workflow run have a separate trace; a resumed run links to the failed one', async () => {
  const options = { failedRuns: async () => new Map([['wfr_9', 'wfr_8']]) };
  const spans = await sent([message({ workflowRunId: 'wfr_9', attempts: [] })], options);
  expect(spans[0]).toMatchObject({ attributes: { 'messaging.message.conversation_id': 'wfr_9' } });
  expect(spans[1]).toMatchObject({
    traceId: workflowTraceIdOf('prod', 'wfr_9'),
    name: 'step hooks.example:8443',
    startMs: AT,
    endMs: AT + 3_000,
    links: [
      { traceId: spans[0]!.traceId, spanId: spans[0]!.spanId },
      { traceId: workflowTraceIdOf('prod', 'wfr_8'), spanId: spanIdOf('prod', 'wfr_8', 'run') },
    ],
  });
});

describe('when spans are sent', () => {
  const first = { dueAt: AT, startedAt: AT + 100, endedAt: AT + 600, responseStatus: 503, failure: 'http' } as const;
  const HOUR = 3_600_000;

  test('an attempt when its outcome is seen, the root at the end', async () => {
    const { sink, deliver } = await sinkWorld();
    await deliver([openMessage({ attempts: [first] }, [0])]);
    expect(sink.spans.map(({ name }) => name)).toEqual(['wait (queue)', 'PUT']);
    await deliver([message({ news: { created: false, attempts: [1], outcomes: [1], ended: true } })]);
    expect(sink.spans.slice(2).map(({ name }) => name)).toEqual(['deliver hooks.example:8443', 'wait (retry)', 'PUT']);
    expect(new Set(sink.spans.map(({ spanId }) => spanId)).size).toBe(5);
  });

  test('the late start of an attempt changes no sent span, nor does a past message', async () => {
    const late = { created: false, attempts: [0], outcomes: [], ended: false } as const;
    const past = { created: false, attempts: [0], outcomes: [0], ended: false, isPast: true } as const;
    expect(await sent([message({ news: late }), message({ news: past })])).toEqual([]);
  });

  test('the root of a message that stays open after 50 minutes, its end as a child', async () => {
    const { sink, deliver, send, clock, leftOpen } = await sinkWorld();
    const waiting = openMessage({ attempts: [first] });
    const before = { from: AT + 0.8 * HOUR, watermark: AT + 0.83 * HOUR, open: [waiting] };
    await clock.advance(0.84 * HOUR);
    await send([], before);
    await send([], { ...before, from: before.watermark, watermark: AT + 0.84 * HOUR });
    await deliver([], { ...before, from: AT + 0.84 * HOUR, watermark: AT + 0.85 * HOUR });
    expect(sink.spans).toHaveLength(1);
    expect(sink.spans[0]).toMatchObject({
      startMs: AT,
      endMs: AT + 50 * 60_000,
      status: 'unset',
      attributes: { 'messaging.msgsvc.open': true, 'messaging.msgsvc.attempts': 1 },
    });
    expect([...(await leftOpen('prod'))]).toEqual(['msg_1']);
    const end = { at: AT + HOUR, outcome: 'failed' } as const;
    const news = { created: false, attempts: [], outcomes: [], ended: true };
    await deliver([message({ end, attempts: [first], news })], { closed: ['msg_1'] });
    expect(sink.spans).toHaveLength(2);
    expect(sink.spans[1]).toMatchObject({
      parentSpanId: sink.spans[0]!.spanId,
      name: 'outcome',
      startMs: AT + HOUR,
      endMs: AT + HOUR,
      status: 'error',
      attributes: { 'messaging.msgsvc.outcome': 'failed', 'messaging.msgsvc.attempts': 1, 'error.type': '503' },
    });
    expect([...(await leftOpen('prod'))]).toEqual([]);
  });

  test('of a message that is not sampled nothing, until it is slow, and then the withheld spans', async () => {
    const { sink, deliver } = await sinkWorld({ traces: { sampleRatio: 0 } });
    const slow = { startedAt: AT + 40_000, endedAt: AT + 41_000, failure: 'timeout' } as const;
    const third = { startedAt: AT + 50_000, endedAt: AT + 51_000, responseStatus: 200 } as const;
    await deliver([openMessage({ attempts: [first] }, [0])]);
    expect(sink.spans).toEqual([]);
    await deliver([openMessage({ attempts: [first, slow] }, [1])]);
    expect(sink.spans.filter(({ kind }) => kind === 'client')).toHaveLength(2);
    const news = { created: false, attempts: [2], outcomes: [2], ended: true };
    await deliver([message({ attempts: [first, slow, third], end: { at: AT + 51_000, outcome: 'delivered' }, news })]);
    expect(sink.spans.filter(({ kind }) => kind === 'client')).toHaveLength(3);
    expect(new Set(sink.spans.map(({ spanId }) => spanId)).size).toBe(sink.spans.length);
  });

  test('a delayed message does not count as slow; its long wait and its root are shortened, and say so', async () => {
    const due = AT + 2 * HOUR;
    const attempts = [{ dueAt: due, startedAt: due + 10, endedAt: due + 20, responseStatus: 200 }];
    const delayed = message({ dueAt: due, attempts, end: { at: due + 20, outcome: 'delivered' } });
    expect(await sent([delayed], { traces: { sampleRatio: 0 } })).toEqual([]);
    const { sink, deliver, clock } = await sinkWorld();
    await clock.advance(2 * HOUR);
    await deliver([delayed]);
    expect(sink.spans.slice(0, 2)).toMatchObject([
      { startMs: due + 20 - 50 * 60_000, attributes: { 'messaging.msgsvc.whole_ms': 2 * HOUR + 20 } },
      { name: 'wait (delay)', startMs: due + 20 - 50 * 60_000, attributes: { 'messaging.msgsvc.overdue_ms': 10 } },
    ]);
  });

  test('the sampled share is sent, and every failure', async () => {
    const delivered = Array.from({ length: 200 }, (_, index) => numbered(index, { attempts: [] }));
    const end = { at: AT + 3_000, outcome: 'failed' } as const;
    const failed = Array.from({ length: 50 }, (_, index) => numbered(1_000 + index, { attempts: [], end }));
    const spans = await sent([...delivered, ...failed], { traces: { sampleRatio: 0.25 } });
    const outcomes = spans.map((span) => span.attributes['messaging.msgsvc.outcome']);
    expect(outcomes.filter((outcome) => outcome === 'failed')).toHaveLength(50);
    const share = outcomes.filter((outcome) => outcome === 'delivered').length;
    expect(share).toBeGreaterThan(25);
    expect(share).toBeLessThan(75);
  });

  test('no more than the budget, which refills with time; the excess is counted', async () => {
    const { deliver, events, clock } = await sinkWorld({ traces: { maxSpansPerSecond: 1 } });
    await deliver(Array.from({ length: 20 }, (_, index) => numbered(index)));
    expect(events).toEqual([dropped(40, 'budget'), exported(60)]);
    await clock.advance(10_000);
    await deliver(Array.from({ length: 3 }, (_, index) => numbered(index)));
    expect(events.slice(2)).toEqual([dropped(5, 'budget'), exported(10)]);
  });

  test('spans that began too long ago are dropped and counted, when they are made and when they are sent', async () => {
    const { sink, send, events, flush, clock, answer } = await sinkWorld({ traces: { maxAge: '1m' } });
    answer(503);
    const long = message({ createdAt: AT - 60_000, attempts: [{ startedAt: AT, endedAt: AT + 10 }] });
    await send([long, numbered(2, { attempts: [{ startedAt: AT + 30_000, endedAt: AT + 30_010 }] })]);
    expect(events).toEqual([dropped(2, 'too_old')]);
    await expect.poll(() => sink.requests.length).toBe(1);
    sink.answerWith(sink.accept);
    // By the end of another exchange, the sender has its response and waits.
    await fetch(sink.url);
    clock.jump(60_000);
    await clock.advance(1_000);
    await flush();
    expect(events.slice(1)).toEqual([exported(1), dropped(3, 'too_old')]);
    expect(sink.spans).toHaveLength(1);
  });
});

test('gzip and headers come from the environment', async () => {
  const env = { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip', OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20x' };
  const { sink, deliver } = await sinkWorld({ env });
  await deliver([message()]);
  expect(sink.requests[0]!.headers).toMatchObject({ 'content-encoding': 'gzip', authorization: 'Bearer x' });
  expect(sink.spans).toHaveLength(5);
});

describe('a faulty receiver', () => {
  test.each([400, 401, 404, 413, 500])('that rejects with %i: the spans are dropped and counted', async (status) => {
    const { sink, deliver, events, answer } = await sinkWorld();
    answer(status);
    await deliver([message()]);
    sink.answerWith(sink.accept);
    await deliver([numbered(2)]);
    expect(events).toEqual([dropped(5, 'rejected'), exported(5)]);
    expect(sink.requests).toHaveLength(2);
  });

  test.each([
    ['application/json', '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}'],
    ['application/x-protobuf', Buffer.from([0x0a, 0x02, 0x08, 0x02])],
    // With a reason of 200 characters, the length of the whole needs two bytes.
    [
      'application/x-protobuf',
      Buffer.concat([Buffer.from([0x0a, 0xcd, 0x01, 0x08, 0x02, 0x12, 0xc8, 0x01]), Buffer.alloc(200, 'a')]),
    ],
  ])('that rejects a part, in %s: that part is counted', async (type, body) => {
    const { sink, deliver, events } = await sinkWorld();
    sink.answerWith((_request, response) => void response.writeHead(200, { 'content-type': type }).end(body));
    await deliver([message()]);
    expect(events).toEqual([exported(3), dropped(2, 'rejected')]);
  });

  test.each([429, 502, 503, 504])(
    'that is busy with %i gets the same bytes again, at the requested time',
    async (status) => {
      const { sink, send, events, flush, clock, answer } = await sinkWorld();
      answer(status, { 'retry-after': '7' });
      await send([message()]);
      await expect.poll(() => sink.requests.length).toBe(1);
      sink.answerWith(sink.accept);
      const flushed = flush();
      await fetch(sink.url);
      await clock.advance(6_999);
      await fetch(sink.url);
      expect(sink.spans).toHaveLength(0);
      await clock.advance(1);
      await flushed;
      expect(events).toEqual([exported(5)]);
      const bodies = sink.requests.filter(({ method }) => method === 'POST').map((request) => request.body);
      expect(bodies).toHaveLength(2);
      expect(bodies[0]!.equals(bodies[1]!)).toBe(true);
    },
  );

  test.each(['0', '-1', '0.5', 'Mon, 04 May 2026 11:59:59 GMT', 'soon'])(
    'that requests no valid wait (%s) gets no more requests than without one',
    async (wait) => {
      const { sink, send, clock, answer, waits } = await sinkWorld();
      answer(429, { date: new Date(clock.now()).toUTCString(), 'retry-after': wait });
      await send([message()]);
      await waits([1, 2, 4, 8, 16, 30, 30]);
      expect(sink.spans).toEqual([]);
    },
  );

  test('that resets every second request of a connection gets all spans, by new connections', async () => {
    const { sink, deliver, events } = await sinkWorld();
    const used = new WeakSet<object>();
    sink.answerWith((request, response) => {
      const { socket } = response;
      if (socket === null || used.has(socket)) return void response.destroy();
      used.add(socket);
      return sink.accept(request, response);
    });
    for (const n of [1, 2, 3]) await deliver([numbered(n)]);
    expect(events).toEqual([exported(5), exported(5), exported(5)]);
  });

  test('that fails for a minute is a problem with host and cause, until it accepts spans', async () => {
    const { sink, send, spans, flush, clock, answer, waits } = await sinkWorld();
    answer(503);
    await send([message()]);
    const flushed = flush();
    await waits([1, 2, 4, 8, 16, 30], () => expect(spans.problem()).toBeUndefined());
    await expect.poll(() => clock.nextIn).toBe(30_000);
    expect(spans.problem()).toEqual({ host: new URL(sink.url).host, cause: 'it answers 503' });
    sink.answerWith(sink.accept);
    await clock.advance(30_000);
    await flushed;
    expect(spans.problem()).toBeUndefined();
  });

  test('that cannot be reached is a problem with its cause', async () => {
    const { send, spans, clock } = await spanWorld({ url: `http://127.0.0.1:${await freePort()}` });
    await send([message()]);
    await expect.poll(() => clock.nextIn).toBe(1_000);
    await clock.advance(60_000);
    await expect.poll(() => spans.problem()?.cause).toBe('nothing listens there (ECONNREFUSED)');
  });

  test('behind a proxy gets its spans through that, or names it', async () => {
    const sink = await otlpSink();
    const proxy = await httpProxy(sink.url);
    proxyEnvironment({ http_proxy: proxy.url, https_proxy: proxy.url });
    const plain = await spanWorld({ url: 'http://collector.example:4318' });
    await plain.send([message()]);
    await expect.poll(() => sink.requests.length).toBe(1);
    expect(proxy.requests).toEqual(['POST http://collector.example:4318/v1/traces']);

    proxy.refusal = 403;
    const { send, spans, clock } = await spanWorld({ url: 'https://collector.example' });
    await send([message()]);
    await expect.poll(() => clock.nextIn).toBe(1_000);
    await clock.advance(60_000);
    const cause = 'the proxy of HTTPS_PROXY does not connect to it (ERR_PROXY_TUNNEL)';
    await expect.poll(() => spans.problem()?.cause).toBe(cause);
  });

  test('that hangs: a full queue drops whole messages and counts them, and flushing can be aborted', async () => {
    const { sink, send, events, spans } = await sinkWorld({ traces: { maxSpansPerSecond: 100_000 } });
    sink.answerWith(() => undefined);
    const none = { attempts: [] };
    await send(Array.from({ length: 70_000 }, (_, index) => numbered(index, none)));
    expect(events).toEqual([dropped(70_000 - 65_536, 'queue')]);
    await expect.poll(() => sink.requests.length).toBe(1);
    const stop = new AbortController();
    const flushed = spans.flush(stop.signal);
    stop.abort(new Error('enough'));
    await expect(flushed).rejects.toThrow('enough');
    await expect(spans.flush(stop.signal)).rejects.toThrow('enough');
  });

  test('that hangs: the request is aborted after its time, and repeated', async () => {
    const { sink, send, events, clock, flush } = await sinkWorld();
    const late = Promise.withResolvers<ServerResponse>();
    sink.answerWith((_request, response) => late.resolve(response));
    await send([message()]);
    const flushed = flush();
    await late.promise;
    sink.answerWith(sink.accept);
    await clock.advance(10_000);
    await expect.poll(() => clock.timers).toBeGreaterThan(0);
    await clock.advance(1_000);
    await flushed;
    expect(events).toEqual([exported(5)]);
  });

  test('that does not respond before the end: the next process sends the same bytes', async () => {
    const sink = await otlpSink();
    const storePath = join(tempDir(), 'opsd.db');
    {
      sink.answerWith((_request, response) => void response.writeHead(503).end());
      const { send, spans, events, clock, store } = await spanWorld(sink, { storePath });
      await send([message()]);
      await expect.poll(() => sink.requests.length).toBe(1);
      const ended = spans[Symbol.asyncDispose]();
      await clock.advance(4_000);
      await ended;
      expect(events).toEqual([]);
      store[Symbol.dispose]();
    }
    sink.answerWith(sink.accept);
    const { flush, events, outbox } = await spanWorld(sink, {
      storePath,
      traces: { sampleRatio: 0.5, producer: 'none' },
    });
    await flush();
    expect(events).toEqual([exported(5)]);
    expect(outbox.queued()).toEqual({ spans: 0 });
    const bodies = sink.requests.map((request) => request.body);
    expect(bodies.at(-1)!.equals(bodies[0]!)).toBe(true);
    expect(sink.spans).toHaveLength(5);
  });
});

test('a message with an invalid time is dropped and counted, and affects no other', async () => {
  const { deliver, events } = await sinkWorld();
  await deliver([
    numbered(1, { end: { at: NaN, outcome: 'delivered' } }),
    numbered(2, { attempts: [{ endedAt: AT / 1_000 }] }),
    numbered(3),
  ]);
  expect(events).toEqual([dropped(5, 'unreadable'), exported(5)]);
});

describe('the process', () => {
  const PROGRAM = join(import.meta.dirname, 'programs/send-and-end.ts');

  async function run(env: Record<string, string>) {
    const store = join(tempDir(), 'opsd.db');
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [PROGRAM, store], { env });
    const said = JSON.parse(stdout) as {
      loaded: string[];
      events: OpsEvent[];
      disposeMs: number;
      endedAt: number;
      left: number;
    };
    return { ...said, stderr, lingeredMs: Date.now() - said.endedAt };
  }

  test('does not load OpenTelemetry without an endpoint', async () => {
    expect(await run({})).toMatchObject({ loaded: [], events: [], stderr: '' });
  });

  test('ends in time though the receiver hangs, and keeps the unsent spans', async () => {
    const sink = await otlpSink();
    sink.answerWith(() => undefined);
    const result = await run({ OTEL_EXPORTER_OTLP_ENDPOINT: sink.url });
    expect(result.loaded).toContain('@opentelemetry/sdk-node');
    expect(result.left).toBe(2);
    expect(result.stderr).toBe('');
    expect(sink.requests).toHaveLength(1);
    // A tenth of the four seconds that the end may wait, without further work after it.
    expect(result.disposeMs).toBeGreaterThan(350);
    expect(result.lingeredMs).toBeLessThan(1_000);
  });
});
