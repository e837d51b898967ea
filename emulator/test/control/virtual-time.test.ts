import { describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { allLogs, ACCOUNT, START, statesOf, world } from '../world.ts';

const virtual = { clock: systemClock, time: 'virtual', startAt: START } as const;
const HOUR = 3_600_000;

describe('virtual time', () => {
  test('a day of retries with the default backoff is really delivered within a moment', async () => {
    const sink = await httpSink((_request, response) => void response.writeHead(500).end());
    const service = await world(virtual);
    const published = await service.call('POST', `/v2/publish/${sink.url}/orders`, { body: '{}' });
    await service.emulator.advance(31 * HOUR);
    expect(sink.requests).toHaveLength(6);
    expect(sink.requests.map((request) => request.headers['svc-retried'])).toEqual(['0', '1', '2', '3', '4', '5']);
    const entries = await allLogs(service, `messageId=${String(published.json['messageId'])}&state=ACTIVE`);
    const times = entries.toReversed().map((entry) => entry.time - START);
    const waits = times.slice(1).map((time, index) => Math.round((time - times[index]!) / 1_000));
    expect(waits).toEqual([12, 148, 1_808, 22_026, 86_400]);
    expect(service.emulator.messages(ACCOUNT)).toMatchObject([{ state: 'FAILED', attempts: 6 }]);
    // The Date of responses is the new time.
    const { headers } = await service.call('GET', '/v2/topics');
    expect(Date.parse(headers.date!)).toBe(START + 31 * HOUR);
  });

  test('an attempt does not time out when time moves while its destination responds', async () => {
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const sink = await httpSink(async (_request, response) => {
      asked.resolve();
      await answer.promise;
      response.end();
    });
    const service = await world(virtual);
    const published = await service.call('POST', `/v2/publish/${sink.url}/slow`, { headers: { 'Svc-Timeout': '2s' } });
    await asked.promise;
    const moved = service.emulator.advance(24 * HOUR);
    answer.resolve();
    await moved;
    expect(await statesOf(service, String(published.json['messageId']))).toEqual(['CREATED', 'ACTIVE', 'DELIVERED']);
  });

  test('a hanging destination reaches its timeout, and time waits for it once', async () => {
    const sink = await httpSink((request, response) => void (request.url === '/hangs' || response.end()));
    let waits = 0;
    const after: Clock['after'] = (ms, run) =>
      systemClock.after(ms, () => {
        if (ms === 25) waits++;
        run();
      });
    const service = await world({ ...virtual, clock: { ...systemClock, after } });
    await service.call('POST', `/v2/publish/${sink.url}/hangs`, {
      headers: { 'Svc-Timeout': '1h', 'Svc-Retries': '0' },
    });
    // Other deliveries become due in between. The move waits for each, but not for the hanging one.
    for (let minute = 1; minute <= 40; minute++) {
      await service.call('POST', `/v2/publish/${sink.url}/late`, { headers: { 'Svc-Delay': `${minute}m` } });
    }
    await service.emulator.advance(2 * HOUR, { patienceMs: 250 });
    const [first, ...others] = service.emulator.messages(ACCOUNT);
    expect(first).toMatchObject({ state: 'FAILED', attempts: 1 });
    expect(others.map((message) => message.state)).toEqual(others.map(() => 'DELIVERED'));
    const failed = await allLogs(service, `messageId=${first!.id}&state=ERROR`);
    expect(failed).toMatchObject([{ time: START + HOUR, error: expect.stringContaining('timeout') }]);
    expect(waits).toBeGreaterThan(0);
    expect(waits).toBeLessThan(50);
  });

  test('a service without its own time reports an error', async () => {
    const service = await world();
    await expect(service.emulator.advance(1)).rejects.toThrow(/`time`/);
  });

  test('a stop ends a move in progress', async () => {
    const sink = await httpSink(() => new Promise(() => undefined));
    const service = await world(virtual);
    await service.call('POST', `/v2/publish/${sink.url}/hangs`);
    const moved = service.emulator.advance(24 * HOUR);
    await service.emulator.stop();
    await moved;
    expect(service.emulator.messages(ACCOUNT)).toMatchObject([{ state: 'ACTIVE' }]);
  });
});
