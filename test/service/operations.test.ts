/** Each of the 20 operations: its request on the wire, and the result of its recorded response. */
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { SunkRequest } from '../support/http-sink.ts';
import type { RawAnswer } from '#service/raw-calls.ts';
import {
  ACTION_TOKEN,
  call,
  clientUnderTest,
  fixture,
  json,
  PASSWORD,
  PUBLISH,
  TOKEN,
  TRIGGER,
  type UnderTest,
} from './client-under-test.ts';

const T = Date.UTC(2026, 10, 20, 10, 0, 0);
const SERVED_AT = new Date(T).toUTCString();
const BASIC = `Basic ${Buffer.from(`owner@example.com:${PASSWORD}`).toString('base64')}`;
const BILLING = 'https://billing.example.com/hooks/orders';
/** Requests, each with the name of its operation. Some have a variant. */
const REQUESTS: Readonly<Record<string, (client: UnderTest) => Promise<unknown>>> = {
  'add-endpoints': ({ send }) =>
    send('add-endpoints', {
      urlGroupName: 'orders/eu',
      endpoints: [{ url: BILLING, name: 'billing' }, { url: 'http://b.example.com/?x=1' }],
    }),
  'list-url-groups': ({ message }) => message.listUrlGroups(call),
  'list-logs': ({ message }) =>
    message.listLogs(
      {
        cursor: 'c-1',
        messageId: 'msg_1',
        state: 'IN_PROGRESS',
        url: 'https://a.example.com/?a=1,2',
        topicName: 'orders',
        scheduleId: 's',
        queueName: 'q',
        fromDate: T - 1,
        toDate: T,
        count: 100,
        label: ['billing', 'tenant:14'],
      },
      call,
    ),
  publish: ({ send }) =>
    send('publish', {
      destination: 'https://billing.example.com/a/../b?x=1,2&y=%2F',
      body: '{"order":1}',
      contentType: 'application/json',
      forward: { 'My-Header': 'caf\u00e9', Authorization: 'Bearer of-the-receiver' },
      method: 'PUT',
      timeout: '30s',
      retries: 0,
      retryDelay: 'max(1000, pow(2, retried))',
      delay: '1d1h30m',
      notBefore: T / 1_000,
      label: ['billing', 'tenant:14'],
      flowControlKey: 'tenant-14',
      flowControlValue: 'parallelism=2, rate=5, period=60',
      deduplicationId: 'order-1',
      contentBasedDeduplication: false,
      callback: 'https://ops.example.com/cb?x=1',
      callbackMethod: 'PATCH',
      callbackTimeout: '5s',
      callbackRetries: 1,
      callbackRetryDelay: '1000',
      callbackDelay: '10s',
      callbackForward: { Trace: 'a' },
      failureCallback: 'https://ops.example.com/fcb',
      failureCallbackRetries: 2,
      failureCallbackForward: { Trace: 'b' },
      redactFields: ['body', 'header[Authorization]'],
    }),
  'publish: url-group': ({ message }) =>
    message.publish(
      { ...PUBLISH, destination: 'order events', flowControl: { key: 'k', parallelism: 2, rate: 5, period: 60 } },
      call,
    ),
  'publish: queue': ({ message }) =>
    message.publish({ ...PUBLISH, destination: BILLING, queue: 'late orders/1' }, call),
  trigger: ({ send }) =>
    send('trigger', {
      workflowUrl: 'https://app.example.com/api//workflows/../invoice?tenant=14',
      body: 'payload',
      workflowRunId: 'wfr_own',
      forward: { A: 'b' },
      retries: 3,
      delay: '10s',
      notBefore: T / 1_000,
      label: ['billing'],
      flowControlKey: 'k',
      flowControlValue: 'parallelism=1',
      retryDelay: '1000 * retried',
      failureCallback: 'https://ops.example.com/fcb',
      failureCallbackForward: { C: 'd' },
    }),
  'trigger: minimal': ({ message }) => message.trigger(TRIGGER, call),
  'list-workflow-dlq': ({ message }) =>
    message.listWorkflowDlq(
      {
        cursor: 'c',
        count: 1,
        fromDate: T - 1,
        toDate: T,
        workflowUrl: ['https://app.example.com/a?b=c'],
        workflowRunId: 'wfr',
        workflowCreatedAt: T,
        label: ['billing', 'x y'],
        failureFunctionState: ['CALLBACK_FAIL'],
        callerIp: ['203.0.113.7', '::1'],
        flowControlKey: ['k'],
      },
      call,
    ),
  'resume-workflow-dlq': ({ message }) =>
    message.resumeWorkflowDlq(
      ['dlq 1/a'],
      {
        retries: 0,
        flowControl: { key: 'opsd-resume', parallelism: 2, rate: 5, period: 1 },
        labels: ['billing', 'opsd:i:l:1'],
      },
      call,
    ),
  'resume-workflow-dlq: by-name': ({ send }) =>
    send('resume-workflow-dlq', {
      dlqIds: ['a'],
      delay: '5m',
      retryDelay: 'exp(2.5)',
      failureCallback: 'https://ops.example.com/fcb',
    }),
  'delete-workflow-dlq': ({ message }) => message.deleteWorkflowDlq(['a', 'b'], call),
  'delete-dlq': ({ message }) => message.deleteDlq({ dlqIds: ['a', 'b'] }, call),
  'delete-dlq: filters': ({ message }) =>
    message.deleteDlq(
      {
        toDate: T,
        count: 100,
        cursor: 'c',
        messageId: 'm',
        url: ['https://a.example.com/'],
        topicName: ['orders'],
        scheduleId: ['s'],
        queueName: ['q'],
        fromDate: T - 1,
        responseStatus: [503, 0],
        callerIp: ['::1'],
        label: ['newsletter'],
        flowControlKey: ['k'],
      },
      call,
    ),
  'get-flow-control': ({ message }) => message.getFlowControl('tenant/14', call),
  'move-to-team': ({ send }) => send('move-to-team', { msgsvc_id: 'a1', target_team_id: 't1' }),
  'set-plan': ({ send }) => send('set-plan', { id: 'a/1', plan_name: 'msgsvc_fixed_10m' }),
  'rotate-token': ({ send }) => send('rotate-token', { id: 'a1' }),
  'update-budget': ({ management }) => management.updateBudget('a1', 20, call),
  'update-budget: unlimited': ({ send }) => send('update-budget', { id: 'a1', budget: 0 }),
  'get-account-stats': ({ management }) => management.getAccountStats('a1', '30d', call),
  'create-index': ({ send }) => send('create-index', { name: 'products', region: 'eu-west-1', type: 'payg' }),
  'get-index': ({ management }) => management.getIndex('products-eu', call),
  'rename-index': ({ send }) => send('rename-index', { id: 'i1', name: 'new name' }),
  'transfer-index': ({ send }) => send('transfer-index', { id: 'i1', target_account: 'team-9' }),
  'get-vector-stats': ({ management }) => management.getVectorStats('products-eu', '1h', call),
};

/** Returns a request as text: its line, the headers of credentials, content and service, and its body. */
function shown({ method, url, headers, body }: SunkRequest): string {
  const own = Object.entries(headers).filter(([name]) => /^(?:authorization|content-type|svc-.*)$/.test(name));
  const lines = own.map(([name, value]) => `${name}: ${Buffer.from(String(value), 'latin1').toString()}`);
  const head = lines.toSorted().join('\n').replace(TOKEN, 'TOKEN').replace(BASIC, 'Basic USER:PASSWORD');
  return `${method} ${url}\n${head}\n\n${body.toString()}\n`;
}

function isRaw(result: unknown): result is RawAnswer {
  return typeof result === 'object' && result !== null && 'contentType' in result;
}

describe('operations on the wire', () => {
  test.each(Object.keys(REQUESTS))('%s', async (name) => {
    const [operation, variant] = name.split(': ');
    const answer = variant === 'url-group' ? 'publish-url-group' : operation!;
    const client = await clientUnderTest({
      answer: json(fixture(answer), 200, { date: SERVED_AT }),
      prefix: '/eu/v9',
    });
    const result = await REQUESTS[name]!(client);
    // Operations by name return the response as it is.
    if (isRaw(result)) expect(result.status).toBe(200);
    else await expect(result).toMatchFileSnapshot(`../fixtures/results/${answer}.txt`);

    expect(client.sink.requests).toHaveLength(1);
    const request = client.sink.requests[0]!;
    await expect(shown(request)).toMatchFileSnapshot(`../fixtures/requests/${name.replace(': ', '-')}.txt`);
    expect(client.eventsOf('api.request')).toEqual([
      {
        type: 'api.request',
        account: 'production',
        api: request.headers.authorization === BASIC ? 'management' : 'message',
        operation,
        method: request.method,
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/eu\/v9\/v2\/[^?]+$/) as string,
        code: 200,
        durationMs: expect.any(Number) as number,
        bytes: Buffer.byteLength(fixture(answer)),
        clockSkewMs: expect.any(Number) as number,
      },
    ]);
    expect(JSON.stringify(client.events)).not.toContain('canary');
  });

  test.each([
    ['Fri, 20 Nov 2026 12:00:00 GMT', 86_400_000],
    ['Sat, 21 Nov 2026 12:00:05 GMT', -5_000],
    ['yesterday', undefined],
  ])('a response of %s reports the offset of the local clock', async (date, clockSkewMs) => {
    const clock = new ManualClock(Date.UTC(2026, 10, 21, 12));
    const answer = (_request: unknown, response: ServerResponse): void =>
      void response.writeHead(200, { date, 'content-type': 'application/json' }).end('[]');
    const client = await clientUnderTest({ clock, answer });
    await client.message.listUrlGroups(call);
    expect(client.eventsOf('api.request')[0]!.clockSkewMs).toBe(clockSkewMs);
  });

  test('every operation of the interface has a row', () => {
    expect(new Set(Object.keys(REQUESTS).map((name) => name.split(': ')[0])).size).toBe(20);
  });

  test('another brand appears in headers, paths, fields and plans, and nowhere else', async () => {
    const client = await clientUnderTest({ wire: { headerPrefix: 'Acme', product: 'acmeq' } });
    const { sink, message, management, send } = client;
    sink.answerWith(json(fixture('publish')));
    await message.publish({ ...PUBLISH, retries: 1, forward: { A: 'b' } }, call);
    expect(sink.requests[0]!.headers).toMatchObject({ 'acme-retries': '1', 'acme-forward-a': 'b' });
    sink.answerWith(json('"OK"'));
    await send('set-plan', { id: 'a1', plan_name: 'acmeq_fixed_1m' });
    expect(sink.requests[1]!.url).toBe('/v2/acmeq/set-plan/a1');
    await send('move-to-team', { msgsvc_id: 'a1', target_team_id: 't1' });
    expect(JSON.parse(sink.requests[2]!.body.toString())).toEqual({ acmeq_id: 'a1', target_team_id: 't1' });
    sink.answerWith(json('{"daily_acmeq_messages":[],"daily_msgsvc_messages":[{"id":"x"}]}'));
    const stats = await management.getAccountStats('a1', '1h', call);
    expect(stats.value).toEqual({ messages: [] });
    sink.answerWith(
      json(
        `{"logs":[{"time":${T},"messageId":"m","header":{"ACME-FORWARD-TraceParent":["t"],"acme-flow-control-key":"k"}}]}`,
      ),
    );
    const logs = await message.listLogs({}, call);
    expect(logs.value[0]).toMatchObject({ traceparent: 't', flowControlKey: 'k' });
  });

  test('the action token is used for writes alone', async () => {
    const client = await clientUnderTest({ actionToken: Secret.of(ACTION_TOKEN) });
    client.sink.answerWith(json('[]'));
    await client.message.listUrlGroups(call);
    await client.send('add-endpoints', { urlGroupName: 'g', endpoints: [{ url: BILLING }] });
    expect(client.sink.requests.map((request) => request.headers.authorization)).toEqual([
      `Bearer ${TOKEN}`,
      `Bearer ${ACTION_TOKEN}`,
    ]);
  });
});
