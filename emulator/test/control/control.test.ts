import { describe, expect, test } from 'vitest';
import type { AccountStatsJson } from '#emulator/statistics/account-stats.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { control, controlled, controlledWithSink } from '../controlled.ts';
import { ACCOUNT, allLogs, MANAGER, START, statesOf, world, type World } from '../world.ts';

const HOUR = 3_600_000;

async function publish(service: World, url: string, headers: Record<string, string> = {}): Promise<string> {
  const { status, json } = await service.call('POST', `/v2/publish/${url}`, { headers, body: '{}' });
  expect(status).toBe(200);
  return String(json['messageId']);
}

describe('the control API', () => {
  test('exists only when enabled', async () => {
    const service = await world({ clock: systemClock, time: 'virtual' });
    const { status, json } = await control(service, 'GET /state');
    expect([status, json]).toEqual([404, { error: '/-/emulator/state is not a path of this service' }]);
    const plain = await world();
    expect(() => plain.emulator.control).toThrow(/`control`/);
  });

  test.each([
    ['GET /nothing', undefined, 404, /not a path/],
    ['PATCH /clock', '{}', 405, /does not support PATCH/],
    ['POST /clock', '{', 400, /must be a JSON object/],
    ['POST /clock', '{"mode":"slow"}', 400, /mode: .*"real"\|"virtual"/],
    ['POST /clock', '{}', 400, /mode/],
    ['POST /clock/advance', '{"ms":-1}', 400, /ms|the body/],
    ['POST /clock/advance', `{"ms":${401 * 86_400_000}}`, 400, /at most/],
    ['POST /clock/advance', `{"to":${START - 1}}`, 400, /does not go back: that moment is 1 ms ago/],
    ['POST /reset', '{"everything":true}', 400, /everything/],
    ['POST /seed', '{"failedRuns":[{"url":"ftp://x"}]}', 400, /failedRuns\.0\.url/],
    ['POST /seed', '{"account":"acc-9"}', 404, /unknown account acc-9/],
    ['POST /seed', '{"history":{"days":32}}', 400, /history\.days/],
    ['POST /seed', `{"startAt":${START - 1}}`, 400, /startAt: time does not go back/],
    ['POST /seed', '{"startAt":"2026-11-20 12:00"}', 400, /startAt: expected a time such as/],
    ['POST /seed', '{"limits":{"max_speed":1}}', 400, /max_speed/],
    ['POST /seed', '{"destinations":{"a b":[200]}}', 400, /destinations\.a b: a place is a host name/],
    [
      'POST /seed',
      '{"destinations":{"a.example":["rest"]}}',
      400,
      /destinations\.a\.example: steps\[0\]\.fault must be/,
    ],
    ['POST /seed', '{"messages":[{"destination":"http://a.example","retry":1}]}', 400, /messages\.0: .*retry/],
    [
      'POST /seed',
      '{"messages":[{"destination":"http://a.example"},{"destination":"g"}]}',
      404,
      /^messages\.1: .*no URL Group/,
    ],
    [
      'POST /seed',
      '{"messages":[{"destination":"http://a.example","count":10000},{"destination":"g","count":10001}]}',
      400,
      /messages/,
    ],
    ['POST /messages/msg_0/cancel', '{}', 404, /unknown message msg_0/],
    ['POST /messages/msg_0', '{"scheduleId":"s"}', 404, /unknown message/],
    ['POST /messages/next', '{"times":0}', 400, /times/],
    ['POST /workflow-dlq/1-1/cancel-failure-function', '{}', 404, /no failed run has the id 1-1/],
    ['POST /accounts/acc-9', '{"state":"passive"}', 404, /unknown account acc-9/],
    ['POST /accounts/acc-1', '{"plan":"golden"}', 400, /plan/],
    ['POST /flow-control/k', '{"parallelism":0}', 400, /parallelism/],
    ['POST /switches', '{"logState":"maybe"}', 400, /logState/],
    ['POST /switches', '{"colour":"red"}', 400, /colour/],
    ['POST /faults', '{"fault":{"kind":"flood"}}', 400, /fault\.kind/],
    ['POST /faults', '{"fault":{"kind":"status","status":200}}', 400, /fault\.status/],
    ['POST /faults', '{"fault":{"kind":"lost"},"probability":2}', 400, /probability/],
    ['DELETE /faults/fault-9', undefined, 404, /no fault has the id fault-9/],
    ['GET /requests?since=1', undefined, 400, /since/],
    ['GET /state?full=1', undefined, 400, /"full"/],
    ['GET /requests?after=1&after=2', undefined, 400, /"after" takes one value/],
    ['DELETE /faults', '{"id":"fault-1"}', 400, /id/],
    ['POST /clock/advance', '{"ms":1,"patienceMs":"1"}', 400, /patienceMs/],
    [
      'POST /seed',
      JSON.stringify({ deadLetters: [1, 2, 3].map(() => ({ url: 'http://a.example/', count: 10_000 })) }),
      400,
      /deadLetters: at most 20000 in total/,
    ],
    ['GET /requests?after=x', undefined, 400, /after/],
    ['POST /destinations', '{"place":"a.example","steps":[]}', 400, /steps/],
  ])('%s %s is rejected with the reason', async (line, body, status, reason) => {
    const service = await controlled();
    const answer = await control(service, line, body);
    expect(answer).toEqual({ status, json: { error: expect.stringMatching(reason) as string } });
  });

  test('requires the account when there are several', async () => {
    const accounts = ['a', 'b'].map((id) => ({ id, token: `token-${id}` }));
    const service = await world({ clock: systemClock, control: true, accounts });
    expect(await control(service, 'POST /messages/next', { scheduleId: 's' })).toMatchObject({
      status: 400,
      json: { error: 'account is required, one of: a, b' },
    });
    expect(await control(service, 'POST /messages/next', { account: 'b', scheduleId: 's' })).toMatchObject({
      status: 200,
    });
  });
});

describe('time over the control API', () => {
  test('a day of retries is delivered during one request', async () => {
    const { sink, service } = await controlledWithSink((_request, response) => void response.writeHead(500).end());
    await publish(service, `${sink.url}/a`);
    await service.emulator.idle();
    const before = await control(service, 'GET /clock');
    expect(before.json).toMatchObject({ mode: 'virtual', now: START, timers: 1, nextInMs: 12_182 });
    const after = await control(service, 'POST /clock/advance', { to: START + 31 * HOUR });
    expect(after.json).toEqual({ mode: 'virtual', now: START + 31 * HOUR, timers: 0 });
    expect(sink.requests).toHaveLength(6);
  });

  test('runs in real mode and stops again', async () => {
    const { sink, service } = await controlledWithSink();
    await publish(service, `${sink.url}/a`, { 'Svc-Delay': '10s' });
    await service.emulator.control.advance({ ms: 9_990 });
    expect(sink.requests).toHaveLength(0);
    const delivered = new Promise<void>((resolve) => {
      service.emulator.onFact((_account, fact) => void (fact.kind === 'attempt' && resolve()));
    });
    expect((await control(service, 'POST /clock', { mode: 'real' })).json).toMatchObject({ mode: 'real' });
    await delivered;
    const { json } = await control<{ now: number }>(service, 'POST /clock', { mode: 'virtual' });
    expect(json.now).toBeGreaterThanOrEqual(START + 10_000);
    expect(service.emulator.control.clock().now).toBe(json.now);
  });
});

describe('what no operation of the interface can do', () => {
  test('a waiting message is canceled, an ended message is not', async () => {
    const { sink, service } = await controlledWithSink();
    const id = await publish(service, `${sink.url}/a`, { 'Svc-Delay': '1h' });
    expect(await control(service, `POST /messages/${id}/cancel`)).toMatchObject({
      status: 200,
      json: { id, state: 'CANCELLED' },
    });
    expect(await statesOf(service, id)).toEqual(['CREATED', 'CANCEL_REQUESTED', 'CANCELLED']);
    expect(await control(service, `POST /messages/${id}/cancel`)).toEqual({
      status: 409,
      json: { error: `message ${id} has ended: it is CANCELLED` },
    });
    await control(service, 'POST /clock/advance', { ms: 2 * HOUR });
    expect(sink.requests).toHaveLength(0);
  });

  test('messages are assigned to a schedule and a queue: the next ones, or an existing one', async () => {
    const { sink, service } = await controlledWithSink();
    const before = await publish(service, `${sink.url}/a`);
    await control(service, 'POST /messages/next', { scheduleId: 'nightly', queueName: 'bills', times: 2 });
    const named = [await publish(service, `${sink.url}/b`), await publish(service, `${sink.url}/c`)];
    const after = await publish(service, `${sink.url}/d`);
    await service.emulator.idle();
    const found = async (query: string): Promise<Set<string>> =>
      new Set((await allLogs(service, query)).map((entry) => entry.messageId));
    expect(await found('scheduleId=nightly')).toEqual(new Set(named));
    expect(await found('queueName=bills')).toEqual(new Set(named));
    await control(service, `POST /messages/${before}`, { queueName: 'bills' });
    expect(await found('queueName=bills')).toEqual(new Set([before, ...named]));
    expect(await found('scheduleId=nightly')).not.toContain(after);
  });

  test('a failure function in progress is canceled', async () => {
    const sink = await httpSink((request, response) => {
      if (request.url !== '/told') response.writeHead(500).end();
    });
    const service = await controlled();
    const headers = { 'Svc-Retries': '0', 'Svc-Failure-Callback': `${sink.url}/told` };
    await service.call('POST', `/v2/trigger/${sink.url}/run`, { headers, body: '' });
    const state = async (): Promise<string> => {
      const { json } = await service.call<{ messages: { failureFunctionState: string; dlqId: string }[] }>(
        'GET',
        '/v2/workflows/dlq',
      );
      return json.messages[0]?.failureFunctionState ?? '';
    };
    await expect.poll(state).toBe('CALLBACK_INPROGRESS');
    const [run] = service.emulator.workflowDlq(ACCOUNT);
    const path = `POST /workflow-dlq/${run!.dlqId}/cancel-failure-function`;
    expect(await control(service, path)).toMatchObject({ status: 200 });
    expect(await control(service, path)).toMatchObject({
      status: 409,
      json: { error: expect.stringContaining('is already being canceled') },
    });
    // The call that hangs reaches its timeout, so it has ended.
    await control(service, 'POST /clock/advance', { ms: 3 * HOUR, patienceMs: 20 });
    expect(await state()).toBe('CALLBACK_CANCELED');
  });

  test('a paused key holds its messages, reports it, and releases them in order', async () => {
    const { sink, service } = await controlledWithSink();
    const flow = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'parallelism=1' };
    expect((await control(service, 'POST /flow-control/k', { paused: true })).json).toMatchObject({ isPaused: true });
    for (const name of ['a', 'b', 'c']) await publish(service, `${sink.url}/${name}`, flow);
    await publish(service, `${sink.url}/other`);
    await control(service, 'POST /clock/advance', { ms: 24 * HOUR });
    expect(sink.requests.map((request) => request.url)).toEqual(['/other']);
    const told = async () => (await service.call('GET', '/v2/flowControl/k')).json;
    expect(await told()).toMatchObject({ waitListSize: 3, parallelismCount: 0, isPaused: true });
    await control(service, 'POST /flow-control/k', { paused: false });
    await service.emulator.idle();
    expect(sink.requests.slice(1).map((request) => request.url)).toEqual(['/a', '/b', '/c']);
    expect(await told()).toMatchObject({ waitListSize: 0, isPaused: false, parallelismMax: 1 });
  });

  test('an account becomes passive, being suspended, or of an enterprise, and works again when active', async () => {
    const service = await controlled();
    const change = (to: object) => control(service, `POST /accounts/${ACCOUNT}`, to);
    const record = async () =>
      (await service.call('POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`, { headers: MANAGER })).json;
    expect((await change({ state: 'passive' })).status).toBe(200);
    expect((await service.call('GET', '/v2/topics')).status).toBe(403);
    await change({ state: 'active', modifyingState: 'suspended' });
    expect((await service.call('GET', '/v2/topics')).status).toBe(403);
    expect((await control(service, 'GET /state')).json).toMatchObject({ accounts: [{ state: 'active' }] });
    await change({ modifyingState: null, plan: 'enterprise', enterpriseId: 'ent-1' });
    expect((await service.call('GET', '/v2/topics')).status).toBe(200);
    const enterprise = await record();
    expect(enterprise).toMatchObject({ state: 'active', reserved_type: 'enterprise:ent-1' });
    expect(enterprise).not.toHaveProperty('modifying_state');
  });

  test('pinned limits of a key apply, whatever messages request', async () => {
    const { sink, service } = await controlledWithSink();
    await control(service, 'POST /flow-control/k', { parallelism: 2, rate: { max: 1, periodMs: 60_000 } });
    const flow = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'parallelism=9, rate=100, period=1s' };
    for (const name of ['a', 'b', 'c']) await publish(service, `${sink.url}/${name}`, flow);
    await control(service, 'POST /clock/advance', { ms: 61_000 });
    expect(sink.requests).toHaveLength(2);
    expect((await service.call('GET', '/v2/flowControl/k')).json).toMatchObject({
      parallelismMax: 2,
      isPinnedParallelism: true,
      rateMax: 1,
      ratePeriod: 60,
      isPinnedRate: true,
      isPaused: false,
      waitListSize: 1,
    });
    const free = await control(service, 'POST /flow-control/k', { parallelism: null, rate: null });
    expect(free.json).toMatchObject({
      parallelismMax: 9,
      rateMax: 100,
      isPinnedParallelism: false,
      isPinnedRate: false,
    });
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(3);
  });
});

describe('the whole service over the control API', () => {
  test('a reset discards everything but the time, and aborts deliveries in progress', async () => {
    const { sink, service } = await controlledWithSink(() => new Promise(() => undefined));
    await service.call('POST', '/v2/topics/g/endpoints', {
      body: JSON.stringify({ endpoints: [{ url: `${sink.url}/a`, name: 'a' }] }),
    });
    await publish(service, `${sink.url}/hangs`, { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'rate=1' });
    await publish(service, `${sink.url}/later`, { 'Svc-Delay': '1h', 'Svc-Deduplication-Id': 'd' });
    await control(service, 'POST /switches', { logOrder: 'oldest' });
    await control(service, 'POST /faults', { fault: { kind: 'status', status: 503 }, operations: ['list-url-groups'] });
    await control(service, 'POST /destinations', { place: 'a.invalid', steps: [200] });
    const rotated = await service.call<{ token: string }>('POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`, {
      headers: MANAGER,
    });
    await service.emulator.control.advance({ ms: 60_000, patienceMs: 10 });

    expect(await control(service, 'POST /reset')).toEqual({ status: 200, json: { ok: true } });
    const { json } = await control(service, 'GET /state');
    expect(json).toMatchObject({
      clock: { now: START + 60_000, timers: 0 },
      switches: { logOrder: 'newest' },
      faults: 0,
      accounts: [
        {
          id: ACCOUNT,
          messages: {},
          newest: [],
          logEntries: 0,
          dlq: [],
          workflowDlq: [],
          flowControl: [],
          urlGroups: [],
        },
      ],
    });
    expect((await control<{ requests: [] }>(service, 'GET /requests')).json.requests).toEqual([]);
    // The first token is valid again, the later one is not.
    expect((await service.call('GET', '/v2/topics')).json).toEqual([]);
    const stale = { headers: { Authorization: `Bearer ${rotated.json.token}` } };
    expect((await service.call('GET', '/v2/topics', stale)).status).toBe(401);
    const stats = await service.call<AccountStatsJson>('GET', `/v2/msgsvc/stats/${ACCOUNT}`, { headers: MANAGER });
    expect(stats.json.daily_requests.every((point) => point.y === 0)).toBe(true);
    // The service works as before.
    sink.answerWith((_request, response) => void response.end());
    const id = await publish(service, `${sink.url}/again`, { 'Svc-Deduplication-Id': 'd' });
    await service.emulator.idle();
    expect(await statesOf(service, id)).toEqual(['CREATED', 'ACTIVE', 'DELIVERED']);
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(1);
    // The scripted destination no longer exists.
    const gone = await publish(service, 'http://a.invalid/', { 'Svc-Retries': '0' });
    await service.emulator.idle();
    expect((await statesOf(service, gone)).at(-1)).toBe('FAILED');
  });

  test('a seed creates groups, indexes and failures, and its failed runs can be resumed', async () => {
    const { sink, service } = await controlledWithSink();
    const seeded = await control<{ dlqIds: string[]; indexIds: string[] }>(service, 'POST /seed', {
      urlGroups: [{ name: 'g', endpoints: [{ url: `${sink.url}/a`, name: 'a' }, { url: `${sink.url}/b` }] }],
      indexes: [{ name: 'books' }],
      vectorIndexes: ['v-1'],
      deadLetters: [{ url: `${sink.url}/dead`, status: 500, count: 3 }],
      failedRuns: [{ url: `${sink.url}/run`, labels: ['billing'], agoMs: HOUR, flowControlKey: 'k' }],
    });
    expect([seeded.json.dlqIds.length, seeded.json.indexIds.length]).toEqual([4, 1]);
    expect((await service.call('GET', '/v2/topics')).json).toMatchObject([{ name: 'g', endpoints: [{}, {}] }]);
    const runs = await service.call<{ messages: object[] }>('GET', '/v2/workflows/dlq?label=billing');
    expect(runs.json.messages).toMatchObject([{ createdAt: START - HOUR, flowControlKey: 'k', labels: ['billing'] }]);
    const path = `/v2/msgsvc/stats/${ACCOUNT}`;
    const stats = await service.call<AccountStatsJson>('GET', path, { headers: MANAGER });
    expect(stats.json.dlq_message_count).toBe(3);
    for (const id of [seeded.json.indexIds[0], 'v-1']) {
      const vectors = await service.call('GET', `/v2/vector/index/${id}/stats`, { headers: MANAGER });
      expect(vectors.status).toBe(200);
    }
    await service.call('POST', '/v2/workflows/dlq/resume?label=billing');
    await service.emulator.idle();
    expect(sink.requests.map((request) => request.url)).toEqual(['/run']);
  });

  test('a month of history ends now, and log and statistics agree on its last minutes', async () => {
    const service = await controlled();
    const seeded = await control<{ history: { messages: number; logEntries: number } }>(service, 'POST /seed', {
      history: { logMinutes: 3, deadLetters: 7 },
    });
    const json = seeded.json.history;
    expect(json.messages).toBeGreaterThan(1_000_000);
    const stats = (
      await service.call<AccountStatsJson>('GET', `/v2/msgsvc/stats/${ACCOUNT}?period=1h`, { headers: MANAGER })
    ).json;
    expect(stats.dlq_message_count).toBeGreaterThanOrEqual(7);
    const entries = await allLogs(service);
    expect(entries).toHaveLength(json.logEntries);
    const times = entries.map((entry) => entry.time);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(Math.min(...times)).toBeGreaterThanOrEqual(START - 3 * 60_000);
    expect(Math.max(...times)).toBeLessThan(START);
    // The minute of now is left to real events.
    const last = (points: readonly { y: number }[]): number =>
      points.slice(-4, -1).reduce((sum, point) => sum + point.y, 0);
    const series = (id: string): number =>
      last(stats.daily_msgsvc_messages.find((one) => one.id === id)!.data_points) +
      last(stats.daily_workflow_messages.find((one) => one.id === id)!.data_points);
    const count = (state: string): number => entries.filter((entry) => entry.state === state).length;
    expect(count('ACTIVE')).toBe(last(stats.daily_used) + last(stats.daily_used_workflow));
    expect(count('DELIVERED')).toBe(series('delivered'));
    expect(count('ERROR')).toBe(series('error'));
    expect(count('RETRY')).toBe(series('retry'));
    expect(service.emulator.workflowDlq(ACCOUNT).length).toBeGreaterThanOrEqual(7);
  });

  test('the state counts messages, and lists dead letters and keys', async () => {
    const sink = await httpSink(
      (request, response) => void response.writeHead(request.url === '/bad' ? 500 : 200).end(),
    );
    const service = await controlled();
    const flow = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'parallelism=2' };
    await publish(service, `${sink.url}/good`, flow);
    const bad = await publish(service, `${sink.url}/bad`, { 'Svc-Retries': '0' });
    await publish(service, `${sink.url}/later`, { 'Svc-Delay': '1h' });
    await service.emulator.idle();
    const { json } = await control(service, 'GET /state');
    expect(json).toMatchObject({
      accounts: [
        {
          messages: { DELIVERED: 1, FAILED: 1, CREATED: 1 },
          newest: [{ state: 'DELIVERED' }, { state: 'FAILED', lastStatus: 500 }, { state: 'CREATED' }],
          dlq: [{ messageId: bad, failedAt: START }],
          flowControl: [{ flowControlKey: 'k', parallelismMax: 2, waitListSize: 0 }],
        },
      ],
    });
  });

  test('destinations follow a script, and report their requests', async () => {
    const service = await controlled();
    await control(service, 'POST /destinations', {
      place: 'shop.example',
      steps: [503, { status: 200, afterMs: 5_000 }],
    });
    const id = await publish(service, 'https://shop.example/orders');
    await control(service, 'POST /clock/advance', { ms: HOUR });
    expect(await statesOf(service, id)).toEqual(['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'DELIVERED']);
    const { json } = await control<{ requests: object[] }>(service, 'GET /destinations/shop.example/requests');
    expect(json.requests).toMatchObject([{ path: '/orders', body: '{}' }, { path: '/orders' }]);
    await control(service, 'DELETE /destinations/shop.example');
    expect((await control(service, 'GET /destinations/shop.example/requests')).json).toEqual({ requests: [] });
  });
});

describe('switches at run time', () => {
  test('the log has each message once: its present state at the time of its creation', async () => {
    const sink = await httpSink((request, response) => void response.writeHead(request.url === '/a' ? 200 : 500).end());
    const service = await controlled();
    const good = await publish(service, `${sink.url}/a`);
    const bad = await publish(service, `${sink.url}/b`, { 'Svc-Retries': '1' });
    await service.emulator.advance(HOUR);
    await control(service, 'POST /switches', { logEntries: 'at-creation' });
    const entries = await allLogs(service);
    expect(entries.map(({ messageId, time, state }) => [messageId, time, state])).toEqual([
      [bad, START, 'FAILED'],
      [good, START, 'DELIVERED'],
    ]);
    expect(entries[0]).toMatchObject({ responseStatus: 500, error: 'destination answered 500' });
    expect(await allLogs(service, 'state=DELIVERED')).toMatchObject([{ messageId: good }]);
    expect(await allLogs(service, 'state=CREATED')).toEqual([]);
  });
});
