/** Each of the 20 operations: its request on the wire, and the result of its recorded response. */
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
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
interface Row {
  readonly operation: string;
  /** Default: the operation's name. */
  readonly answer?: string;
  readonly run: (client: UnderTest) => Promise<unknown>;
  readonly method: string;
  readonly url: string;
  readonly authorization?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const ROWS: readonly Row[] = [
  {
    operation: 'add-endpoints',
    run: ({ send }) =>
      send('add-endpoints', {
        urlGroupName: 'orders/eu',
        endpoints: [{ url: BILLING, name: 'billing' }, { url: 'http://b.example.com/?x=1' }],
      }),
    method: 'POST',
    url: '/v2/topics/orders%2Feu/endpoints',
    headers: { 'content-type': 'application/json' },
    body: { endpoints: [{ url: BILLING, name: 'billing' }, { url: 'http://b.example.com/?x=1' }] },
  },
  {
    operation: 'list-url-groups',
    run: ({ message }) => message.listUrlGroups(call),
    method: 'GET',
    url: '/v2/topics',
  },
  {
    operation: 'list-logs',
    run: ({ message }) =>
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
    method: 'GET',
    url:
      '/v2/logs?cursor=c-1&messageId=msg_1&state=IN_PROGRESS&url=https%3A%2F%2Fa.example.com%2F%3Fa%3D1%2C2' +
      `&topicName=orders&scheduleId=s&queueName=q&fromDate=${T - 1}&toDate=${T}&count=100&label=billing&label=tenant%3A14`,
  },
  {
    operation: 'publish',
    run: ({ send }) =>
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
    method: 'POST',
    url: '/v2/publish/https://billing.example.com/a/../b?x=1,2&y=%2F',
    headers: {
      'content-type': 'application/json',
      'svc-forward-my-header': Buffer.from('café').toString('latin1'),
      'svc-forward-authorization': 'Bearer of-the-receiver',
      'svc-method': 'PUT',
      'svc-timeout': '30s',
      'svc-retries': '0',
      'svc-retry-delay': 'max(1000, pow(2, retried))',
      'svc-delay': '1d1h30m',
      'svc-not-before': String(T / 1_000),
      'svc-label': 'billing,tenant:14',
      'svc-flow-control-key': 'tenant-14',
      'svc-flow-control-value': 'parallelism=2, rate=5, period=60',
      'svc-deduplication-id': 'order-1',
      'svc-content-based-deduplication': 'false',
      'svc-callback': 'https://ops.example.com/cb?x=1',
      'svc-callback-method': 'PATCH',
      'svc-callback-timeout': '5s',
      'svc-callback-retries': '1',
      'svc-callback-retry-delay': '1000',
      'svc-callback-delay': '10s',
      'svc-callback-forward-trace': 'a',
      'svc-failure-callback': 'https://ops.example.com/fcb',
      'svc-failure-callback-retries': '2',
      'svc-failure-callback-forward-trace': 'b',
      'svc-redact-fields': 'body,header[Authorization]',
    },
    body: '{"order":1}',
  },
  {
    operation: 'publish',
    answer: 'publish-url-group',
    run: ({ message }) =>
      message.publish(
        { ...PUBLISH, destination: 'order events', flowControl: { key: 'k', parallelism: 2, rate: 5, period: 60 } },
        call,
      ),
    method: 'POST',
    url: '/v2/publish/order%20events',
    headers: {
      'svc-retries': '0',
      'svc-label': 'billing',
      'svc-flow-control-key': 'k',
      'svc-flow-control-value': 'parallelism=2, rate=5, period=60',
    },
    body: 'x',
  },
  {
    operation: 'publish',
    answer: 'publish',
    run: ({ message }) => message.publish({ ...PUBLISH, destination: BILLING, queue: 'late orders/1' }, call),
    method: 'POST',
    url: `/v2/enqueue/late%20orders%2F1/${BILLING}`,
    headers: { 'svc-retries': '0', 'svc-label': 'billing' },
    body: 'x',
  },
  {
    operation: 'trigger',
    run: ({ send }) =>
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
    method: 'POST',
    url: '/v2/trigger/https://app.example.com/api//workflows/../invoice?tenant=14',
    headers: {
      'content-type': 'text/plain',
      'svc-workflow-runid': 'wfr_own',
      'svc-forward-a': 'b',
      'svc-retries': '3',
      'svc-delay': '10s',
      'svc-not-before': String(T / 1_000),
      'svc-label': 'billing',
      'svc-flow-control-key': 'k',
      'svc-flow-control-value': 'parallelism=1',
      'svc-retry-delay': '1000 * retried',
      'svc-failure-callback': 'https://ops.example.com/fcb',
      'svc-failure-callback-forward-c': 'd',
    },
    body: 'payload',
  },
  {
    operation: 'trigger',
    run: ({ message }) => message.trigger(TRIGGER, call),
    method: 'POST',
    url: '/v2/trigger/http://a/',
    headers: { 'content-type': 'text/plain', 'svc-retries': '0', 'svc-label': 'billing' },
    body: 'x',
  },
  {
    operation: 'list-workflow-dlq',
    run: ({ message }) =>
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
    method: 'GET',
    url:
      `/v2/workflows/dlq?cursor=c&count=1&fromDate=${T - 1}&toDate=${T}` +
      '&workflowUrl=https%3A%2F%2Fapp.example.com%2Fa%3Fb%3Dc&workflowRunId=wfr' +
      `&workflowCreatedAt=${T}&label=billing&label=x%20y&failureFunctionState=CALLBACK_FAIL` +
      '&callerIp=203.0.113.7&callerIp=%3A%3A1&flowControlKey=k',
  },
  {
    operation: 'resume-workflow-dlq',
    run: ({ message }) =>
      message.resumeWorkflowDlq(
        ['dlq 1/a'],
        {
          retries: 0,
          flowControl: { key: 'opsd-resume', parallelism: 2, rate: 5, period: 1 },
          labels: ['billing', 'opsd:i:l:1'],
        },
        call,
      ),
    method: 'POST',
    url: '/v2/workflows/dlq/resume?dlqIds=dlq%201%2Fa',
    headers: {
      'svc-retries': '0',
      'svc-flow-control-key': 'opsd-resume',
      'svc-flow-control-value': 'parallelism=2, rate=5, period=1',
      'svc-label': 'billing,opsd:i:l:1',
    },
    body: '',
  },
  {
    operation: 'resume-workflow-dlq',
    run: ({ send }) =>
      send('resume-workflow-dlq', {
        dlqIds: ['a'],
        delay: '5m',
        retryDelay: 'exp(2.5)',
        failureCallback: 'https://ops.example.com/fcb',
      }),
    method: 'POST',
    url: '/v2/workflows/dlq/resume?dlqIds=a',
    headers: {
      'svc-delay': '5m',
      'svc-retry-delay': 'exp(2.5)',
      'svc-failure-callback': 'https://ops.example.com/fcb',
    },
  },
  {
    operation: 'delete-workflow-dlq',
    run: ({ message }) => message.deleteWorkflowDlq(['a', 'b'], call),
    method: 'DELETE',
    url: '/v2/workflows/dlq?dlqIds=a&dlqIds=b',
  },
  {
    operation: 'delete-dlq',
    run: ({ message }) => message.deleteDlq({ dlqIds: ['a', 'b'] }, call),
    method: 'DELETE',
    url: '/v2/dlq?dlqIds=a&dlqIds=b',
  },
  {
    operation: 'delete-dlq',
    run: ({ message }) =>
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
    method: 'DELETE',
    url:
      `/v2/dlq?toDate=${T}&count=100&cursor=c&messageId=m&url=https%3A%2F%2Fa.example.com%2F&topicName=orders` +
      `&scheduleId=s&queueName=q&fromDate=${T - 1}&responseStatus=503&responseStatus=0&callerIp=%3A%3A1` +
      '&label=newsletter&flowControlKey=k',
  },
  {
    operation: 'get-flow-control',
    run: ({ message }) => message.getFlowControl('tenant/14', call),
    method: 'GET',
    url: '/v2/flowControl/tenant%2F14',
  },
  {
    operation: 'move-to-team',
    run: ({ send }) => send('move-to-team', { msgsvc_id: 'a1', target_team_id: 't1' }),
    method: 'POST',
    url: '/v2/msgsvc/move-to-team',
    authorization: BASIC,
    body: { msgsvc_id: 'a1', target_team_id: 't1' },
  },
  {
    operation: 'set-plan',
    run: ({ send }) => send('set-plan', { id: 'a/1', plan_name: 'msgsvc_fixed_10m' }),
    method: 'POST',
    url: '/v2/msgsvc/set-plan/a%2F1',
    authorization: BASIC,
    body: { plan_name: 'msgsvc_fixed_10m' },
  },
  {
    operation: 'rotate-token',
    run: ({ send }) => send('rotate-token', { id: 'a1' }),
    method: 'POST',
    url: '/v2/msgsvc/rotate-token/a1',
    authorization: BASIC,
    body: '',
  },
  {
    operation: 'update-budget',
    run: ({ management }) => management.updateBudget('a1', 20, call),
    method: 'PATCH',
    url: '/v2/msgsvc/update-budget/a1',
    authorization: BASIC,
    body: { budget: 20 },
  },
  {
    operation: 'update-budget',
    run: ({ send }) => send('update-budget', { id: 'a1', budget: 0 }),
    method: 'PATCH',
    url: '/v2/msgsvc/update-budget/a1',
    authorization: BASIC,
    body: { budget: 0 },
  },
  {
    operation: 'get-account-stats',
    run: ({ management }) => management.getAccountStats('a1', '30d', call),
    method: 'GET',
    url: '/v2/msgsvc/stats/a1?period=30d',
    authorization: BASIC,
  },
  {
    operation: 'create-index',
    run: ({ send }) => send('create-index', { name: 'products', region: 'eu-west-1', type: 'payg' }),
    method: 'POST',
    url: '/v2/search',
    authorization: BASIC,
    headers: { 'content-type': 'application/json' },
    body: { name: 'products', region: 'eu-west-1', type: 'payg' },
  },
  {
    operation: 'get-index',
    run: ({ management }) => management.getIndex('products-eu', call),
    method: 'GET',
    url: '/v2/search/products-eu',
    authorization: BASIC,
  },
  {
    operation: 'rename-index',
    run: ({ send }) => send('rename-index', { id: 'i1', name: 'new name' }),
    method: 'POST',
    url: '/v2/search/i1/rename',
    authorization: BASIC,
    body: { name: 'new name' },
  },
  {
    operation: 'transfer-index',
    run: ({ send }) => send('transfer-index', { id: 'i1', target_account: 'team-9' }),
    method: 'POST',
    url: '/v2/search/i1/transfer',
    authorization: BASIC,
    body: { target_account: 'team-9' },
  },
  {
    operation: 'get-vector-stats',
    run: ({ management }) => management.getVectorStats('products-eu', '1h', call),
    method: 'GET',
    url: '/v2/vector/index/products-eu/stats?period=1h',
    authorization: BASIC,
  },
];

function isRaw(result: unknown): result is RawAnswer {
  return typeof result === 'object' && result !== null && 'contentType' in result;
}

describe('operations on the wire', () => {
  test.each(ROWS)('$operation: $method $url', async (row) => {
    const client = await clientUnderTest({
      answer: json(fixture(row.answer ?? row.operation), 200, { date: SERVED_AT }),
      prefix: '/eu/v9',
    });
    const result = await row.run(client);
    // Operations by name return the response as it is.
    if (isRaw(result)) expect(result.status).toBe(200);
    else await expect(result).toMatchFileSnapshot(`../fixtures/results/${row.answer ?? row.operation}.txt`);

    expect(client.sink.requests).toHaveLength(1);
    const request = client.sink.requests[0]!;
    expect(request.method).toBe(row.method);
    expect(request.url).toBe(`/eu/v9${row.url}`);
    expect(request.headers.authorization).toBe(row.authorization ?? `Bearer ${TOKEN}`);
    expect(request.headers).toMatchObject(row.headers ?? {});
    const own = Object.keys(request.headers).filter((name) => name.startsWith('svc-'));
    expect(own.sort()).toEqual(
      Object.keys(row.headers ?? {})
        .filter((name) => name.startsWith('svc-'))
        .sort(),
    );
    if (typeof row.body === 'string') expect(request.body.toString('latin1')).toBe(row.body);
    else if (row.body !== undefined) expect(JSON.parse(request.body.toString())).toEqual(row.body);
    else expect(request.body).toHaveLength(0);

    expect(client.eventsOf('api.request')).toEqual([
      {
        type: 'api.request',
        account: 'production',
        api: row.authorization === undefined ? 'message' : 'management',
        operation: row.operation,
        method: request.method,
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/eu\/v9\/v2\/[^?]+$/) as string,
        code: 200,
        durationMs: expect.any(Number) as number,
        bytes: Buffer.byteLength(fixture(row.answer ?? row.operation)),
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
    expect(new Set(ROWS.map((row) => row.operation)).size).toBe(20);
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
