import { expect, test } from 'vitest';
import { deliveryLines } from '#observe/tracing/delivery-line.ts';
import { traceIdOf } from '#observe/tracing/trace-ids.ts';
import type { MessageProgress } from '#observe/aggregation/message-trace.ts';

const T0 = Date.UTC(2026, 10, 20, 10);

function progress(more: Partial<MessageProgress> = {}): MessageProgress {
  return {
    account: 'production',
    messageId: 'msg-1',
    url: 'https://user:word@api.example.com/orders?token=abc&x=1',
    method: 'POST',
    createdAt: T0 - 9_000,
    dueAt: T0 - 5_000,
    attempts: [
      { endedAt: T0 - 4_000, failure: 'timeout' },
      { endedAt: T0, responseStatus: 200 },
    ],
    end: { at: T0, outcome: 'delivered' },
    news: { created: false, attempts: [1], outcomes: [1], ended: true },
    ...more,
  };
}

test('an ended message is one line, in the names of the semantic conventions', () => {
  const [line, ...rest] = deliveryLines([progress({ workflowRunId: 'wfr-1' })]);
  expect(rest).toEqual([]);
  expect(JSON.parse(line!)).toEqual({
    timestamp: '2026-11-20T10:00:00.000Z',
    'event.name': 'msgsvc.delivery.ended',
    trace_id: traceIdOf('production', 'msg-1'),
    'messaging.system': 'msgsvc',
    'messaging.message.id': 'msg-1',
    'messaging.destination.name': 'api.example.com',
    'messaging.message.conversation_id': 'wfr-1',
    'messaging.msgsvc.account': 'production',
    'messaging.msgsvc.outcome': 'delivered',
    'messaging.msgsvc.attempts': 2,
    'messaging.msgsvc.duration_ms': 5_000,
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'url.full': 'https://api.example.com/orders?token=REDACTED&x=1',
  });
});

test('unknown values are absent, and a failure has its reason', () => {
  const { dueAt: _dueAt, createdAt: _createdAt, method: _method, ...known } = progress();
  const failed = (attempt: MessageProgress['attempts'][number]) =>
    JSON.parse(deliveryLines([{ ...known, attempts: [attempt], end: { at: T0, outcome: 'failed' } }])[0]!) as Record<
      string,
      unknown
    >;
  const refused = failed({ endedAt: T0, failure: 'connection' });
  expect(refused).toMatchObject({ 'messaging.msgsvc.outcome': 'failed', 'error.type': 'connection' });
  for (const name of ['messaging.msgsvc.duration_ms', 'http.request.method', 'http.response.status_code']) {
    expect(refused).not.toHaveProperty([name]);
  }
  expect(failed({ endedAt: T0, responseStatus: 503, failure: 'http' })).toMatchObject({ 'error.type': '503' });
});

test('messages that continue, or whose end was reported before, have no line; the others are in the order of their ends', () => {
  const { end: _end, ...open } = progress();
  const { news } = progress();
  const lines = deliveryLines([
    open,
    progress({ messageId: 'old', news: { ...news, ended: false } }),
    progress({ messageId: 'past', news: { ...news, isPast: true } }),
    progress({ messageId: 'second' }),
    progress({ messageId: 'first', end: { at: T0 - 1, outcome: 'cancelled' } }),
  ]);
  expect(lines.map((line) => (JSON.parse(line) as Record<string, unknown>)['messaging.message.id'])).toEqual([
    'first',
    'second',
  ]);
});
