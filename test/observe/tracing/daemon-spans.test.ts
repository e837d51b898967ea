import { describe, expect, onTestFinished, test } from 'vitest';
import { createDaemonSpans } from '#observe/tracing/daemon-spans.ts';
import { otlpEndpoint } from '#observe/tracing/otlp-endpoint.ts';
import { createOtlpPost } from '#observe/tracing/otlp-post.ts';
import { otlpResources } from '#observe/tracing/otlp-resource.ts';
import { createOtlpSender } from '#observe/tracing/otlp-sender.ts';
import { traceSettings } from '#observe/tracing/settings.ts';
import { spanIdOf, workflowTraceIdOf } from '#observe/tracing/trace-ids.ts';
import { EventBus, type EventOf, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { event } from '../../support/events.ts';
import { otlpSink } from '../../support/otlp-sink.ts';

const AT = Date.UTC(2026, 4, 4, 12);
const POLL = { name: 'poll logs', attributes: { 'messaging.msgsvc.account': 'production' } };

async function world() {
  const sink = await otlpSink();
  const bus = new EventBus();
  const events: OpsEvent[] = [];
  bus.subscribe((event) => event.type.startsWith('spans.') && events.push(event));
  const clock = new ManualClock(AT);
  const resource = otlpResources({}, '1.2.3', () => undefined).daemon;
  const endpoint = otlpEndpoint(traceSettings.parse({ otlp: { url: sink.url } }), {})!;
  const sender = createOtlpSender({ post: createOtlpPost(endpoint, clock), clock, events: bus });
  const own = await createDaemonSpans({ endpoint, sender, events: bus, clock, version: '1.2.3', resource });
  onTestFinished(async () => {
    const ended = own[Symbol.asyncDispose]();
    await clock.advance(10_000);
    await ended;
    sender[Symbol.dispose]();
  });
  /** Works inside of a span, and waits until it is sent. */
  async function spansOf(work: () => void, name = POLL.name): Promise<typeof sink.spans> {
    await own.during({ ...POLL, name }, async () => {
      work();
      await Promise.resolve();
    });
    await own.flush();
    return sink.spans;
  }
  return { sink, own, bus, clock, events, spansOf };
}

const request = (more: Partial<EventOf<'api.request'>> = {}): OpsEvent =>
  event('api.request', { account: 'production', durationMs: 40, ...more });
const acted = (more: Partial<EventOf<'action.outcome'>> = {}): OpsEvent =>
  event('action.outcome', { account: 'production', workflowRunId: 'wfr_9', durationMs: 30, ...more });
const ran = (more: Partial<EventOf<'policy.run'>>): OpsEvent =>
  event('policy.run', { account: 'production', planId: '9f3c2a', matched: 3, acted: 2, backlog: 1, ...more });

describe('an operation of the daemon', () => {
  test('is a span of the second resource, with its requests under it', async () => {
    const { sink, own, bus, clock } = await world();
    const told = await own.during(POLL, async () => {
      clock.jump(100);
      await Promise.resolve();
      bus.emit(request());
      bus.emit(request({ code: 503, failure: 'unavailable' as never }));
      return 7;
    });
    expect(told).toBe(7);
    await own.flush();
    const [first, second, poll] = sink.spans;
    expect(poll).toMatchObject({
      name: 'poll logs',
      kind: 'internal',
      parentSpanId: '',
      startMs: AT,
      endMs: AT + 100,
      status: 'unset',
      attributes: { 'messaging.msgsvc.account': 'production' },
      resource: { 'service.name': 'msgsvc-opsd', 'service.namespace': 'msgsvc', 'service.version': '1.2.3' },
    });
    expect(first).toMatchObject({
      name: 'list-logs',
      kind: 'client',
      traceId: poll!.traceId,
      parentSpanId: poll!.spanId,
      startMs: AT + 60,
      endMs: AT + 100,
      attributes: {
        'messaging.msgsvc.account': 'production',
        'http.request.method': 'GET',
        'url.full': 'https://eu.example/v2/logs',
        'server.address': 'eu.example',
        'server.port': 443,
        'http.response.status_code': 200,
      },
    });
    expect(second).toMatchObject({ status: 'error', attributes: { 'error.type': '503' } });
  });

  test("hides the parts of a request's URL that must not be shown", async () => {
    const { bus, spansOf } = await world();
    const url = 'http://user:canary@[::1]:8080/v2/dlq?token=canary';
    const spans = await spansOf(() => bus.emit(request({ method: 'DELETE', url })));
    expect(spans[0]!.attributes).toMatchObject({
      'http.request.method': 'DELETE',
      'server.address': '::1',
      'server.port': 8_080,
    });
    expect(JSON.stringify(spans)).not.toContain('canary');
  });

  test.each([
    ['takes a fraction of a millisecond longer than it', 40.7, 40],
    ['ends after the clock was set back', 5, -3_600_000],
  ])('a request that %s does not begin before its parent', async (_what, durationMs, jumpMs) => {
    const { bus, clock, spansOf } = await world();
    const spans = await spansOf(() => {
      clock.jump(jumpMs);
      bus.emit(request({ durationMs }));
    });
    const [child, parent] = spans;
    expect(child!.parentSpanId).toBe(parent!.spanId);
    expect(child!.startMs).toBeGreaterThanOrEqual(parent!.startMs);
    for (const { startMs, endMs } of spans) expect(endMs).toBeGreaterThanOrEqual(startMs);
  });

  test('fails as the work does, and names the failure without its text', async () => {
    const { sink, own } = await world();
    await expect(own.during(POLL, () => Promise.reject(new RangeError('canary')))).rejects.toThrow('canary');
    await own.flush();
    expect(sink.spans[0]).toMatchObject({ status: 'error', attributes: { 'error.type': 'RangeError' } });
    expect(JSON.stringify(sink.spans)).not.toContain('canary');
  });

  test('leads exemplars to the active span, and to none outside of one', async () => {
    const { sink, own } = await world();
    expect(own.current()).toBeUndefined();
    const both = await Promise.all(
      ['one', 'two'].map((name) =>
        own.during({ name, attributes: {} }, async () => {
          await Promise.resolve();
          return own.current();
        }),
      ),
    );
    await own.flush();
    for (const [index, name] of ['one', 'two'].entries()) {
      const span = sink.spans.find((candidate) => candidate.name === name)!;
      expect(both[index]).toEqual({ traceId: span.traceId, spanId: span.spanId });
    }
  });

  test('a request without an operation makes no span', async () => {
    const { sink, own, bus } = await world();
    bus.emit(request());
    await own.flush();
    expect(sink.spans).toEqual([]);
  });

  test('a run of a policy reports its outcome, and links to all items that it acted on', async () => {
    const { sink, own, bus, spansOf } = await world();
    await spansOf(() => {
      for (const workflowRunId of ['wfr_1', 'wfr_2']) bus.emit(acted({ workflowRunId }));
      bus.emit(ran({ outcome: 'halted', stopped: { guard: 'caps', reason: 'full' } }));
    }, 'policy resume');
    await spansOf(() => bus.emit(ran({ outcome: 'failed', error: 'a secret' })), 'policy resume');
    bus.emit(ran({ outcome: 'nothing_to_do' }));
    await own.flush();
    const [first, second] = sink.spans.filter(({ name }) => name === 'policy resume');
    expect(first).toMatchObject({
      status: 'unset',
      attributes: {
        'opsd.outcome': 'halted',
        'opsd.plan': '9f3c2a',
        'opsd.matched': 3,
        'opsd.acted': 2,
        'opsd.backlog': 1,
        'opsd.guard': 'caps',
      },
    });
    expect(first!.links.map(({ traceId }) => traceId)).toEqual(
      ['wfr_1', 'wfr_2'].map((run) => workflowTraceIdOf('production', run)),
    );
    expect(second).toMatchObject({ status: 'error', attributes: { 'error.type': 'failed' } });
    expect(JSON.stringify(sink.spans)).not.toContain('a secret');
  });

  test('an action links to the trace of the run that it acted on; its later outcome is not a span', async () => {
    const { sink, own, bus, clock, spansOf } = await world();
    await spansOf(() => {
      clock.jump(30);
      bus.emit(acted());
      bus.emit(acted({ outcome: 'unknown' }));
    });
    bus.emit(acted({ durationMs: 0, outcome: 'verified' }));
    await own.flush();
    expect(sink.spans).toHaveLength(3);
    const [accepted, unknown, policy] = sink.spans;
    expect(accepted).toMatchObject({
      name: 'action workflow-dlq.resume',
      parentSpanId: policy!.spanId,
      startMs: AT,
      endMs: AT + 30,
      links: [{ traceId: workflowTraceIdOf('production', 'wfr_9'), spanId: spanIdOf('production', 'wfr_9', 'run') }],
      attributes: { 'opsd.policy': 'resume', 'opsd.outcome': 'accepted' },
    });
    expect(unknown).toMatchObject({ status: 'error', attributes: { 'error.type': 'unknown' } });
  });
});

test('a full queue begins no more spans, and counts them; the work continues', async () => {
  const { sink, own, events } = await world();
  sink.answerWith(() => undefined);
  let worked = 0;
  for (let n = 0; n < 2_100; n += 1) await own.during(POLL, async () => void (worked += 1));
  expect(worked).toBe(2_100);
  expect(events).toHaveLength(2_100 - 2_048);
  expect(events[0]).toEqual({ type: 'spans.dropped', count: 1, reason: 'queue' });
});

test('spans that the receiver postpones are sent again, and counted once', async () => {
  const { sink, own, clock, events } = await world();
  sink.answerWith((_request, response) => void response.writeHead(503, { 'retry-after': '3' }).end());
  await own.during(POLL, () => Promise.resolve());
  const flushed = own.flush();
  await expect.poll(() => sink.requests.length).toBe(1);
  expect(sink.spans).toEqual([]);
  sink.answerWith(sink.accept);
  await expect.poll(() => clock.nextIn).toBe(3_000);
  await clock.advance(3_000);
  await flushed;
  expect(sink.spans.map(({ name }) => name)).toEqual([POLL.name]);
  expect(events).toEqual([{ type: 'spans.exported', count: 1 }]);
});

test('spans that the receiver postpones for longer than a batch may take are counted as failed', async () => {
  const { sink, own, clock, events } = await world();
  sink.answerWith((_request, response) => void response.writeHead(429, { 'retry-after': '3600' }).end());
  await own.during(POLL, () => Promise.resolve());
  const flushed = own.flush();
  await expect.poll(() => sink.requests.length).toBe(1);
  await clock.advance(10_000);
  await flushed;
  expect(sink.requests).toHaveLength(1);
  expect(events).toEqual([{ type: 'spans.dropped', count: 1, reason: 'failed' }]);

  await own.during(POLL, () => Promise.resolve());
  const later = own.flush();
  await clock.advance(10_000);
  await later;
  expect(sink.requests).toHaveLength(1);
});

test.each([400, 404, 500])(
  'spans that the receiver rejects with %d are counted, and not sent again',
  async (status) => {
    const { sink, own, events } = await world();
    sink.answerWith((_request, response) => void response.writeHead(status).end());
    await own.during(POLL, () => Promise.resolve());
    await own.flush();
    expect(sink.requests).toHaveLength(1);
    expect(events).toEqual([{ type: 'spans.dropped', count: 1, reason: 'rejected' }]);
  },
);

test('spans that the receiver does not accept before the end are counted', async () => {
  const { sink, own, clock, events } = await world();
  sink.answerWith(() => undefined);
  await own.during(POLL, () => Promise.resolve());
  const ended = own[Symbol.asyncDispose]();
  await expect.poll(() => sink.requests.length).toBe(1);
  await clock.advance(2_000);
  await ended;
  expect(events).toEqual([{ type: 'spans.dropped', count: 1, reason: 'failed' }]);
});
