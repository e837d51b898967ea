/** The compose file and its services, checked by the programs themselves: compose, promtool and amtool. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installed } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'deploy/compose');
const compose = installed('docker-compose');
const promtool = installed('promtool');
const amtool = installed('amtool');

function said(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
  });
  return { status, stdout, stderr };
}

const quiet = { status: 0, stdout: '', stderr: '' };

test.skipIf(compose === undefined)(
  'compose takes the file alone and with the own configuration, without a word',
  () => {
    const files = ['-f', join(FOLDER, 'compose.yaml')];
    expect(said(compose!, [...files, 'config', '--quiet'])).toEqual(quiet);
    files.push('-f', join(FOLDER, 'compose.own.yaml'));
    const env = { OPSD_CONFIG_DIR: '/config', OPSD_SECRETS_DIR: '/secrets', ALERTMANAGER_SECRETS_DIR: '/am-secrets' };
    expect(said(compose!, [...files, 'config', '--quiet'], env)).toEqual(quiet);
    for (const name of Object.keys(env)) {
      const missing = said(compose!, [...files, 'config', '--quiet'], { ...env, [name]: '' });
      expect([missing.status, missing.stderr]).toEqual([1, expect.stringMatching(/a folder with|the folder of/)]);
    }
    // Later arguments override earlier ones.
    const { stdout } = said(compose!, [...files, 'config'], env);
    expect(stdout).not.toContain('alertmanager.demo.yaml');
    expect(stdout).not.toMatch(/^ *- demo$/m);
  },
);

test.skipIf(compose === undefined).each([
  ['read_only: true', 'readonly: true'],
  ['networks:', 'network:'],
  ['interval: 15s', 'intervals: 15s'],
  ['opsd-data:/var', 'opsd-date:/var'],
])('compose rejects a file in which %s is written %s', (right, wrong) => {
  const file = join(tempDir(), 'compose.yaml');
  const text = readFileSync(join(FOLDER, 'compose.yaml'), 'utf8');
  writeFileSync(file, text.replace(right, wrong));
  expect(text).toContain(right);
  expect(said(compose!, ['-f', file, 'config', '--quiet']).status).toBe(1);
});

test.skipIf(promtool === undefined)(
  'promtool accepts the example for Prometheus, and rejects one without its rules',
  () => {
    const folder = join(tempDir(), 'prometheus');
    cpSync(join(ROOT, 'deploy/prometheus'), folder, { recursive: true });
    const checked = said(promtool!, ['check', 'config', '--lint=all', join(folder, 'prometheus.yaml')]);
    expect(checked).toMatchObject({ status: 0, stderr: '' });
    expect(checked.stdout).toContain('3 rule files found');
    writeFileSync(join(folder, 'opsd-alerts-core.yaml'), 'groups: [{ name: x, rule: [] }]\n');
    expect(said(promtool!, ['check', 'config', join(folder, 'prometheus.yaml')]).status).not.toBe(0);
  },
);

test.skipIf(amtool === undefined)('amtool accepts the configuration of the demo', () => {
  const checked = said(amtool!, ['check-config', join(FOLDER, 'alertmanager.demo.yaml')]);
  expect(checked).toMatchObject({ status: 0, stderr: '' });
  expect(checked.stdout).toContain('SUCCESS');
});
