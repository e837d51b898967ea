/** Direct mode: a command without a running daemon starts one for itself. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { parseArguments } from '#cli/arguments.ts';
import type { Call, DirectNeeds } from '#cli/command.ts';
import { exchange } from '#cli/daemon-exchange.ts';
import { ALL_COMMANDS } from '#cli/help.ts';
import { findDaemon } from '#cli/daemon-option.ts';
import { auditPathOf, readAudit } from '#automate/ledger/audit-reader.ts';
import { openStore } from '#storage/sqlite.ts';
import { httpSink } from '../support/http-sink.ts';
import { putEndpoints, TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { shellWords } from './shell-words.ts';
import { terminal } from './terminal.ts';

const READS: DirectNeeds = { writes: false, collectors: ['urlGroups'] };
const WRITES: DirectNeeds = { writes: true, collectors: [] };

/** A configuration with a receiver of notifications and a policy, and no daemon. */
async function world() {
  const service = await testEmulator();
  const receiver = await httpSink();
  const folder = tempDir();
  const config = join(folder, 'opsd.yaml');
  writeFileSync(
    config,
    `
storage: { sqlite: { path: opsd.db } }
accounts: [{ name: production, url: "${service.url}", token: ${TEST_TOKEN} }]
notifications: { infoAfter: 0s, webhook: { url: "${receiver.url}" } }
telemetry: { traces: { otlp: { url: "${receiver.url}" } } }
policies:
  - name: resume-all
    account: production
    mode: enforce
    every: 1s
    select: { resource: workflow-dlq }
    action: { type: workflow-dlq.resume }
`,
  );
  return { service: { url: service.url, token: TEST_TOKEN }, folder, config, store: join(folder, 'opsd.db'), receiver };
}

/** A command in progress. It ends with the test. */
function command(values: Record<string, string>, env: Record<string, string> = {}) {
  const shown = terminal({ clock: systemClock, env });
  const parts = new AsyncDisposableStack();
  onTestFinished(() => parts.disposeAsync());
  return { shown, parts, call: { io: shown.io, programs: shown.programs, parts, values, positionals: [] } };
}

test('reads the service through the API without a daemon, and stores nothing', async () => {
  const { service, config, store } = await world();
  await putEndpoints(service, 'orders', [{ name: 'one', url: 'http://127.0.0.1:9/' }]);
  const { shown, call, parts } = command({ config });
  const daemon = await findDaemon(call, READS);
  const { sources } = await exchange(daemon, { method: 'GET', path: '/api/v1/sources' });
  const states = (sources as { collector: string; state: string; rows?: number }[]).filter(
    ({ state }) => state !== 'off',
  );
  expect(states).toMatchObject([{ collector: 'urlGroups', state: 'ok' }]);
  expect(shown.stderr).toContain('This command sends its requests to the service itself. It stores nothing');
  await parts.disposeAsync();
  expect([existsSync(store), existsSync(auditPathOf(store))]).toEqual([false, false]);
  if ('socketPath' in daemon) expect(existsSync(daemon.socketPath)).toBe(false);
});

test('a command that writes opens the configured store; no policy runs, and nothing is reported elsewhere', async () => {
  const { config, store, receiver } = await world();
  const { shown, call, parts } = command({}, { OPSD_CONFIG: config });
  const daemon = await findDaemon(call, WRITES);
  await exchange(daemon, { method: 'POST', path: '/api/v1/pause', body: { reason: 'a test' } });
  const { policies } = await exchange(daemon, { method: 'GET', path: '/api/v1/policies' });
  expect(policies).toMatchObject([{ name: 'resume-all', effectiveMode: 'off' }]);
  expect((policies as { nextRunAt?: number }[])[0]!.nextRunAt).toBeUndefined();
  expect(shown.stderr).toContain(`It holds the store ${store} until it ends; no policy runs.`);
  await parts.disposeAsync();
  const records = [];
  for await (const { type } of readAudit(auditPathOf(store))) records.push(type);
  expect(records).toEqual(['store.opened', 'pause']);
  expect(receiver.requests).toEqual([]);
});

test('a read-only daemon of a command cannot act', async () => {
  const { config } = await world();
  const { call } = command({ config });
  const daemon = await findDaemon(call, READS);
  const plan = await exchange(daemon, { method: 'POST', path: '/api/v1/plan', body: { policy: 'resume-all' } });
  expect(JSON.stringify(plan)).toContain('only reads');
});

test('a write does not compete with a daemon that has the store but no socket', async () => {
  const { config, store } = await world();
  using _held = openStore(store);
  const { call } = command({ config });
  await expect(findDaemon(call, WRITES)).rejects.toThrow(/another process/);
});

test('a running daemon answers, whatever it says', async () => {
  const { config, store } = await world();
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(`${store}.sock`, resolve));
  onTestFinished(() => void server.close());
  const { shown, call } = command({ config });
  expect(await findDaemon(call, READS)).toMatchObject({ socketPath: `${store}.sock` });
  expect([shown.started, shown.stderr]).toEqual([[], '']);
});

test.each([
  ['the configuration is only found in the folder', {}],
  ['the socket is named', { socket: '/nowhere/opsd.db.sock' }],
])('a daemon is required if %s', async (_why, values) => {
  const { folder, config } = await world();
  writeFileSync(join(folder, 'config.yaml'), readFileSync(config));
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => process.chdir(before));
  const { shown, call } = command(values);
  expect(await findDaemon(call, READS)).toBeDefined();
  expect(shown.started).toEqual([]);
});

test('a daemon is required for commands without direct mode', async () => {
  const { config } = await world();
  const { shown, call } = command({ config });
  await findDaemon(call);
  expect(shown.started).toEqual([]);
});

test('the embedded service needs a daemon', async () => {
  const { folder } = await world();
  const config = join(folder, 'embedded.yaml');
  writeFileSync(config, 'storage: { sqlite: { path: other.db } }\naccounts: [{ name: here, url: embedded }]\n');
  const { call } = command({ config });
  await expect(findDaemon(call, READS)).rejects.toThrow(/account here uses the embedded service.*opsd run/);
});

test('without a named configuration, the error says that the command works without a daemon', async () => {
  const { call } = command({}, { OPSD_SOCKET: '/none/opsd.sock' });
  const unreachable = await findDaemon(call, READS);
  const name = 'name the configuration with --config: this command then works without a daemon';
  await expect(exchange(unreachable, { method: 'GET', path: '/' })).rejects.toThrow(name);
  const other = await findDaemon(call);
  await expect(exchange(other, { method: 'GET', path: '/' })).rejects.not.toThrow(name);
});

test('docs/commands.md lists the commands that work without a daemon', async () => {
  const { config, folder } = await world();
  writeFileSync(join(folder, 'payload.json'), '{}');
  const direct: string[] = [];
  for (const listed of ALL_COMMANDS) {
    const loaded = await listed.load();
    if (loaded.options['socket'] === undefined) continue;
    const example = shellWords(loaded.examples[0]).slice(1 + loaded.name.split(' ').length);
    const args = example.map((word) => word.replace('payload.json', join(folder, 'payload.json')));
    const { values, positionals } = parseArguments(loaded, args);
    const { call } = command({});
    const programs = { ...call.programs, direct: () => Promise.reject(new Error('direct')) };
    const shown = terminal({ clock: systemClock, answers: ['yes', 'production'], input: '{}' });
    const asked: Call = {
      ...call,
      io: shown.io,
      programs,
      values: { ...values, config, reason: 'x', yes: true },
      positionals,
    };
    const error: unknown = await loaded.run(asked).catch((thrown: unknown) => thrown);
    if (error instanceof Error && error.message === 'direct') direct.push(loaded.name);
  }
  const text = readFileSync(join(import.meta.dirname, '../../docs/commands.md'), 'utf8');
  const [, list] = /these commands work\s+directly: (.*?)\. /s.exec(text)!;
  const named = [...list!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
  const noun = (name: string): string => (named.includes(name) ? name : name.split(' ')[0]!);
  expect([...new Set(direct.map(noun))].toSorted()).toEqual(named.toSorted());
});
