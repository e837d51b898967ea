/**
 * Simulates weeks of the service within seconds, for all behavior that depends on a day, month, window or retention.
 */
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import { manage, type Json } from './conformance-support.ts';
import { ACCOUNT, allLogs, START, world, type World, worldWithSink } from './world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

async function publish(service: World, url: string, headers: Readonly<Record<string, string>> = {}): Promise<Json> {
  const answer = await service.call('POST', `/v2/publish/${url}`, { headers, body: 'hello' });
  expect([answer.status, answer.json]).toEqual([200, expect.any(Object)]);
  return answer.json;
}

const stats = async (service: World): Promise<Json> =>
  (await manage(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`)).json;

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Returns the values of a daily array by date, without days of zero. */
function byDate(points: unknown, field = 'y'): Readonly<Record<string, number>> {
  const list = points as readonly (Readonly<Record<string, number>> & { readonly x: string })[];
  return Object.fromEntries(
    list.filter((point) => point[field] !== 0).map((point) => [point.x.slice(0, 10), point[field]!]),
  );
}

describe('five weeks', () => {
  test('daily arrays and billing turn with the month; logs and DLQs drop what is expired', async () => {
    const sink = await httpSink(
      (request, response) => void response.writeHead(request.url === '/ok' ? 200 : 500).end(),
    );
    const service = await world({ logRetentionMs: 3 * DAY, dlqRetentionMs: 7 * DAY });
    const attempts: Record<string, number> = {};
    const runs: Record<string, number> = {};
    const ofMonth = (counts: Readonly<Record<string, number>>, month: string) =>
      Object.fromEntries(Object.entries(counts).filter(([date]) => date.startsWith(month)));
    for (let day = 0; day < 36; day++) {
      // From 20 November to 25 December each day has one failure, one failed run, and more successes than the previous
      // day.
      const date = dateOf(service.clock.now());
      for (let count = 0; count <= day % 5; count++) await publish(service, `${sink.url}/ok`);
      await publish(service, `${sink.url}/bad`, { 'Svc-Retries': '0' });
      await service.call('POST', `/v2/trigger/${sink.url}/bad`, { headers: { 'Svc-Retries': '0' } });
      await service.emulator.idle();
      attempts[date] = (day % 5) + 3;
      runs[date] = 1;

      const month = date.slice(0, 7);
      const told = await stats(service);
      expect(told['days']).toHaveLength(month === '2026-11' ? 30 : 31);
      expect((told['days'] as string[])[0]).toBe(`${month}-01`);
      expect(byDate(told['daily_requests'])).toEqual(ofMonth(attempts, month));
      expect(byDate(told['daily_requests'], 'workflow_run')).toEqual(ofMonth(runs, month));
      const billed = Object.values(ofMonth(attempts, month)).reduce((sum, count) => sum + count, 0);
      expect(told['total_monthly_billing']).toBeCloseTo(billed * 0.000_01, 8);
      const daily = Object.values(byDate(told['daily_billings'])).reduce((sum, amount) => sum + amount, 0);
      expect(daily).toBeCloseTo(billed * 0.000_01, 8);

      // Dead letters cover today and the seven previous days, logs three.
      const kept = Math.min(day, 7) + 1;
      expect(told['dlq_message_count']).toBe(kept);
      expect(service.emulator.workflowDlq(ACCOUNT)).toHaveLength(kept);
      const errors = await allLogs(service, 'state=ERROR');
      expect(errors).toHaveLength(2 * (Math.min(day, 3) + 1));
      await service.clock.advance(DAY);
    }
  });

  test('thirty days in the points of 30d match the events in them', async () => {
    const { sink, service } = await worldWithSink();
    // The newest point is incomplete: 30 days end with it.
    for (let step = 0; step < 60; step++) {
      await publish(service, sink.url);
      await service.emulator.idle();
      await service.clock.advance(12 * HOUR);
    }
    const { json } = await manage(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}?period=30d`);
    const points = (json['daily_used'] as { y: number }[]).map(({ y }) => y);
    expect(points).toHaveLength(240);
    // Every fourth point of three hours has one event. The first message has just left the window.
    expect(points.filter((y) => y !== 0)).toHaveLength(59);
    expect(points.every((y, index) => y === 0 || index % 4 === points.findIndex((first) => first !== 0) % 4)).toBe(
      true,
    );
  });
});

describe('retries', () => {
  test('with the default backoff run over 12 s, 2 m 28 s, 30 m, 6 h and a day, then enter the DLQ for its retention', async () => {
    const sink = await httpSink((_request, response) => void response.writeHead(500).end());
    const service = await world({ logRetentionMs: 30 * DAY, dlqRetentionMs: 7 * DAY });
    const { messageId } = await publish(service, sink.url);
    await service.drain();
    const active = (await allLogs(service, `messageId=${String(messageId)}&state=ACTIVE`)).toReversed();
    const waits = active.slice(1).map(({ time }, index) => time - active[index]!.time);
    expect(waits).toEqual([12_182, 148_413, 1_808_042, 22_026_466, 86_400_000]);
    expect(sink.requests).toHaveLength(6);
    const [message] = service.emulator.messages(ACCOUNT);
    expect(message).toMatchObject({ state: 'FAILED', attempts: 6 });
    await service.clock.advance(7 * DAY);
    expect(await stats(service)).toMatchObject({ dlq_message_count: 1 });
    await service.clock.advance(1);
    expect(await stats(service)).toMatchObject({ dlq_message_count: 0 });
    const { json } = await service.call('DELETE', `/v2/dlq?dlqIds=${message!.dlqId}`);
    expect(json).toEqual({ deleted: 0 });
  });

  test('a Retry-After is honored up to a day', async () => {
    const sink = await httpSink(
      (_request, response) => void response.writeHead(503, { 'Retry-After': String(40 * 86_400) }).end(),
    );
    const service = await world();
    await publish(service, sink.url, { 'Svc-Retries': '2' });
    await service.drain();
    const active = (await allLogs(service, 'state=ACTIVE')).toReversed();
    expect(active.map(({ time }) => time - START)).toEqual([0, DAY, 2 * DAY]);
  });
});

describe('waiting', () => {
  test('a message thirty days ahead is delivered on time, and its log outlives the retention', async () => {
    const sink = await httpSink();
    const service = await world({ logRetentionMs: 3 * DAY });
    const { messageId } = await publish(service, sink.url, { 'Svc-Not-Before': String((START + 30 * DAY) / 1_000) });
    await service.clock.advance(30 * DAY - 1);
    expect(sink.requests).toHaveLength(0);
    expect(service.emulator.messages(ACCOUNT)).toMatchObject([{ id: messageId, state: 'CREATED' }]);
    await service.clock.advance(1);
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(1);
    expect((await allLogs(service, `messageId=${String(messageId)}`)).map(({ state }) => state)).toEqual([
      'DELIVERED',
      'ACTIVE',
    ]);
  });

  test('a key of ten a day lets thirty-five messages through in four days', async () => {
    const { sink, service } = await worldWithSink();
    const headers = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'rate=10, period=1d' };
    for (let count = 0; count < 35; count++) await publish(service, sink.url, headers);
    for (const expected of [10, 20, 30, 35, 35]) {
      await service.emulator.idle();
      expect(sink.requests).toHaveLength(expected);
      const { json } = await service.call('GET', '/v2/flowControl/k');
      expect(json).toMatchObject({
        waitListSize: 35 - expected,
        ratePeriod: 86_400,
        ratePeriodStart: Math.floor(service.clock.now() / 1_000),
      });
      await service.clock.advance(DAY);
    }
  });

  test('de-duplication ends after its window on every day of the month', async () => {
    const service = await world();
    const headers = { 'Svc-Deduplication-Id': 'daily', 'Svc-Delay': '60d' };
    const ids = new Set<unknown>();
    for (let day = 0; day < 31; day++) {
      const first = await publish(service, 'http://a.example/', headers);
      await service.clock.advance(10 * MINUTE - 1);
      const again = await publish(service, 'http://a.example/', headers);
      expect([first['deduplicated'], again]).toEqual([false, { messageId: first['messageId'], deduplicated: true }]);
      ids.add(first['messageId']);
      await service.clock.advance(DAY - 10 * MINUTE + 1);
    }
    expect(ids.size).toBe(31);
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(31);
  });

  test('a run that is resumed each day fails each day under new ids, and finally succeeds', async () => {
    const { sink, service } = await worldWithSink((_request, response) => void response.writeHead(500).end());
    await service.call('POST', `/v2/trigger/${sink.url}/`, { headers: { 'Svc-Retries': '0', 'Svc-Label': 'x' } });
    await service.emulator.idle();
    const seen = new Set<string>();
    for (let day = 0; day < 30; day++) {
      const [run] = service.emulator.workflowDlq(ACCOUNT);
      seen.add(run!.dlqId).add(run!.workflowRunId);
      await service.clock.advance(DAY);
      const { json } = await service.call('POST', `/v2/workflows/dlq/resume?dlqIds=${run!.dlqId}`);
      expect(json['workflowRuns']).toHaveLength(1);
      await service.emulator.idle();
    }
    expect(seen.size).toBe(60);
    sink.answerWith((_request, response) => void response.end());
    await service.call('POST', '/v2/workflows/dlq/resume?label=x');
    await service.emulator.idle();
    expect(service.emulator.workflowDlq(ACCOUNT)).toEqual([]);
    expect(service.emulator.messages(ACCOUNT).at(-1)).toMatchObject({ state: 'DELIVERED', labels: ['x'] });
    expect(sink.requests).toHaveLength(32);
  });
});
