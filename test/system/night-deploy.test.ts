/**
 * A night with nobody awake: a bug fails 200 messages and 20 runs, a deploy fixes it at three. By morning each was
 * delivered once, both DLQs are empty, and one notification of each failure had come.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runEmulator } from '#emulator/emulator.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { daemonConfig } from '../support/daemon-world.ts';
import { fastClock } from '../support/fast-clock.ts';
import { freePort } from '../support/free-port.ts';
import { httpSink } from '../support/http-sink.ts';
import { clockedOpsd } from '../support/program.ts';
import { failedRuns, publish, TEST_TOKEN, trigger, type Service } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

/** An hour lasts a minute. */
const SPEED = 60;
const [MESSAGES, RUNS] = [200, 20];
const TOKEN = 'callbacks-of-the-night';

interface Told {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly summary: string;
}

test('a deploy in the night brings everything back, once', async () => {
  const time = { speed: SPEED, since: Date.now() };
  const clock = fastClock(time);
  const emulator = await runEmulator({
    clock,
    random: seededRandom(9),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: 'acc-1', token: TEST_TOKEN }],
    management: { username: 'user', password: 'password' },
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => emulator.stop());
  const service: Service = { url: emulator.url, token: TEST_TOKEN };
  const destination = await httpSink((_request, response) => void response.writeHead(422).end('field missing'));
  const notified = await httpSink();
  const folder = tempDir();
  writeFileSync(join(folder, 'key'), randomBytes(32).toString('hex'));
  const hooks = `http://127.0.0.1:${await freePort()}`;
  const repair = (name: string, resource: string, type: string) => ({
    name,
    account: 'production',
    mode: 'enforce',
    on: { deploy: true, after: '2m' },
    select: { resource },
    action: { type },
  });
  const file = join(folder, 'opsd.yaml');
  writeFileSync(
    file,
    daemonConfig(service.url, {
      account: {
        client: { requestsPerSecond: 1_000, requestsPerDay: 1_000_000, timeout: '5m' },
        collectors: { logs: { every: '30s', lag: '1s' }, workflowDlq: { every: '30s', full: '1m' } },
        deadLetters: { bodies: { keep: '7d', keyFile: 'key' } },
      },
      hooks: {
        listen: new URL(hooks).host,
        publicUrl: hooks,
        callbacks: { production: { token: TOKEN } },
        deploy: { token: TOKEN },
      },
      notifications: { webhook: { url: notified.url } },
      policies: [
        repair('resume-after-deploy', 'workflow-dlq', 'workflow-dlq.resume'),
        repair('republish-after-deploy', 'message-dlq', 'message-dlq.republish'),
      ],
    }),
  );
  const daemon = clockedOpsd(time, ['run', '--config', file]);
  const url = String((await daemon.logged('daemon running'))['url']);
  const callback = {
    'Svc-Retries': '0',
    'Svc-Failure-Callback': `${hooks}/hooks/callbacks/production`,
    'Svc-Failure-Callback-Forward-Authorization': `Bearer ${TOKEN}`,
  };
  for (let first = 0; first < MESSAGES; first += 20) {
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => publish(service, `${destination.url}/orders?n=${first + n}`, callback)),
    );
  }
  await Promise.all(
    Array.from({ length: RUNS }, (_, n) =>
      trigger(service, `${destination.url}/workflow`, { 'Svc-Retries': '0', 'Svc-Label': `run-${n}` }),
    ),
  );
  const letters = async (): Promise<number> => {
    const answer = await fetch(`${url}/api/v1/dead-letters?queue=message&limit=500`);
    return ((await answer.json()) as { deadLetters: readonly object[] }).deadLetters.length;
  };
  await until({ what: 'everything has failed' }, async () => {
    return (await letters()) === MESSAGES && (await failedRuns(service)).length === RUNS;
  });

  const accepted: string[] = [];
  destination.answerWith((request, response) => {
    accepted.push(request.url);
    response.end('{}');
  });
  const answer = await fetch(`${hooks}/hooks/deploy`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ of: [destination.url], version: 'v42' }),
  });
  expect(answer.status).toBe(202);
  await until({ what: 'the store has no letter left' }, async () => (await letters()) === 0);
  await until({ what: 'no run is left' }, async () => (await failedRuns(service)).length === 0);
  const orders = accepted.filter((path) => path.startsWith('/orders'));
  expect(orders.toSorted()).toEqual(Array.from({ length: MESSAGES }, (_, n) => `/orders?n=${n}`).toSorted());
  const left = await fetch(`${service.url}/v2/dlq?toDate=${Math.floor(clock.now())}&count=100`, {
    method: 'DELETE',
    headers: { Authorization: `Bearer ${TEST_TOKEN}` },
  });
  expect(await left.json()).toMatchObject({ deleted: 0 });
  // A notification is delivered at least once, under one id. On a slow machine some deliveries time out instead, which is
  // an incident of its own.
  const told = notified.requests.map(({ body }) => JSON.parse(body.toString()) as Told);
  const firing = [...new Map(told.filter(({ status }) => status === 'firing').map((one) => [one.id, one])).values()];
  expect(firing.length, JSON.stringify(firing)).toBe(new Set(firing.map(({ key }) => key)).size);
  // The first reading may have found one of them only.
  const about = new Set(firing.map(({ summary }) => /\d (message|run)s? /.exec(summary)?.[1]));
  expect(about, JSON.stringify(firing)).toEqual(new Set(['message', 'run']));
  await daemon.stop();
  expect(daemon.log().filter(({ level }) => level === 'error')).toEqual([]);
});
