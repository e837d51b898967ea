import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startSampleDestinations } from '#emulator/sample/destinations.ts';
import { SAMPLE_HOSTS } from '#emulator/sample/handlers.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { until } from '../../../test/support/until.ts';

async function started(clock: ManualClock | typeof systemClock = systemClock) {
  const destinations = await startSampleDestinations({ clock, random: seededRandom(1) });
  onTestFinished(() => destinations.stop());
  const url = (host: keyof typeof destinations.hosts, path: string): string =>
    `http://127.0.0.1:${destinations.hosts[host]}${path}`;
  return { destinations, url };
}

test('every host has a port of its own and responds there', async () => {
  const { destinations, url } = await started();
  expect(Object.keys(destinations.hosts)).toEqual([...SAMPLE_HOSTS]);
  expect(new Set(Object.values(destinations.hosts)).size).toBe(SAMPLE_HOSTS.length);
  const order = await fetch(url('orders.shop.example', '/hooks/orders'), { method: 'POST', body: '{"order":"o-1"}' });
  expect([order.status, await order.json()]).toEqual([200, { ok: true }]);
  const record = await fetch(url('crm.vendor.example', '/v1/records'), { method: 'PUT', body: '{"valid":false}' });
  expect(record.status).toBe(400);
});

test.each(['', 'not json', '"text"', 'null', '[1]', 'x'.repeat(200_000)])(
  'a body that is not an object does no harm: %.10j',
  async (body) => {
    const { url } = await started();
    const answer = await fetch(url('app.shop.example', '/api/workflows/invoice'), { method: 'POST', body });
    expect([200, 503]).toContain(answer.status);
  },
);

test('stopping aborts pending requests, at once and repeatedly', async () => {
  const clock = new ManualClock(0);
  const { destinations, url } = await started(clock);
  // The clock stops, so the response would never arrive.
  const waiting = fetch(url('billing.shop.example', '/v1/charges'), { method: 'POST', body: '{}' });
  const broken = waiting.then(
    () => 'answered',
    (error: Error) => error.message,
  );
  await until({ what: 'the request has arrived' }, () => clock.timers === 1);
  await destinations.stop();
  await destinations.stop();
  expect(await broken).toBe('fetch failed');
  expect(clock.timers).toBe(0);
  const socket = connect(destinations.hosts['billing.shop.example'], '127.0.0.1');
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});
