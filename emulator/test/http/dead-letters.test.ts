/** Both dead letter queues: what enters, how it is listed, resumed and deleted. */
import { describe, expect, test } from 'vitest';
import { httpSink, type HttpSink } from '../../../test/support/http-sink.ts';
import { ACCOUNT, allLogs, START, world, type World, worldWithSink } from '../world.ts';

interface Entry {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly [field: string]: unknown;
}

interface Page {
  readonly cursor?: string;
  readonly messages: readonly Entry[];
}

interface Resumed {
  readonly workflowRuns: readonly { readonly workflowRunId: string; readonly workflowCreatedAt: number }[];
  readonly cursor: string;
}

/** Starts a destination that fails until it is set to succeed. */
async function broken(): Promise<HttpSink> {
  return httpSink((_request, response) => void response.writeHead(503, { 'Content-Type': 'text/plain' }).end('down'));
}

/** Runs one minute apart: to /a with label x and key k, to /b with labels x,y and a failure callback, to /a again. */
async function failedRuns(options: Parameters<typeof world>[0] = {}) {
  const sink = await broken();
  const callbacks = await httpSink();
  const service = await world(options);
  const trigger = async (path: string, headers: Record<string, string>) => {
    const answer = await service.call('POST', `/v2/trigger/${sink.url}${path}`, {
      headers: { 'Svc-Retries': '0', 'Content-Type': 'text/plain', ...headers },
      body: `payload of ${path}`,
    });
    expect(answer.status).toBe(200);
    await service.emulator.idle();
    await service.clock.advance(60_000);
  };
  await trigger('/a', {
    'Svc-Workflow-RunId': 'run-1',
    'Svc-Label': 'x',
    'Svc-Flow-Control-Key': 'k',
    'Svc-Flow-Control-Value': 'parallelism=1',
  });
  await trigger('/b', { 'Svc-Workflow-RunId': 'run-2', 'Svc-Label': 'x,y', 'Svc-Failure-Callback': callbacks.url });
  await trigger('/a', { 'Svc-Workflow-RunId': 'run-3' });
  return { service, sink, callbacks };
}

async function list(service: World, query = ''): Promise<Page> {
  const answer = await service.call<Page>('GET', `/v2/workflows/dlq?${query}`);
  expect(answer.status).toBe(200);
  return answer.json;
}

const runs = (page: Page): readonly string[] => page.messages.map((entry) => entry.workflowRunId);

describe('a run', () => {
  test('is accepted with its id or a random one', async () => {
    const { sink, service } = await worldWithSink();
    const named = await service.call('POST', `/v2/trigger/${sink.url}/w?v=1`, {
      headers: { 'Svc-Workflow-RunId': 'mine' },
    });
    expect(named.json).toEqual({ workflowRunId: 'mine', workflowCreatedAt: START });
    const random = await service.call('POST', `/v2/trigger/${sink.url}/w?v=1`);
    expect(random.json).toEqual({ workflowRunId: expect.stringMatching(/^wfr_\w{20,}$/), workflowCreatedAt: START });
    await service.emulator.idle();
    expect(sink.requests.map((request) => [request.url, request.headers['svc-workflow-runid']])).toContainEqual([
      '/w?v=1',
      'mine',
    ]);
  });

  test('has three retries on every plan', async () => {
    const sink = await broken();
    const service = await world();
    expect((await service.call('POST', `/v2/trigger/${sink.url}/w`)).status).toBe(200);
    await service.drain();
    expect(sink.requests).toHaveLength(4);
    expect(await list(service)).toMatchObject({ messages: [{ maxRetries: 3 }] });
  });

  test('that fails permanently is listed with all fields', async () => {
    const { service, sink, callbacks } = await failedRuns();
    const { messages } = await list(service);
    expect(messages[0]).toEqual({
      dlqId: expect.any(String),
      workflowUrl: `${sink.url}/a`,
      workflowRunId: 'run-1',
      workflowCreatedAt: START,
      url: `${sink.url}/a`,
      method: 'POST',
      header: { 'Content-Type': ['text/plain'], 'Svc-Workflow-RunId': ['run-1'], 'Svc-Flow-Control-Key': ['k'] },
      body: 'payload of /a',
      maxRetries: 0,
      createdAt: START,
      callerIP: '127.0.0.1',
      label: 'x',
      labels: ['x'],
      flowControlKey: 'k',
      responseStatus: 503,
      responseHeader: expect.objectContaining({ 'Content-Type': ['text/plain'] }),
      responseBody: 'down',
    });
    expect(messages[1]).toMatchObject({
      failureCallback: callbacks.url,
      failureFunctionState: 'CALLBACK_SUCCESS',
      createdAt: START + 60_000,
    });
    expect(callbacks.requests.map((request) => JSON.parse(request.body.toString()) as object)).toMatchObject([
      { dlqId: messages[1]!.dlqId, status: 503 },
    ]);
    expect(service.emulator.workflowDlq(ACCOUNT).map((run) => run.dlqId)).toEqual(messages.map((entry) => entry.dlqId));
  });

  test('failed later than it began: both times are listed', async () => {
    const sink = await broken();
    const service = await world();
    await service.call('POST', `/v2/trigger/${sink.url}/`, {
      headers: { 'Svc-Retries': '1', 'Svc-Retry-Delay': '5000' },
    });
    await service.drain();
    expect((await list(service)).messages).toMatchObject([{ workflowCreatedAt: START, createdAt: START + 5_000 }]);
  });

  test('the state of a failing failure callback, in both forms', async () => {
    const sink = await broken();
    const service = await world({ switches: { failureState: 'info' } });
    const headers = { 'Svc-Retries': '1', 'Svc-Retry-Delay': '60000', 'Svc-Failure-Callback': sink.url };
    await service.call('POST', `/v2/trigger/${sink.url}/w`, { headers });
    await service.drain(60_000);
    expect((await list(service)).messages).toMatchObject([{ failureCallbackInfo: { state: 'CALLBACK_INPROGRESS' } }]);
    await service.drain();
    expect((await list(service)).messages).toMatchObject([{ failureCallbackInfo: { state: 'CALLBACK_FAIL' } }]);
  });
});

describe('listing', () => {
  test.each([
    ['', ['run-1', 'run-2', 'run-3']],
    ['label=y&label=z', ['run-2']],
    ['label=y,x&flowControlKey=k', ['run-1']],
    ['workflowUrl=URL/a', ['run-1', 'run-3']],
    ['workflowUrl=URL/a,URL/b', ['run-1', 'run-2', 'run-3']],
    ['workflowUrl=URL/', []],
    ['workflowUrl=URL/a,,', ['run-1', 'run-3']],
    ['workflowUrl=,', ['run-1', 'run-2', 'run-3']],
    [`fromDate=${START}&toDate=${START + 60_000}`, ['run-1', 'run-2']],
    ['failureFunctionState=CALLBACK_SUCCESS,CALLBACK_FAIL', ['run-2']],
    ['flowControlKey=k&flowControlKey=other', ['run-1']],
  ])('%s', async (query, expected) => {
    const { service, sink } = await failedRuns();
    expect(runs(await list(service, query.replaceAll('URL', sink.url)))).toEqual(expected);
  });

  test.each(['URL/a,b?c=,d', 'URL/a?next=x,https://b.example/'])('a URL with a comma is found: %s', async (path) => {
    const { sink, service } = await worldWithSink((_request, response) => void response.writeHead(503).end());
    const url = path.replace('URL', sink.url);
    const headers = { 'Svc-Retries': '0' };
    await service.call('POST', `/v2/trigger/${url}`, { headers });
    await service.call('POST', `/v2/publish/${url}`, { headers });
    await service.call('POST', `/v2/trigger/${sink.url}/other`, { headers });
    await service.drain();
    const found = async (line: string): Promise<number> => {
      const { json } = await service.call('GET', line);
      return (json['messages'] as readonly unknown[]).length;
    };
    const encoded = encodeURIComponent(url);
    expect(await found(`/v2/workflows/dlq?workflowUrl=${encoded}`)).toBe(1);
    expect(await found(`/v2/workflows/dlq?workflowUrl=${sink.url}/none&workflowUrl=${encoded}`)).toBe(1);
    expect(await allLogs(service, `url=${encoded}&state=CREATED`)).toHaveLength(2);
    expect((await service.call('DELETE', `/v2/dlq?url=${encoded}`)).json).toEqual({ deleted: 1 });
    expect(
      await found(`/v2/workflows/dlq?workflowUrl=${encodeURIComponent(`${sink.url}/other,${sink.url}/none`)}`),
    ).toBe(1);
  });

  test('pages return each entry once while some are removed in between', async () => {
    const { service } = await failedRuns();
    const first = await list(service, 'count=1');
    expect(runs(first)).toEqual(['run-1']);
    await service.call('DELETE', `/v2/workflows/dlq?dlqIds=${first.messages[0]!.dlqId}`);
    const second = await list(service, `count=1&cursor=${first.cursor}`);
    const third = await list(service, `count=1&cursor=${second.cursor}`);
    expect([...runs(second), ...runs(third), third.cursor]).toEqual(['run-2', 'run-3', undefined]);
  });

  test('old entries expire silently', async () => {
    const { service } = await failedRuns({ dlqRetentionMs: 3_600_000 });
    await service.clock.advance(3_600_000 - 120_000);
    expect(runs(await list(service))).toEqual(['run-2', 'run-3']);
    await service.clock.advance(3_600_000);
    expect(service.emulator.workflowDlq(ACCOUNT)).toEqual([]);
  });
});

describe('resuming', () => {
  const resume = (service: World, query: string, headers: Record<string, string> = {}) =>
    service.call<Resumed>('POST', `/v2/workflows/dlq/resume?${query}`, { headers });

  test('delivers the whole run again under a new run id, with its settings', async () => {
    const { service, sink } = await failedRuns();
    const [entry] = (await list(service)).messages;
    sink.answerWith((_request, response) => void response.end());
    sink.requests.length = 0;
    // Other filters are ignored when ids are given.
    const answer = await resume(service, `dlqIds=${entry!.dlqId}&label=none&workflowRunId=run-2`);
    await service.drain();
    const { workflowRunId } = answer.json.workflowRuns[0]!;
    expect(answer.json).toEqual({
      workflowRuns: [{ workflowRunId: expect.stringMatching(/^wfr_/), workflowCreatedAt: START + 180_000 }],
      cursor: '',
    });
    expect(sink.requests).toHaveLength(1);
    expect(sink.requests[0]).toMatchObject({
      url: '/a',
      headers: { 'svc-workflow-runid': workflowRunId, 'svc-retried': '0' },
    });
    expect(sink.requests[0]!.body.toString()).toBe('payload of /a');
    expect(runs(await list(service))).toEqual(['run-2', 'run-3']);
    const resumed = service.emulator.messages(ACCOUNT).at(-1);
    expect(resumed).toMatchObject({ state: 'DELIVERED', labels: ['x'], flowControlKey: 'k', workflowRunId });
    const created = service.facts.filter((fact) => fact.kind === 'created' && fact.workflow && fact.run);
    expect(created).toHaveLength(4);
  });

  test('a run that fails again returns under a new dlqId', async () => {
    const { service } = await failedRuns();
    const [entry] = (await list(service)).messages;
    const answer = await resume(service, `dlqIds=${entry!.dlqId}`);
    expect(runs(await list(service))).toEqual(['run-2', 'run-3']);
    await service.drain();
    const back = (await list(service)).messages.at(-1)!;
    expect(back.workflowRunId).toBe(answer.json.workflowRuns[0]!.workflowRunId);
    expect(back.dlqId).not.toBe(entry!.dlqId);
    // The old id is unknown now.
    expect((await resume(service, `dlqIds=${entry!.dlqId}`)).json).toEqual({ workflowRuns: [], cursor: '' });
  });

  test('overrides replace the settings of the run', async () => {
    const { service, sink, callbacks } = await failedRuns();
    const [entry] = (await list(service)).messages;
    sink.requests.length = 0;
    const resumed = await resume(service, `dlqIds=${entry!.dlqId}`, {
      'Svc-Retries': '2',
      'Svc-Retry-Delay': '7000',
      'Svc-Delay': '1h',
      'Svc-Label': 'new,other',
      'Svc-Flow-Control-Key': 'k2',
      'Svc-Flow-Control-Value': 'rate=5',
      'Svc-Failure-Callback': `${callbacks.url}/new`,
    });
    expect(resumed.status).toBe(200);
    const resumedAt = service.clock.now();
    await service.drain();
    expect(sink.requests).toHaveLength(3);
    const active = (await allLogs(service, 'label=new&state=ACTIVE')).toReversed();
    expect(active.map((log) => log.time - resumedAt)).toEqual([3_600_000, 3_607_000, 3_614_000]);
    const back = (await list(service)).messages.at(-1);
    expect(back).toMatchObject({
      labels: ['new', 'other'],
      flowControlKey: 'k2',
      maxRetries: 2,
      failureCallback: `${callbacks.url}/new`,
    });
    expect(callbacks.requests.map((request) => request.url)).toContain('/new');
  });

  test('labels may be added and run ids kept instead', async () => {
    const { service } = await failedRuns({ switches: { labelOverride: 'adds', resumeRunIds: 'keep' } });
    const answer = await resume(service, 'workflowRunId=run-1', { 'Svc-Label': 'new,x' });
    expect(answer.json.workflowRuns).toEqual([{ workflowRunId: 'run-1', workflowCreatedAt: START }]);
    expect(service.emulator.messages(ACCOUNT).at(-1)).toMatchObject({ labels: ['x', 'new'], workflowRunId: 'run-1' });
    expect(service.facts.filter((fact) => fact.kind === 'created' && fact.run)).toHaveLength(3);
  });

  test('by filter, a few at a time by cursor, until the cursor is empty', async () => {
    const { service } = await failedRuns();
    const first = await resume(service, 'count=1&label=x', { 'Svc-Delay': '1d' });
    expect(first.json.workflowRuns).toHaveLength(1);
    expect(first.json.cursor).not.toBe('');
    const second = await resume(service, `count=1&label=x&cursor=${first.json.cursor}`, { 'Svc-Delay': '1d' });
    expect(second.json).toMatchObject({ workflowRuns: [{}], cursor: '' });
    expect(runs(await list(service))).toEqual(['run-3']);
  });

  test.each(['', 'dlqIds=', 'dlqIds=,'])('with no filter ("%s") everything is resumed', async (query) => {
    const { service } = await failedRuns();
    expect((await resume(service, query, { 'Svc-Delay': '1d' })).json.workflowRuns).toHaveLength(3);
    expect(runs(await list(service))).toEqual([]);
  });

  test.each([
    ['dlqIdz=1', {}, 400],
    ['label=x', { 'Svc-Retries': 'x' }, 400],
    ['label=x', { 'Svc-Flow-Control-Key': 'k' }, 400],
    ['label=x&count=0', {}, 400],
  ])('rejected, and nothing is resumed: %s %j', async (query, headers, status) => {
    const { service } = await failedRuns();
    expect((await resume(service, query, headers as Record<string, string>)).status).toBe(status);
    expect(runs(await list(service))).toHaveLength(3);
  });
});

describe('deleting runs', () => {
  test('by ids, repeated or with commas; unknown ones are not counted', async () => {
    // No cursor is returned, even where a listing ends with an empty one.
    const { service } = await failedRuns({ switches: { endCursor: 'empty' } });
    const [one, two] = (await list(service)).messages;
    const answer = await service.call(
      'DELETE',
      `/v2/workflows/dlq?dlqIds=${one!.dlqId},unknown&dlqIds=${two!.dlqId}&label=none`,
    );
    expect(answer.json).toEqual({ deleted: 2 });
    expect(runs(await list(service))).toEqual(['run-3']);
  });

  test('by filter, all at once or a few by cursor', async () => {
    const { service } = await failedRuns({ switches: { endCursor: 'empty' } });
    const first = await service.call<{ cursor: string }>('DELETE', '/v2/workflows/dlq?count=1&label=x,y');
    expect(first.json).toMatchObject({ deleted: 1, cursor: expect.stringMatching(/./) });
    const rest = await service.call('DELETE', `/v2/workflows/dlq?label=x,y&cursor=${first.json.cursor}`);
    expect(rest.json).toEqual({ deleted: 1, cursor: '' });
    expect((await service.call('DELETE', '/v2/workflows/dlq')).json).toEqual({ deleted: 1, cursor: '' });
  });
});

describe('deleting messages', () => {
  async function failedMessages() {
    const sink = await httpSink((request, response) => void response.writeHead(Number(request.url.slice(1))).end());
    const service = await world();
    const endpoints = [{ url: `${sink.url}/410` }];
    await service.call('POST', '/v2/topics/group/endpoints', { body: JSON.stringify({ endpoints }) });
    const publish = async (destination: string, headers: Record<string, string>) => {
      await service.call('POST', `/v2/publish/${destination}`, { headers: { 'Svc-Retries': '0', ...headers } });
      await service.emulator.idle();
      await service.clock.advance(60_000);
    };
    await publish(`${sink.url}/500`, { 'Svc-Label': 'x' });
    await publish(`${sink.url}/404`, { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'rate=9' });
    await publish('group', {});
    await publish('http://nowhere.invalid/', {});
    return { service, sink };
  }

  test.each([
    ['', 4],
    ['responseStatus=500', 1],
    ['responseStatus=500,404&responseStatus=410', 3],
    ['responseStatus=500&label=y', 0],
    ['label=x', 1],
    ['flowControlKey=k', 1],
    ['topicName=group', 1],
    ['queueName=q', 0],
    ['scheduleId=s', 0],
    ['callerIp=127.0.0.1', 4],
    ['url=URL/404,URL/500', 2],
    [`fromDate=${START + 60_000}&toDate=${START + 120_000}`, 2],
  ])('%s: %d', async (query, deleted) => {
    const { service, sink } = await failedMessages();
    const answer = await service.call('DELETE', `/v2/dlq?${query.replaceAll('URL', sink.url)}`);
    expect(answer.json).toEqual({ deleted });
    expect((await service.call('DELETE', '/v2/dlq')).json).toEqual({ deleted: 4 - deleted });
  });

  test('by id, by message, and in pages; runs are in the other queue', async () => {
    const { service, sink } = await failedMessages();
    await service.call('POST', `/v2/trigger/${sink.url}/500`, { headers: { 'Svc-Retries': '0' } });
    await service.emulator.idle();
    const [one, two] = service.emulator.messages(ACCOUNT);
    expect((await service.call('DELETE', `/v2/dlq?dlqIds=${one!.dlqId}&label=none`)).json).toEqual({ deleted: 1 });
    expect((await service.call('DELETE', `/v2/dlq?messageId=${two!.id}`)).json).toEqual({ deleted: 1 });
    const page = await service.call<{ cursor: string }>('DELETE', '/v2/dlq?count=1');
    expect(page.json).toEqual({ deleted: 1, cursor: expect.any(String) });
    expect((await service.call('DELETE', `/v2/dlq?count=1&cursor=${page.json.cursor}`)).json).toEqual({ deleted: 1 });
    expect((await service.call('DELETE', '/v2/dlq?count=101')).status).toBe(400);
    expect(runs(await list(service))).toHaveLength(1);
  });
});
