/** The daemon as in the pod of deploy/kubernetes: its volumes as the kubelet creates them, and its configuration. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { addressOf } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { KUBERNETES } from '../support/kustomize.ts';
import { mountedVolume } from '../support/mounted-volume.ts';
import { emulatorProgram, opsd, type Program } from '../support/program.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const base = (path: string): string => readFileSync(join(KUBERNETES, 'base', path), 'utf8');

/** Creates folders for the volumes of the Deployment, and a daemon that finds them where the container would. */
async function pod() {
  const emulator = await emulatorProgram();
  const root = tempDir();
  const { volumes, containers } = (parse(base('deployment.yaml')) as IDeployment).spec!.template.spec!;
  const mounts = containers[0]!.volumeMounts!.map(({ name, mountPath }) => ({
    volume: volumes!.find((volume) => volume.name === name)!,
    folder: join(root, mountPath),
  }));
  const objects = new Map<string, ReturnType<typeof mountedVolume>>();
  for (const { volume, folder } of mounts) {
    const object = volume.configMap?.name ?? volume.secret?.secretName;
    if (object === undefined) mkdirSync(folder, { recursive: true });
    else objects.set(object, mountedVolume(folder));
  }
  const here = (text: string): string =>
    text
      .replaceAll(/(?<= )\/(?=etc\/|run\/)/g, `${root}/`)
      .replace('https://eu.msgsvc.example', emulator.url)
      .replaceAll(/":107\d\d"/g, '"127.0.0.1:0"');
  return {
    /** Replaces a ConfigMap or a Secret. */
    update: (object: string, files: Readonly<Record<string, string>>) => objects.get(object)!(files),
    config: here(base('config/config.yaml')),
    policies: base('config/policies.yaml'),
    /** Runs a command in the container, with the variables of the image. */
    command: (...args: readonly string[]): Program =>
      opsd(args, {
        env: {
          OPSD_CONFIG: join(root, 'etc/opsd/config.yaml'),
          OPSD_LISTEN: '127.0.0.1:0',
          OPSD_STORE: join(root, 'var/lib/opsd/opsd.db'),
        },
      }),
  };
}

test('it runs on its volumes, applies an updated ConfigMap by itself, and is paused by a ConfigMap or a command', async () => {
  const { update, command, config, policies } = await pod();
  update('opsd-service', { token: TEST_TOKEN });
  update('opsd-hooks', { alertmanager: 'from-alertmanager' });
  update('opsd-config', { 'config.yaml': config, 'policies.yaml': policies });
  const daemon = command('run');
  const url = await addressOf(daemon);
  const { probes, hooks } = await daemon.logged('daemon running');
  expect((await fetch(`${String(probes)}/-/healthy`)).status).toBe(200);
  await until({ what: 'it is ready' }, async () => (await fetch(`${String(probes)}/-/ready`)).status === 200);
  expect((await fetch(`${String(hooks)}/hooks/alertmanager/opsd`, { method: 'POST' })).status).toBe(401);

  // Configuration and policies change at once: they are consistent, and it is one reload.
  update('opsd-config', {
    'config.yaml': config.replace('name: production', 'name: eu'),
    'policies.yaml': policies.replace('account: production', 'account: eu').replace('mode: audit', 'mode: enforce'),
  });
  const starts = () => daemon.said('daemon running');
  await until({ what: 'it has started anew' }, () => starts().length === 2);
  const after = await scrape(url);
  expect(after.all('opsd_policy_mode_info').map(({ labels }) => labels['effective_mode'])).toEqual(['enforce']);
  expect(after.value('opsd_config_last_reload_successful', {})).toBe(1);

  const paused = async () => (await scrape(url)).value('opsd_paused', { scope: 'engine' });
  expect(await paused()).toBe(0);
  update('opsd-pause', { PAUSE: 'checkout is odd' });
  await until({ what: 'it is paused' }, async () => (await paused()) === 1);
  update('opsd-pause', {});
  await until({ what: 'it goes on' }, async () => (await paused()) === 0);
  expect(starts()).toHaveLength(2);
  // Same as with kubectl exec.
  expect((await command('pause', '--reason', 'checkout is odd').ended).code).toBe(0);
  expect(await paused()).toBe(1);
  await daemon.stop();
});

test('a Secret without the key that the configuration names ends the start, with the line that names it', async () => {
  const { update, command, config, policies } = await pod();
  update('opsd-service', { token: TEST_TOKEN });
  update('opsd-hooks', { callback: 'of the publishers' });
  update('opsd-config', { 'config.yaml': config, 'policies.yaml': policies });
  const daemon = command('run');
  expect((await daemon.ended).code).toBe(1);
  expect(daemon.stderr()).toMatch(/etc\/opsd\/config\.yaml:\d+:\d+: hooks\.alertmanager\.opsd\.tokenFile/);
});
