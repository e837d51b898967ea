/** The probes' own listener in the real program: next to the others, and during a configuration change. */
import { expect, test } from 'vitest';
import { daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { until } from '../support/until.ts';

test('probes have their own listener, on the same port after a reload', async () => {
  const world = await daemonWorld();
  const config = repairConfig(world, { mode: 'audit', every: '1h' }).replace(
    '"127.0.0.1:0" }',
    '"127.0.0.1:0", probes: { listen: "127.0.0.1:0" } }',
  );
  const { daemon, url } = await world.start(config);
  const runs = () => daemon.said('daemon running');
  const probes = String(runs()[0]?.['probes']);
  expect(new URL(probes).port).not.toBe(new URL(url).port);
  const answers = async () =>
    Promise.all(['/-/healthy', '/-/ready', '/metrics', '/'].map(async (path) => (await fetch(probes + path)).status));
  await until({ what: 'the daemon is ready' }, async () => (await fetch(`${probes}/-/ready`)).status === 200);
  expect(await answers()).toEqual([200, 200, 404, 404]);

  world.write(config.replace('every: 1h', 'every: 2h'));
  daemon.kill('SIGHUP');
  await until({ what: 'it runs with the change' }, () => runs().length === 2);
  expect(runs()[1]).toMatchObject({ url, probes });
  expect((await fetch(`${probes}/-/healthy`)).status).toBe(200);
  await daemon.stop();
});
