/** The management API over HTTP, with a message API that really delivers. */
import { expect, onTestFinished, test } from 'vitest';
import { startEmulator } from '#emulator/emulator.ts';
import type { Fact } from '#emulator/statistics/facts.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { until } from '../../../test/support/until.ts';

async function world() {
  const emulator = await startEmulator({
    clock: systemClock,
    random: seededRandom(1),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: 'acc-1', token: 'first' }],
    management: { username: 'ops', password: 'pass' },
  });
  onTestFinished(() => emulator.stop());
  const manage = async (method: string, path: string, body?: object, password = 'pass') => {
    const response = await fetch(`${emulator.url}${path}`, {
      method,
      headers: { authorization: `Basic ${btoa(`ops:${password}`)}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = (await response.json()) as Record<string, unknown>;
    return { status: response.status, json };
  };
  const publish = (destination: string, headers: object = {}, token = 'first') =>
    fetch(`${emulator.url}/v2/publish/${destination}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...headers },
      body: 'hello',
    });
  return { emulator, manage, publish };
}

type Points = readonly { readonly y: number }[];
const sum = (points: unknown): number => (points as Points).reduce((total, point) => total + point.y, 0);

test('statistics report deliveries, retries and failures', async () => {
  const { emulator, manage, publish } = await world();
  const good = await httpSink();
  const bad = await httpSink((_request, response) => void response.writeHead(500).end());
  const ends: Fact[] = [];
  emulator.onFact((_account, fact) => {
    if (fact.kind === 'attempt' && fact.outcome !== 'retry') ends.push(fact);
  });
  await publish(good.url);
  await publish(good.url);
  await publish(bad.url, { 'svc-retries': '2', 'svc-retry-delay': '1' });
  await until({ what: 'three messages have ended' }, () => ends.length === 3);

  const { status, json } = await manage('GET', '/v2/msgsvc/stats/acc-1?period=3h');
  expect(status).toBe(200);
  const series = json['daily_msgsvc_messages'] as readonly { readonly id: string; readonly data_points: Points }[];
  expect(Object.fromEntries(series.map(({ id, data_points: points }) => [id, sum(points)]))).toEqual({
    created: 3,
    delivered: 2,
    error: 3,
    retry: 2,
    failed: 1,
    canceled: 0,
  });
  expect(sum(json['daily_used'])).toBe(good.requests.length + bad.requests.length);
  expect(sum(json['daily_used_workflow'])).toBe(0);
  expect(sum(json['daily_bandwidth_used'])).toBeGreaterThanOrEqual(8 * 'hello'.length);
  expect(json['dlq_message_count']).toBe(1);
  expect(json['total_monthly_billing']).toBe(0.000_05);
});

test('a rotated token works, and the previous one no longer does', async () => {
  const { manage, publish } = await world();
  const sink = await httpSink();
  expect((await publish(sink.url)).status).toBe(200);
  const { json } = await manage('POST', '/v2/msgsvc/rotate-token/acc-1');
  expect((await publish(sink.url)).status).toBe(401);
  expect((await publish(sink.url, {}, String(json['token']))).status).toBe(200);
  expect((await publish(sink.url, {}, String(json['read_only_token']))).status).toBe(403);
});

test('errors are JSON with a reason', async () => {
  const { emulator, manage } = await world();
  expect(await manage('PATCH', '/v2/msgsvc/update-budget/acc-1', { budget: 5 })).toEqual({
    status: 400,
    json: { error: 'budget must be 0 (no limit) or 20 to 10000' },
  });
  expect(await manage('GET', '/v2/search/none')).toEqual({ status: 404, json: { error: 'index none not found' } });
  expect((await manage('PATCH', '/v2/msgsvc/update-budget/acc-1', { budget: 50 }, 'wrong')).status).toBe(401);
  expect(emulator.accounts.byId('acc-1')!.budgetUsd).toBe(0);
});
