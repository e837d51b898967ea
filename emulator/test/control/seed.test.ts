/** Seeded failures: log, statistics and queues treat them as any others. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccountStatsJson } from '#emulator/statistics/account-stats.ts';
import { control, controlled } from '../controlled.ts';
import { ACCOUNT, allLogs, MANAGER, START, statesOf, type World } from '../world.ts';

const HOUR = 3_600_000;
const STATES = ['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'] as const;
const URL_OF_RUN = 'http://flows.example/run';

const seed = (service: World, body: object) => control<never>(service, 'POST /seed', body);

async function statistics(service: World, period = '1h'): Promise<AccountStatsJson> {
  const path = `/v2/msgsvc/stats/${ACCOUNT}?period=${period}`;
  return (await service.call<AccountStatsJson>('GET', path, { headers: MANAGER })).json;
}

/** Returns the sums of the named series, for both kinds of messages or for one. */
function sums(stats: AccountStatsJson, kinds: readonly ('msgsvc' | 'workflow')[] = ['msgsvc', 'workflow']) {
  const result: Record<string, number> = {};
  for (const kind of kinds) {
    for (const { id, data_points } of stats[`daily_${kind}_messages`]) {
      result[id] = data_points.reduce((sum, { y }) => sum + y, result[id] ?? 0);
    }
  }
  return result;
}

interface Run {
  readonly dlqId: string;
  readonly failureFunctionState?: string;
}

async function failedRuns(service: World, query = ''): Promise<readonly Run[]> {
  return (await service.call<{ messages: readonly Run[] }>('GET', `/v2/workflows/dlq?${query}`)).json.messages;
}

test('failures count at their seeded time, with every attempt', async () => {
  const service = await controlled();
  const { json } = await seed(service, {
    deadLetters: [{ url: URL_OF_RUN, count: 3, agoMs: 600_000, body: '12345', responseBody: 'no' }],
    failedRuns: [{ url: URL_OF_RUN, count: 2, agoMs: 26 * HOUR }],
  });
  const hour = await statistics(service);
  expect(sums(hour)).toEqual({ created: 3, delivered: 0, error: 12, retry: 9, failed: 3, canceled: 0 });
  const counted = hour.daily_used.filter(({ y }) => y > 0);
  expect(counted).toEqual([{ x: '2026-11-20 11:50:00.000000000 +0000 UTC', y: 12 }]);
  expect(hour.daily_used_workflow.every(({ y }) => y === 0)).toBe(true);
  expect(sums(await statistics(service, '3d'), ['workflow'])).toMatchObject({ created: 2, error: 8, failed: 2 });
  const days = hour.daily_requests.filter(({ y, workflow_run: runs }) => y + runs > 0);
  expect(days).toEqual([
    { x: '2026-11-19 00:00:00.000000000 +0000 UTC', y: 8, workflow_message: 8, workflow_run: 2 },
    { x: '2026-11-20 00:00:00.000000000 +0000 UTC', y: 12, workflow_message: 0, workflow_run: 0 },
  ]);
  // Five bytes at the creation, and seven at each attempt.
  expect(hour.daily_bandwidths.at(19)?.y).toBe(3 * (5 + 4 * 7));
  expect(json).toMatchObject({ dlqIds: { length: 5 } });
});

test('the log has every attempt, in the order of time', async () => {
  const service = await controlled();
  await seed(service, {
    deadLetters: [{ url: URL_OF_RUN, status: 503, agoMs: 1_000 }],
    failedRuns: [{ url: URL_OF_RUN, agoMs: 2_000 }],
  });
  const [run, dead] = service.emulator.messages(ACCOUNT);
  const attempts = [...Array.from({ length: 3 }, () => ['ACTIVE', 'ERROR', 'RETRY']).flat(), 'ACTIVE', 'ERROR'];
  expect(await statesOf(service, dead!.id)).toEqual(['CREATED', ...attempts, 'FAILED']);
  expect([run!.attempts, dead!.lastStatus]).toEqual([4, 503]);
  const times = (await allLogs(service)).map(({ time }) => time);
  expect(times).toEqual(times.toSorted((a, b) => b - a));
});

test('ids are in the order of the request, whatever the order of the failures', async () => {
  const service = await controlled();
  const { dlqIds } = await service.emulator.control.seed({
    deadLetters: [{ url: 'http://a.example/' }, { url: 'http://b.example/', agoMs: HOUR }],
    failedRuns: [{ url: 'http://c.example/' }],
  });
  const { dlq, workflowDlq } = service.emulator.control.state().accounts[0]!;
  const urls = new Map([...dlq, ...workflowDlq].map(({ dlqId, url }) => [dlqId, url]));
  expect(dlqIds.map((id) => urls.get(id))).toEqual(['http://a.example/', 'http://b.example/', 'http://c.example/']);
  // Oldest first.
  expect(dlq.map(({ url }) => url)).toEqual(['http://b.example/', 'http://a.example/']);
});

test('groups, keys, limits, destinations and messages of a seed are those of requests', async () => {
  const service = await controlled({ enforceLimits: true, headerPrefix: 'Acme' });
  const { status, json } = await seed(service, {
    startAt: '2026-11-20T13:00:00+01:00',
    plan: 'free',
    budgetUsd: 7,
    limits: { max_retries: 1 },
    urlGroups: [{ name: 'orders', endpoints: [{ url: 'http://a.example/orders' }, { url: 'http://b.example/' }] }],
    flowControlKeys: [{ key: 'billing', paused: true }],
    destinations: { 'a.example/orders': [503, 200], 'b.example': [{ status: 204 }] },
    messages: [
      { destination: 'orders', body: 'hej', headers: { 'X-Name': 'Jürgen' }, delay: '1h', retries: 1, label: 'é' },
      { destination: 'http://b.example/later', count: 2, flowControlKey: 'billing', flowControlValue: 'rate=1' },
      { destination: 'http://b.example/run', workflow: true },
    ],
  });
  expect(status).toBe(200);
  const { messageIds } = json as { readonly messageIds: readonly string[] };
  expect([messageIds.length, new Set(messageIds).size]).toEqual([5, 5]);
  await service.emulator.advance(24 * HOUR);
  const states = service.emulator.messages(ACCOUNT).map(({ url, state, attempts }) => [url, state, attempts]);
  expect(states).toEqual([
    ['http://a.example/orders', 'DELIVERED', 2],
    ['http://b.example/', 'DELIVERED', 1],
    ['http://b.example/later', 'CREATED', 0],
    ['http://b.example/later', 'CREATED', 0],
    ['http://b.example/run', 'DELIVERED', 1],
  ]);
  const [order] = service.emulator.destinations.requests('a.example');
  expect(order).toMatchObject({ at: START + HOUR, path: '/orders', headers: { 'x-name': 'Jürgen' } });
  expect([...service.emulator.state(ACCOUNT).messages.values()][0]!.delivery.labels).toEqual(['é']);
  const later = { 'Acme-Retries': '2' };
  expect(await service.call('POST', '/v2/publish/http://a.example/', { headers: later })).toMatchObject({
    status: 412,
    json: { error: expect.stringContaining('2, more than 1') as string },
  });
  const rotated = await service.call('POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`, { headers: MANAGER });
  expect(rotated.json).toMatchObject({ type: 'free', budget: 7, max_retries: 1, max_topics: 1 });
});

test('each dead letter has a unique id, across queues and concurrent failures', async () => {
  const service = await controlled();
  const failures = [{ url: URL_OF_RUN, count: 3 }];
  const { json } = await seed(service, { deadLetters: failures, failedRuns: failures });
  const { dlqIds } = json as { readonly dlqIds: readonly string[] };
  expect(new Set(dlqIds).size).toBe(6);
  expect((await failedRuns(service)).map(({ dlqId }) => dlqId)).toEqual(dlqIds.slice(3));
  // An id of one queue is unknown to the other.
  const remove = async (path: string, id: string) =>
    (await service.call('DELETE', `${path}?dlqIds=${id}`)).json['deleted'];
  expect(await remove('/v2/dlq', dlqIds[3]!)).toBe(0);
  expect(await remove('/v2/workflows/dlq', dlqIds[0]!)).toBe(0);
  expect(await remove('/v2/dlq', dlqIds[0]!)).toBe(1);
  expect(await remove('/v2/workflows/dlq', dlqIds[3]!)).toBe(1);
});

describe('the failure function of a seeded run', () => {
  test.each(STATES)('is %s, and the filter finds it', async (state) => {
    const service = await controlled();
    const others = STATES.filter((other) => other !== state).map((other) => ({
      url: URL_OF_RUN,
      failureFunctionState: other,
    }));
    const { json } = await seed(service, {
      failedRuns: [...others, { url: URL_OF_RUN }, { url: URL_OF_RUN, failureFunctionState: state, agoMs: HOUR }],
    });
    const { dlqIds } = json as { readonly dlqIds: readonly string[] };
    expect(await failedRuns(service, `failureFunctionState=${state}`)).toMatchObject([
      { dlqId: dlqIds[4], failureFunctionState: state },
    ]);
    const stateless = (await failedRuns(service)).filter((run) => run.failureFunctionState === undefined);
    expect(stateless.map(({ dlqId }) => dlqId)).toEqual([dlqIds[3]]);
  });

  test('is a separate message, with its own figures and dead letter', async () => {
    const service = await controlled();
    await seed(service, {
      failedRuns: STATES.map((failureFunctionState) => ({ url: URL_OF_RUN, failureFunctionState, status: 500 })),
    });
    const stats = await statistics(service);
    expect(sums(stats, ['workflow'])).toMatchObject({ created: 4, error: 16, failed: 4 });
    expect(sums(stats, ['msgsvc'])).toEqual({
      created: 4,
      delivered: 1,
      error: 4,
      retry: 3,
      failed: 1,
      canceled: 1,
    });
    expect(stats.dlq_message_count).toBe(1);
  });

  test('in progress can be canceled, otherwise it is called in an hour', async () => {
    const service = await controlled();
    await service.emulator.destinations.script('flows.example', [200]);
    const inProgress = { url: URL_OF_RUN, failureFunctionState: 'CALLBACK_INPROGRESS' as const };
    const { dlqIds } = await service.emulator.control.seed({ failedRuns: [inProgress, inProgress] });
    service.emulator.control.cancelFailureFunction({ dlqId: dlqIds[0]! });
    await service.emulator.advance(HOUR - 1);
    const states = async () => (await failedRuns(service)).map((run) => run.failureFunctionState);
    expect(await states()).toEqual(['CALLBACK_CANCELED', 'CALLBACK_INPROGRESS']);
    await service.emulator.advance(1);
    expect(await states()).toEqual(['CALLBACK_CANCELED', 'CALLBACK_SUCCESS']);
    const [call, ...more] = service.emulator.destinations.requests('flows.example');
    expect(more).toEqual([]);
    expect(call!.headers['svc-workflow-failure']).toBe('true');
    expect(JSON.parse(call!.body.toString())).toMatchObject({ dlqId: dlqIds[1], url: URL_OF_RUN });
  });

  test('has only states that the interface names, and no state for a plain message', async () => {
    const service = await controlled();
    const refused = [
      { failedRuns: [{ url: URL_OF_RUN, failureFunctionState: 'CALLBACK_LATE' }] },
      { deadLetters: [{ url: URL_OF_RUN, failureFunctionState: 'CALLBACK_FAIL' }] },
    ];
    for (const body of refused) {
      expect(await seed(service, body)).toEqual({
        status: 400,
        json: { error: expect.stringMatching(/failureFunctionState/) as string },
      });
    }
    expect(service.emulator.messages(ACCOUNT)).toEqual([]);
  });
});

test('with any seed, errors are retries and failures, and billed attempts are delivered or errors', async () => {
  const failure = fc.record({
    count: fc.integer({ min: 1, max: 4 }),
    status: fc.option(fc.constantFrom(404, 500), { nil: undefined }),
    agoMs: fc.integer({ min: 0, max: 20 * 24 * HOUR }),
    failureFunctionState: fc.option(fc.constantFrom(...STATES), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(failure, { maxLength: 4 }), fc.array(failure, { maxLength: 4 }), async (dead, runs) => {
      const service = await controlled();
      await using emulator = service.emulator;
      await emulator.control.seed({
        deadLetters: dead.map(({ count, agoMs }) => ({ url: URL_OF_RUN, count, agoMs })),
        failedRuns: runs.map((run) => ({ url: URL_OF_RUN, ...run })),
      });
      const stats = emulator.statistics.accountStats(ACCOUNT, '30d', START, 0);
      const all = sums(stats);
      expect(all['error']).toBe(all['retry']! + all['failed']!);
      const billed = [...stats.daily_used, ...stats.daily_used_workflow].reduce((sum, { y }) => sum + y, 0);
      expect(billed).toBe(all['delivered']! + all['error']!);
      const countOf = (list: readonly (typeof runs)[number][]): number =>
        list.reduce((sum, { count }) => sum + count, 0);
      const calls = runs.filter(({ failureFunctionState }) => failureFunctionState !== undefined);
      const lost = calls.filter(({ failureFunctionState }) => failureFunctionState === 'CALLBACK_FAIL');
      expect(all['created']).toBe(countOf([...dead, ...runs, ...calls]));
      expect(all['failed']).toBe(countOf([...dead, ...runs, ...lost]));
      expect(all['error']).toBe(4 * all['failed']!);
    }),
    { numRuns: 25 },
  );
});
