/** `opsd` without arguments: in a folder without a configuration, with one, and with a running daemon. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { ServerDeps } from '#operate/server.ts';
import { engine, incident, incidents, ledger, NOW, serving, storedPlan, world } from '../operate/http/world.ts';
import { tempDir } from '../support/temp-dir.ts';
import { opsd, type TerminalOptions } from './terminal.ts';

const VALID = 'storage: { sqlite: { path: opsd.db } }\naccounts: [{ name: a, url: "http://127.0.0.1:9", token: t }]\n';

function configured(text: string): string {
  const file = join(tempDir(), 'config.yaml');
  writeFileSync(file, text);
  return file;
}

async function state(deps: Partial<ServerDeps>, options: TerminalOptions = {}) {
  const socketPath = join(tempDir(), 's');
  await serving(world({ pagesUrl: () => 'https://opsd.example.com', ...deps }), { socketPath });
  return opsd([], { isTTY: true, env: { NO_COLOR: '1', OPSD_SOCKET: socketPath }, ...options });
}

test('without a configuration it offers init and demo', async () => {
  expect(await opsd([])).toEqual({
    code: 0,
    stderr: '',
    stdout: `\
There is no configuration at config.yaml.

  opsd init
      Connect an account: asks for its URL and token, tries them, and writes the
      file.
  opsd demo
      Look around first: a daemon with sample traffic, without an account.

All commands: opsd help
`,
  });
  const npm = { npm_lifecycle_event: 'opsd', npm_package_name: 'msgsvc-opsd', OPSD_CONFIG: '/none/x.yaml' };
  const { stdout } = await opsd([], { env: npm });
  expect(stdout).toContain('  npm run --silent opsd -- init --output /none/x.yaml\n');
});

test.each([
  ['a valid configuration', VALID, 'is here, and no daemon runs with it', ['check', 'run']],
  ['an invalid one', 'accounts: [', 'is invalid', ['check']],
])('with %s it offers what comes next', async (_what, text, said, commands) => {
  const file = configured(text);
  const { code, stdout, stderr } = await opsd([], { env: { OPSD_CONFIG: file } });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.startsWith(`The configuration ${file} ${said}.\n`)).toBe(true);
  expect([...stdout.matchAll(/^ {2}opsd (\w+)/gm)].map(([, command]) => command)).toEqual(commands);
});

const TROUBLE: Partial<ServerDeps> = {
  accounts: [{ name: 'production' }],
  incidents: incidents({ all: () => [incident(), incident({ id: 'i-12', state: 'acknowledged' })] }),
  ledger: ledger({ storedPlans: async () => [storedPlan()] }),
  engine: engine({
    conditions: () => [
      {
        key: 'unknown/1',
        severity: 'critical',
        summary: 'An outcome is unknown',
        detail: `the response was ${'lost '.repeat(9)}`,
        since: NOW,
      },
    ],
  }),
};

test('a daemon has five lines, cut at the width of the terminal', async () => {
  expect(await state(TROUBLE)).toEqual({
    code: 0,
    stderr: '',
    stdout: `\
■ trouble: 2 problems  opsd 0.1.0, up 1 h
  problem   ■ An outcome is unknown: the response was lost lost lost lost lost …
  incidents 1 open  opsd incidents
  approvals 1 pending  opsd approve 9f3c2a
  pages     https://opsd.example.com  more: opsd status
`,
  });
});

test('all is well in five lines as well, in color', async () => {
  const { socketPath } = { socketPath: join(tempDir(), 's') };
  await serving(world({ pagesUrl: () => undefined }), { socketPath });
  const { stdout } = await opsd([], { isTTY: true, env: { OPSD_SOCKET: socketPath } });
  expect(stdout).toContain('\u001B[32m● All is well');
  const plain = stripVTControlCharacters(stdout).split('\n');
  expect(plain.slice(1)).toEqual([
    '  problem   none',
    '  incidents none open',
    '  approvals none pending',
    '  pages     not served  more: opsd status',
    '',
  ]);
});

test('approvals are unknown if the store cannot be read', async () => {
  const { code, stdout } = await state({
    ledger: { ...ledger(), view: () => Promise.reject(new Error('disk I/O error')) },
  });
  expect(code).toBe(0);
  expect(stdout).toContain('approvals unknown: the store cannot be read\n');
});

test('a daemon that the environment names must respond', async () => {
  const { code, stdout, stderr } = await opsd([], { env: { OPSD_SOCKET: '/none/opsd.sock' } });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('no daemon listens on /none/opsd.sock');
});
