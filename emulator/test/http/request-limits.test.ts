/** Requests per second and messages per day: rejected with 429, and reported with exact figures. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PlanName } from '#emulator/state/account.ts';
import { RequestMeter } from '#emulator/http/request-meter.ts';
import type { Switches } from '#emulator/state/switches.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { manage } from '../conformance-support.ts';
import { ACCOUNT, START, TOKEN, world, type World } from '../world.ts';

const DAY_MS = 86_400_000;

function limited(plan: PlanName, switches: Partial<Switches> = {}): Promise<World> {
  return world({ enforceLimits: true, accounts: [{ id: ACCOUNT, token: TOKEN, plan }], switches });
}

const list = (service: World) => service.call('GET', '/v2/topics');
const publish = (service: World, destination = 'http://nowhere.invalid/') =>
  service.call('POST', `/v2/publish/${destination}`, { headers: { 'Svc-Delay': '7d' } });

function told(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /ratelimit|retry-after/.test(name)));
}

/** The free plan: 100 requests a second, 1,000 messages a day. */
async function fillDay(service: World): Promise<void> {
  for (let sent = 0; sent < 1_000; sent++) {
    if (sent % 100 === 0) await service.clock.advance(1_000);
    expect((await publish(service)).status).toBe(200);
  }
  await service.clock.advance(1_000);
}

describe('over HTTP', () => {
  test('a second has a limit of requests, and the next one has the same', async () => {
    const service = await limited('free');
    await service.clock.advance(250);
    const reset = String(START / 1_000 + 1);
    for (let request = 1; request <= 100; request++) {
      const { status, headers } = await list(service);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'burst-ratelimit-limit': '100',
        'burst-ratelimit-remaining': String(100 - request),
        'burst-ratelimit-reset': reset,
      });
    }
    const refused = await list(service);
    expect([refused.status, refused.json]).toEqual([429, { error: expect.stringContaining('100 requests') }]);
    expect(told(refused.headers)).toEqual({
      'burst-ratelimit-limit': '100',
      'burst-ratelimit-remaining': '0',
      'burst-ratelimit-reset': reset,
      'ratelimit-limit': '1000',
      'ratelimit-remaining': '1000',
      'ratelimit-reset': String(Date.UTC(2026, 10, 21) / 1_000),
      'retry-after': '1',
    });
    await service.clock.advance(749);
    expect((await list(service)).status).toBe(429);
    await service.clock.advance(1);
    expect((await list(service)).status).toBe(200);
  });

  test('a rejected request counts as one too, and only with a valid token', async () => {
    const service = await limited('free');
    await service.call('GET', '/v2/topics', { headers: { Authorization: 'Bearer wrong' } });
    const { status, headers } = await service.call('GET', '/v2/logs?count=0');
    expect([status, headers['burst-ratelimit-remaining']]).toEqual([400, '99']);
  });

  test('a day has a limit of messages; reads continue, and midnight resets it', async () => {
    const service = await limited('free');
    await fillDay(service);
    const refused = await publish(service);
    expect([refused.status, refused.json]).toEqual([429, { error: expect.stringContaining('quota exhausted') }]);
    const midnight = Date.UTC(2026, 10, 21);
    expect(refused.headers).toMatchObject({
      'ratelimit-limit': '1000',
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(midnight / 1_000),
      'retry-after': String((midnight - service.clock.now()) / 1_000),
    });
    expect((await list(service)).status).toBe(200);
    expect((await service.call('POST', '/v2/trigger/http://a.example/')).status).toBe(429);
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(1_000);
    await service.clock.advance(midnight - service.clock.now());
    const { status, headers } = await publish(service);
    expect([status, headers['ratelimit-remaining']]).toEqual([200, '999']);
  });

  test('a group counts for each endpoint and is accepted whole or not at all; a duplicate counts nothing', async () => {
    const service = await limited('free');
    const body = JSON.stringify({ endpoints: [1, 2, 3].map((n) => ({ url: `http://a.example/${n}` })) });
    await service.call('POST', '/v2/topics/three/endpoints', { body });
    const remaining = async (): Promise<unknown> => (await list(service)).headers['ratelimit-remaining'];
    await publish(service, 'three');
    expect(await remaining()).toBe('997');
    const twice = { headers: { 'Svc-Delay': '7d', 'Svc-Deduplication-Id': 'one' } };
    await service.call('POST', '/v2/publish/three', twice);
    await service.call('POST', '/v2/publish/three', twice);
    expect(await remaining()).toBe('994');
    for (let sent = 0; sent < 331; sent++) {
      if (sent % 50 === 0) await service.clock.advance(1_000);
      await publish(service, 'three');
    }
    await service.clock.advance(1_000);
    expect(await remaining()).toBe('1');
    expect((await publish(service, 'three')).status).toBe(429);
    expect((await publish(service)).status).toBe(200);
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(1_000);
  });

  test("a resume beyond the day's limit removes nothing from the DLQ", async () => {
    const sink = await httpSink((_request, response) => void response.writeHead(500).end());
    const service = await limited('free');
    for (let run = 0; run < 2; run++) {
      await service.call('POST', `/v2/trigger/${sink.url}/`, { headers: { 'Svc-Retries': '0' } });
    }
    await service.emulator.idle();
    for (let sent = 0; sent < 997; sent++) {
      if (sent % 90 === 0) await service.clock.advance(1_000);
      await publish(service);
    }
    await service.clock.advance(1_000);
    expect((await service.call('POST', '/v2/workflows/dlq/resume')).status).toBe(429);
    expect(service.emulator.workflowDlq(ACCOUNT)).toHaveLength(2);
    expect((await service.call('POST', '/v2/workflows/dlq/resume?count=1')).status).toBe(200);
    await service.emulator.idle();
  });

  test('beyond the soft limit messages are accepted, and the remaining number is 0', async () => {
    // The hard limit of this plan is higher.
    expect((await publish(await limited('paid'))).headers).toMatchObject({ 'ratelimit-limit': '500000' });
    const meter = new RequestMeter(new ManualClock(START));
    expect(meter.takeMessages(11, 20)).toBe(true);
    expect(meter.day(10)).toMatchObject({ limit: 10, remaining: 0 });
    expect(meter.takeMessages(10, 20)).toBe(false);
    expect(meter.takeMessages(9, 20)).toBe(true);
  });

  test('a larger plan applies at once', async () => {
    const service = await limited('free');
    await fillDay(service);
    service.emulator.accounts.byId(ACCOUNT)!.plan = 'paid';
    const { status, headers } = await publish(service);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'burst-ratelimit-limit': '500',
      'burst-ratelimit-remaining': '499',
      'ratelimit-limit': '500000',
      'ratelimit-remaining': '498999',
    });
  });

  test('the management API has no such limits', async () => {
    const service = await limited('free');
    for (let request = 0; request < 101; request++) {
      const answer = await manage(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`);
      expect([answer.status, told(answer.headers)]).toEqual([200, {}]);
    }
  });

  test.each([
    ['burst', ['burst-ratelimit-limit', 'burst-ratelimit-remaining', 'burst-ratelimit-reset'], '100', '1000'],
    ['daily', ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'], '100', '1000'],
    ['none', [], undefined, undefined],
  ] as const)('headers of an installation: %s', async (rateLimitHeaders, names, ofSecond, ofDay) => {
    const service = await limited('free', { rateLimitHeaders });
    const limit = names[0];
    const answer = await list(service);
    expect(Object.keys(told(answer.headers)).toSorted()).toEqual(names);
    expect(limit && answer.headers[limit]).toBe(ofSecond);
    await fillDay(service);
    const refused = await publish(service);
    expect(Object.keys(told(refused.headers)).toSorted()).toEqual([...names, 'retry-after'].toSorted());
    expect(limit && refused.headers[limit]).toBe(ofDay);
  });
});

type Step =
  | { readonly kind: 'request' }
  | { readonly kind: 'messages'; readonly count: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'jump'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'request' as const }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('messages' as const), count: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(700) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(DAY_MS) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }) }),
  },
);

test('no second and no day ever admits more than its limit, and the figures are exact, however the clock moves', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 120 }),
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 12 }),
      async (steps, perSecond, perDay) => {
        const clock = new ManualClock(START);
        const meter = new RequestMeter(clock);
        const bySecond = new Map<number, number>();
        const byDay = new Map<number, number>();
        for (const move of steps) {
          if (move.kind === 'advance') await clock.advance(move.ms);
          if (move.kind === 'jump') clock.jump(move.ms);
          const second = Math.floor(clock.monotonic() / 1_000);
          const day = Math.floor(clock.now() / DAY_MS);
          const inSecond = bySecond.get(second) ?? 0;
          const inDay = byDay.get(day) ?? 0;
          if (move.kind === 'request') {
            expect(meter.takeRequest(perSecond)).toBe(inSecond < perSecond);
            bySecond.set(second, Math.min(perSecond, inSecond + 1));
          }
          if (move.kind === 'messages') {
            const fits = inDay + move.count <= perDay;
            expect(meter.takeMessages(move.count, perDay)).toBe(fits);
            if (fits) byDay.set(day, inDay + move.count);
          }
          expect(meter.second(perSecond)).toEqual({
            limit: perSecond,
            remaining: perSecond - (bySecond.get(second) ?? 0),
            resetMs: (second + 1) * 1_000 - clock.monotonic(),
          });
          expect(meter.day(perDay)).toEqual({
            limit: perDay,
            remaining: perDay - (byDay.get(day) ?? 0),
            resetMs: (day + 1) * DAY_MS - clock.now(),
          });
        }
      },
    ),
    { numRuns: 200 },
  );
});
