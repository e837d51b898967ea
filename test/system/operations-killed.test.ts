/** A daemon that is killed while an operation is in flight, and operations in direct mode, as separate processes. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { auditPathOf, readAudit } from '#automate/ledger/audit-reader.ts';
import { addressOf, daemonConfig, type DaemonWorld, daemonWorld, managementAt } from '../support/daemon-world.ts';
import { opsd, type Program } from '../support/program.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { until } from '../support/until.ts';

const configOf = ({ proxy: { url } }: DaemonWorld): string =>
  daemonConfig(url, { account: { messageApi: { url, tokenFile: 'token' }, managementApi: managementAt(url) } });

async function world(): Promise<DaemonWorld> {
  const made = await daemonWorld();
  writeFileSync(join(made.folder, 'token'), `${TEST_TOKEN}\n`, { mode: 0o600 });
  return made;
}

async function operationsOf({ folder }: DaemonWorld): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const { type, operation, outcome } of readAudit(auditPathOf(join(folder, 'opsd.db')))) {
    if (type.startsWith('operation.')) found.push([type, operation, outcome]);
  }
  return found;
}

async function ended(program: Program): Promise<number | null> {
  return (await program.ended).code;
}

test('kill -9 between the request and its response: the next start records the outcome as unknown', async () => {
  const made = await world();
  const first = made.run(configOf(made));
  await addressOf(first);
  const config = join(made.folder, 'opsd.yaml');
  made.proxy.decide(({ url }) => (url.includes('rotate-token') ? new Promise(() => undefined) : 'pass'));
  const rotation = opsd(['api', 'rotate-token', '--yes', '--confirm', 'production', '--config', config]);
  await until({ what: 'the service has rotated' }, () =>
    made.proxy.passed.some(({ url }) => url.includes('rotate-token')),
  );
  await first.crash();
  expect(await ended(rotation)).toBe(1);
  expect(await operationsOf(made)).toEqual([['operation.begun', 'rotate-token', undefined]]);
  // The new token was never received. The old one and the reserved space are what is left.
  expect(readFileSync(join(made.folder, 'token'), 'utf8').trim()).toBe(TEST_TOKEN);
  expect(readFileSync(join(made.folder, 'token.new'), 'utf8').trim()).toBe('');

  made.proxy.decide(() => 'pass');
  const second = made.run(configOf(made));
  await addressOf(second);
  expect(await second.logged('operations were interrupted, their outcome is unknown; see opsd audit')).toBeDefined();
  expect(await operationsOf(made)).toEqual([
    ['operation.begun', 'rotate-token', undefined],
    ['operation.ended', 'rotate-token', 'unknown'],
  ]);
  const again = opsd(['api', 'rotate-token', '--yes', '--confirm', 'production', '--config', config]);
  expect(await ended(again), again.stderr()).toBe(0);
  const token = readFileSync(join(made.folder, 'token'), 'utf8').trim();
  expect(token).not.toBe(TEST_TOKEN);
  expect(existsSync(join(made.folder, 'token.new'))).toBe(false);
  const read = opsd(['api', 'list-url-groups', '--config', config]);
  expect(await ended(read), read.stderr()).toBe(0);
  expect([again.stdout(), again.stderr(), second.stderr()].join('')).not.toContain(token);
});

test('without a daemon a command sends the operation itself; with one that has no socket it sends no write', async () => {
  const made = await world();
  const config = made.write(configOf(made));
  const endpoints = 'endpoints=[{"url":"http://127.0.0.1:9/","name":"one"}]';
  const write = opsd(['api', 'add-endpoints', 'urlGroupName=orders', endpoints, '--yes', '--config', config]);
  expect(await ended(write), write.stderr()).toBe(0);
  const read = opsd(['api', 'list-url-groups', '-o', 'json', '--config', config]);
  expect([await ended(read), JSON.parse(read.stdout())]).toMatchObject([0, [{ name: 'orders' }]]);
  expect(await operationsOf(made)).toEqual([
    ['operation.begun', 'add-endpoints', undefined],
    ['operation.ended', 'add-endpoints', 'accepted'],
  ]);

  const daemon = made.run(configOf(made));
  await addressOf(daemon);
  rmSync(join(made.folder, 'opsd.db.sock'));
  const before = made.proxy.passed.length;
  const second = opsd(['api', 'add-endpoints', 'urlGroupName=more', endpoints, '--yes', '--config', config]);
  expect(await ended(second)).toBe(1);
  expect(second.stderr()).toMatch(/another process/);
  expect(made.proxy.passed.slice(before).filter(({ method }) => method !== 'GET')).toEqual([]);
});
