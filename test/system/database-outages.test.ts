/** A daemon whose PostgreSQL server ends and starts again, or is behind a network that loses everything. */
import pg from 'pg';
import { expect, test } from 'vitest';
import { daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { cuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { OWN_SERVERS, ownServer } from '../support/postgres/servers.ts';
import { failedRuns } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Opens a database of its own. */
async function databaseOn(server: { readonly url: string }): Promise<string> {
  const client = new pg.Client(`${server.url}/postgres`);
  await client.connect();
  await client.query('CREATE DATABASE opsd');
  await client.end();
  return `${server.url}/opsd`;
}

test.each(OWN_SERVERS)('%s loses all bytes for longer than the lease: the daemon continues by itself', async () => {
  const proxy = await cuttingProxy(await databaseOn(await ownServer()));
  const world = await daemonWorld();
  const storage = `postgres: { url: "${proxy.url}", leaseFor: 5s, replica: one }`;
  const config = repairConfig(world, { mode: 'enforce', every: '1s' }).replace('sqlite: { path: opsd.db }', storage);
  const { daemon, url } = await world.start(config);
  await daemon.logged('this replica owns the account');
  proxy.isSilent = true;
  await daemon.logged('this replica owns the account no longer');
  proxy.isSilent = false;
  const epoch = async () => (await scrape(url)).value('opsd_lease_epoch', { account: 'production' });
  await until({ what: 'it owns the account again' }, async () => (await epoch())! >= 2);
  await world.failRuns(1, 'billing');
  await daemon.logged('action');
  await expect(daemon.stop()).resolves.toBeUndefined();
});

test.each(OWN_SERVERS)('%s ends: the daemon acts on nothing, serves what it has, and continues by itself', async () => {
  const server = await ownServer();
  const database = await databaseOn(server);
  const world = await daemonWorld();
  const storage = `postgres: { url: "${database}", leaseFor: 6s, replica: one }`;
  const config = repairConfig(world, { mode: 'enforce', every: '1s' }).replace('sqlite: { path: opsd.db }', storage);
  const { daemon, url } = await world.start(config);
  const seen = async () => {
    const metrics = await scrape(url);
    const labels = { account: 'production' };
    return {
      owner: metrics.value('opsd_lease_owner', labels),
      epoch: metrics.value('opsd_lease_epoch', labels),
      failures: metrics.value('msgsvc_log_events_total', { ...labels, state: 'FAILED' }),
    };
  };
  await world.failRuns(1, 'other');
  await until({ what: 'the first failure' }, async () => (await seen()).failures! > 0);
  const before = await seen();
  expect(before).toMatchObject({ owner: 1, epoch: 1 });

  await server.stop('INT');
  await world.failRuns(1, 'billing');
  const lost = await daemon.logged('this replica owns the account no longer');
  expect(lost).toMatchObject({ account: 'production', reason: 'unreachable' });
  const run = await until({ what: 'a run that failed' }, () => daemon.log().find(({ error }) => error !== undefined));
  expect(run['error']).toMatch(/^127\.0\.0\.1:\d+\/opsd: the PostgreSQL store is unavailable: .*the server/);
  expect(await seen()).toEqual({ ...before, owner: 0 });
  expect(await failedRuns(world.service)).toHaveLength(2);
  expect((await fetch(`${url}/-/ready`)).status).toBe(200);

  await server.start();
  expect(await daemon.logged('action')).toMatchObject({ action: 'workflow-dlq.resume', outcome: 'accepted' });
  await until({ what: 'the failure during the outage' }, async () => (await seen()).failures! > before.failures!);
  expect(await seen()).toMatchObject({ owner: 1, epoch: 2 });
  await daemon.stop();
});
