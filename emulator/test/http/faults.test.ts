import { describe, expect, test } from 'vitest';
import { EmulatorControl } from '#emulator/control/control.ts';
import type { RunOptions } from '#emulator/emulator-options.ts';
import { Faults, type OperationFaultRule } from '#emulator/http/faults.ts';
import type { ReceivedRequest, Route } from '#emulator/http/route.ts';
import type { AccountStatsJson } from '#emulator/statistics/account-stats.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { manage } from '../conformance-support.ts';
import { control, controlled } from '../controlled.ts';
import { ACCOUNT, allLogs, START, TOKEN, type LogPage, type WireLogEntry, type World } from '../world.ts';

interface Faulty extends World {
  readonly control: EmulatorControl;
  /** Adds a fault over the control API. */
  fault(rule: OperationFaultRule): Promise<string>;
}

async function faulty(options: Partial<RunOptions> = {}): Promise<Faulty> {
  const service = await controlled(options);
  return {
    ...service,
    control: service.emulator.control,
    async fault(rule) {
      const { status, json } = await control<{ id: string }>(service, 'POST /faults', rule);
      expect(status).toBe(200);
      return json.id;
    },
  };
}

/** Publishes this many messages, one second apart, and delivers them. */
async function publishMany(service: Faulty, count: number): Promise<void> {
  const sink = await httpSink();
  for (let index = 0; index < count; index++) {
    const label = index % 2 === 0 ? 'even' : 'odd';
    await service.call('POST', `/v2/publish/${sink.url}/${index}`, { headers: { 'Svc-Label': label } });
    await service.emulator.advance(1_000);
  }
}

const isSame = (one: WireLogEntry, other: WireLogEntry): boolean =>
  one.messageId === other.messageId && one.state === other.state && one.time === other.time;

function raw(service: Faulty, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${service.emulator.url}${path}`, { ...init, headers: { Authorization: `Bearer ${TOKEN}` } });
}

describe('requests that a fault matches', () => {
  test('operation, method and path must match; it skips, counts, and can be removed', async () => {
    const service = await faulty();
    const id = await service.fault({
      operations: ['list-logs'],
      path: '/v2/*',
      method: 'GET',
      skip: 1,
      times: 2,
      fault: { kind: 'status', status: 503 },
    });
    const statuses = async (path: string, times: number): Promise<number[]> => {
      const seen: number[] = [];
      for (let time = 0; time < times; time++) seen.push((await service.call('GET', path)).status);
      return seen;
    };
    expect(await statuses('/v2/topics', 2)).toEqual([200, 200]);
    expect(await statuses('/v2/logs', 4)).toEqual([200, 503, 503, 200]);
    const list = await (await raw(service, '/-/emulator/faults')).json();
    expect(list).toMatchObject({ faults: [{ id, hits: 2, skip: 1, times: 2 }] });
    const always = await service.fault({ path: '/v2/logs', fault: { kind: 'status', status: 500, error: 'broken' } });
    expect((await service.call('GET', '/v2/logs')).json).toEqual({ error: 'broken' });
    await raw(service, `/-/emulator/faults/${always}`, { method: 'DELETE' });
    expect(await statuses('/v2/logs', 1)).toEqual([200]);
    await service.fault({ fault: { kind: 'status', status: 500 } });
    await raw(service, '/-/emulator/faults', { method: 'DELETE' });
    expect(await statuses('/v2/logs', 1)).toEqual([200]);
  });

  test('a probability is a share of the requests', async () => {
    const service = await faulty();
    await service.fault({ probability: 0.3, fault: { kind: 'status', status: 503 } });
    let failed = 0;
    for (let time = 0; time < 200; time++) if ((await service.call('GET', '/v2/topics')).status === 503) failed++;
    expect(failed).toBeGreaterThan(35);
    expect(failed).toBeLessThan(90);
  });

  test('the control API is exempt', async () => {
    const service = await faulty();
    await service.fault({ fault: { kind: 'lost' } });
    expect((await raw(service, '/-/emulator/state')).status).toBe(200);
  });
});

describe('responses that report a fault', () => {
  test('an error has no effect and may have a Retry-After', async () => {
    const service = await faulty();
    await service.fault({ operations: ['publish'], times: 1, fault: { kind: 'status', status: 502, retryAfter: 7 } });
    const { status, headers, json } = await service.call('POST', '/v2/publish/http://a.example/');
    expect([status, headers['retry-after'], json]).toEqual([502, '7', { error: 'requested fault: 502' }]);
    expect(service.emulator.messages(ACCOUNT)).toEqual([]);
  });

  test.each([
    ['burst', 'burst-ratelimit', 'ratelimit', 1],
    ['daily', 'ratelimit', 'burst-ratelimit', 3_600],
  ] as const)('a rate-limit response has the %s headers and no others', async (form, own, other, seconds) => {
    const service = await faulty({ enforceLimits: true });
    await service.fault({ fault: { kind: 'rate-limit', form, limit: 12 } });
    const { status, headers } = await service.call('GET', '/v2/logs');
    expect(status).toBe(429);
    expect([headers[`${own}-limit`], headers[`${own}-remaining`]]).toEqual(['12', '0']);
    expect(headers[`${own}-reset`]).toBe(String(START / 1_000 + seconds));
    expect(headers[`${other}-limit`]).toBeUndefined();
  });

  test('the Date header deviates by the requested amount', async () => {
    const service = await faulty();
    await service.fault({ fault: { kind: 'clock-skew', ms: -90_000 } });
    const { headers } = await service.call('GET', '/v2/topics');
    expect(Date.parse(headers.date!)).toBe(START - 90_000);
  });

  test('a slow response is slow in real time, and a stop does not wait for it', async () => {
    const service = await faulty();
    await service.fault({ times: 1, fault: { kind: 'latency', ms: 60 } });
    const before = performance.now();
    expect((await service.call('GET', '/v2/topics')).status).toBe(200);
    expect(performance.now() - before).toBeGreaterThanOrEqual(55);
    await service.fault({ fault: { kind: 'latency', ms: 600_000 } });
    const broken = raw(service, '/v2/topics').then(
      () => 'answered',
      (error: Error) => error.message,
    );
    await expect.poll(() => service.control.faults.list()[1]?.hits).toBe(1);
    await service.emulator.stop();
    expect(await broken).toBe('fetch failed');
  });
});

test('a stop leaves no request waiting for a fault to end', async () => {
  const clock = new ManualClock(START);
  const faults = new Faults({ clock, now: () => START, random: seededRandom(1) });
  faults.add({ fault: { kind: 'latency', ms: 1_000 } });
  const route: Route = {
    api: 'message',
    operation: 'x',
    method: 'GET',
    pattern: '/x',
    handle: () => ({ status: 200 }),
  };
  const answer = faults.handle({
    route,
    target: '/x',
    request: { account: { id: ACCOUNT }, query: new URLSearchParams() } as ReceivedRequest,
  });
  expect(clock.timers).toBe(1);
  faults.stop();
  expect(await answer).toEqual({ status: 200 });
  expect(clock.timers).toBe(0);
});

describe('lost responses', () => {
  test('the effect remains although the response is lost', async () => {
    const service = await faulty();
    await service.fault({ operations: ['publish'], times: 1, fault: { kind: 'lost' } });
    const lost = raw(service, '/v2/publish/http://a.example/', { method: 'POST', body: '{}' });
    await expect(lost).rejects.toThrow('fetch failed');
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(1);
    expect(service.control.requests.list()).toMatchObject([{ operation: 'publish', status: 200, lost: true }]);
  });

  test('JSON that ends in its middle, in a response that looks complete or one that breaks', async () => {
    const service = await faulty();
    await service.fault({ times: 1, fault: { kind: 'truncated' } });
    await service.fault({ skip: 1, fault: { kind: 'truncated', how: 'connection' } });
    const cut = await raw(service, '/v2/logs');
    const text = await cut.text();
    expect([cut.status, text]).toEqual([200, '{"log']);
    const broken = await raw(service, '/v2/logs');
    expect(broken.status).toBe(200);
    await expect(broken.text()).rejects.toThrow(/terminated/);
  });
});

describe('wrong responses', () => {
  test('a listing whose cursor repeats forever', async () => {
    const service = await faulty();
    await publishMany(service, 3);
    await service.fault({ operations: ['list-logs'], fault: { kind: 'repeated-cursor' } });
    const first = (await service.call<LogPage>('GET', '/v2/logs?count=2')).json;
    const second = (await service.call<LogPage>('GET', `/v2/logs?count=2&cursor=${first.cursor}`)).json;
    expect(second.cursor).toBe(first.cursor);
    // The last page repeats it too.
    const end = (await service.call<LogPage>('GET', `/v2/logs?cursor=${first.cursor}`)).json;
    expect([end.cursor, end.logs.length]).toEqual([first.cursor, 7]);
  });

  test('ignored filters: all of them, or those of a name', async () => {
    const service = await faulty();
    await publishMany(service, 4);
    expect(await allLogs(service, 'label=odd&state=DELIVERED')).toHaveLength(2);
    const id = await service.fault({ fault: { kind: 'ignored-filters', names: ['label'] } });
    expect(await allLogs(service, 'label=odd&state=DELIVERED')).toHaveLength(4);
    service.control.faults.remove(id);
    await service.fault({ fault: { kind: 'ignored-filters' } });
    expect(await allLogs(service, 'label=odd&state=DELIVERED', 5)).toHaveLength(12);
  });

  test('missing fields, and times in seconds', async () => {
    const service = await faulty();
    await publishMany(service, 1);
    await service.fault({ fault: { kind: 'missing-fields', fields: ['state', 'labels'] } });
    await service.fault({ fault: { kind: 'seconds' } });
    const [entry] = await allLogs(service);
    expect(entry).not.toHaveProperty('state');
    expect(entry).not.toHaveProperty('labels');
    expect(entry).toMatchObject({ time: START / 1_000, url: expect.any(String) as string });
  });

  test('entries and points that come late, twice, or never', async () => {
    const service = await faulty();
    await publishMany(service, 6);
    const whole = await allLogs(service);
    const late = await service.fault({ fault: { kind: 'late', ms: 3_500 } });
    const cut = START + 6_000 - 3_500;
    expect(await allLogs(service)).toEqual(whole.filter((entry) => entry.time <= cut));
    await service.emulator.advance(4_000);
    expect(await allLogs(service)).toEqual(whole);
    service.control.faults.remove(late);

    const twice = await service.fault({ fault: { kind: 'duplicate' } });
    expect(await allLogs(service)).toEqual(whole.flatMap((entry) => [entry, entry]));
    service.control.faults.remove(twice);

    await service.fault({ fault: { kind: 'missing', share: 0.5 } });
    const some = await allLogs(service);
    expect(some.length).toBeGreaterThan(2);
    expect(some.length).toBeLessThan(16);
    expect(await allLogs(service)).toEqual(some);
  });

  test('entries that appear after younger ones: the same ones at each poll, until they are old enough', async () => {
    const service = await faulty();
    await publishMany(service, 6);
    const whole = await allLogs(service);
    const late = await service.fault({ fault: { kind: 'late', ms: 60_000, share: 0.5 } });
    const first = await allLogs(service);
    expect(first.length).toBeGreaterThan(2);
    expect(first.length).toBeLessThan(16);
    expect(await allLogs(service)).toEqual(first);
    const hidden = whole.filter((entry) => !first.some((seen) => isSame(seen, entry)));
    // The delay is not a bound in time: younger entries are already visible.
    expect(Math.min(...hidden.map(({ time }) => time))).toBeLessThan(Math.max(...first.map(({ time }) => time)));
    // A poll that continues where the previous one ended misses them. One with an earlier start finds them.
    await service.emulator.advance(60_000);
    expect(await allLogs(service, `fromDate=${START + 6_000}`)).toEqual([]);
    expect(await allLogs(service, `fromDate=${START}`)).toEqual(whole);
    service.control.faults.remove(late);
  });

  test('entries that repeat: on the next page, at the next poll, never outside of the requested window', async () => {
    const service = await faulty();
    await publishMany(service, 6);
    const whole = await allLogs(service);
    await service.fault({ operations: ['list-logs'], fault: { kind: 'duplicate', when: 'later' } });
    const page = async (query: string): Promise<LogPage> =>
      (await service.call<LogPage>('GET', `/v2/logs?${query}`)).json;
    const first = await page('count=10');
    expect(first.logs).toEqual(whole.slice(0, 10));
    const second = await page(`count=10&cursor=${first.cursor}`);
    expect(second.logs).toEqual(whole);
    // Another question has its own entries. The same question over a later window repeats only those in that window.
    expect((await page('label=even')).logs).toEqual(whole.filter((entry) => entry.labels?.includes('even')));
    expect((await page(`fromDate=${START + 1_000}`)).logs).toEqual([
      ...whole.slice(10).filter(({ time }) => time >= START + 1_000),
      ...whole.filter(({ time }) => time >= START + 1_000),
    ]);
    // Each entry repeats once.
    expect((await page('label=even')).logs).toHaveLength(18);
    expect((await page('label=even')).logs).toHaveLength(18);
  });

  test('points of statistics are rows like log entries', async () => {
    const service = await faulty();
    const stats = async (): Promise<AccountStatsJson> => {
      return (await manage<AccountStatsJson>(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`)).json;
    };
    const whole = await stats();
    const late = await service.fault({ fault: { kind: 'late', ms: 10 * 60_000 + 1 } });
    expect((await stats()).daily_used).toEqual(whole.daily_used.slice(0, -11));
    const series = (await stats()).daily_msgsvc_messages[0]!;
    expect(series.data_points).toHaveLength(49);
    service.control.faults.remove(late);
    await service.fault({ fault: { kind: 'duplicate' } });
    const doubled = await stats();
    expect(doubled.daily_used).toHaveLength(120);
    expect(doubled.days).toEqual(whole.days);
    service.control.faults.clear();
    await service.fault({ fault: { kind: 'missing', share: 0.5 } });
    const holed = await stats();
    expect(holed.daily_used.length).toBeGreaterThan(10);
    expect(holed.daily_used.length).toBeLessThan(50);
    expect(await stats()).toEqual(holed);
  });
});
