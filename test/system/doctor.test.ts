/** `opsd doctor` as a program, against a running daemon, its service, and a real Prometheus. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressOf, daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { freePort } from '../support/free-port.ts';
import { installed, opsd } from '../support/program.ts';
import { prometheus } from '../support/prometheus.ts';
import { until } from '../support/until.ts';

interface Check {
  readonly check: string;
  readonly state: string;
  readonly result: string;
  readonly fix?: string;
}

test('a running daemon, its service, its store and Prometheus are proved; a target that is down is a finding', async ({
  skip,
}) => {
  const program = installed('prometheus');
  if (program === undefined) skip('prometheus is not installed');
  const world = await daemonWorld();
  await world.failRuns(1, 'billing');
  const listen = `127.0.0.1:${await freePort()}`;
  const config = repairConfig(world, { mode: 'audit', every: '1h' }).replace('127.0.0.1:0', listen);
  const daemon = world.run(config);
  const address = await addressOf(daemon);

  const doctor = async (prometheusUrl: string) => {
    const file = join(world.folder, 'opsd.yaml');
    const run = opsd(['doctor', '--config', file, '--prometheus', prometheusUrl, '-o', 'json']);
    const { code } = await run.ended;
    return { code, checks: (JSON.parse(run.stdout()) as { checks: Check[] }).checks };
  };

  const up = await prometheus(program!, { jobs: { opsd: address }, scrapeSeconds: 1 });
  await until({ what: 'the target is up' }, async () => (await up.value('up{job="opsd"}')) === 1);
  const { code, checks } = await doctor(up.url);
  expect(checks.map(({ check, state }) => `${check} ${state}`)).toEqual([
    'configuration ok',
    'daemon ok',
    'token ok',
    'clock ok',
    'header prefix ok',
    'webhook skipped',
    'scrape ok',
    'scrape ok',
    'prometheus ok',
    'store ok',
    'disk ok',
  ]);
  expect(code).toBe(0);

  await daemon.stop();
  await until({ what: 'the target is down' }, async () => (await up.value('up{job="opsd"}')) === 0);
  const stopped = await doctor(up.url);
  expect(stopped.code).toBe(3);
  expect(stopped.checks.filter(({ state }) => state === 'finding')).toMatchObject([
    { check: 'prometheus', result: expect.stringContaining('is down') as string },
  ]);
  expect(stopped.checks).toContainEqual(expect.objectContaining({ check: 'store', state: 'ok', result: 'opens' }));
  await up.stop();
});
