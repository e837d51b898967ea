/** A daemon that is killed at each step of a retrigger: the new run is never started twice, and its state is read. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { auditPathOf, readAudit } from '#automate/ledger/audit-reader.ts';
import { addressOf, daemonConfig, daemonWorld, managementAt } from '../support/daemon-world.ts';
import { failedRuns, TEST_TOKEN } from '../support/service.ts';
import { until } from '../support/until.ts';

const isTrigger = ({ url }: { readonly url: string }): boolean => url.startsWith('/v2/trigger/');
const never = new Promise<boolean>(() => undefined);

test.each([
  ['before the service gets the request', 'request', 0],
  ['between the request and its response', 'response', 1],
  ['after the response', 'none', 1],
] as const)('kill -9 %s: the run is started at most once', async (_what, held, started) => {
  const made = await daemonWorld();
  const { url } = made.proxy;
  const config = daemonConfig(url, {
    account: { messageApi: { url, token: TEST_TOKEN }, managementApi: managementAt(url) },
  });
  await made.failRuns(1, 'billing');
  const [{ dlqId } = { dlqId: '' }] = await failedRuns(made.service);
  made.destination.answerWith((_request, response) => void response.end('ok'));
  made.destination.requests.length = 0;
  let sends = 0;
  made.proxy.admit((request) => {
    if (!isTrigger(request)) return Promise.resolve(true);
    sends += 1;
    return held === 'request' ? never : Promise.resolve(true);
  });
  made.proxy.decide((request) => (held === 'response' && isTrigger(request) ? never : 'pass'));
  const words = ['dlq', 'retrigger', dlqId, '--reason', 'the amount was wrong', '--confirm', dlqId];

  const first = made.run(config);
  await addressOf(first);
  await until(
    { what: 'the daemon has read the run' },
    async () => (await made.command('dlq', 'show', dlqId)).code === 0,
  );
  const command = made.command(...words);
  if (held === 'none') expect((await command).code).toBe(0);
  await until({ what: 'the request is sent' }, () => sends === 1);
  await until({ what: 'the run is called' }, () => made.destination.requests.length === started);
  await first.crash();
  await command;

  const second = made.run(config);
  await addressOf(second);
  await until(
    { what: 'the daemon has read the run' },
    async () => (await made.command('dlq', 'show', dlqId)).code === 0,
  );
  const shown = await made.command('dlq', 'show', dlqId);
  expect(shown.stdout).toMatch(started === 1 ? /New run: running[^]*none is open/ : /New run: unknown[^]*was lost/);
  const again = await made.command(...words);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('nothing was sent')]);
  expect(sends).toBe(1);
  expect(made.destination.requests).toHaveLength(started);
  const ends: unknown[] = [];
  for await (const { type, outcome } of readAudit(auditPathOf(join(made.folder, 'opsd.db')))) {
    if (type.startsWith('operation.')) ends.push([type, outcome]);
  }
  const outcome = held === 'none' ? 'accepted' : 'unknown';
  expect(ends).toEqual([
    ['operation.begun', undefined],
    ['operation.ended', outcome],
  ]);
});
