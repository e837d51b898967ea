/** The package, packed, installed into an empty folder without a network, and used there. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { deserialize } from 'node:v8';
import { hashSync } from 'bcryptjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressOf } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { basic } from '../support/https.ts';
import { installedPackage, type InstalledPackage } from '../support/installed-package.ts';
import { otlpSink } from '../support/otlp-sink.ts';
import { installed as programNamed, start, type Program } from '../support/program.ts';
import { OWN_SERVERS, ownServer } from '../support/postgres/servers.ts';
import { publish } from '../support/service.ts';
import { testLanguages } from './emulator-languages.ts';
import { testTutorials } from './tutorials.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const MEBIBYTE = 1_048_576;
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const PASSWORD = 'package-password';

let installed: InstalledPackage;
beforeAll(async () => {
  installed = await installedPackage();
});
afterAll(() => installed[Symbol.dispose]());

/** Runs the command to its end. Returns its output. */
async function said(args: readonly string[], code = 0): Promise<string> {
  const program = installed.opsd(args);
  expect((await program.ended).code, program.stderr() + program.stdout()).toBe(code);
  return program.stdout();
}

/** Returns the first line that the program prints, as JSON. */
function ready<T>(program: Program): Promise<T> {
  return until({ what: 'the program is ready' }, () =>
    program.stdout().includes('\n') ? (JSON.parse(program.stdout().split('\n')[0]!) as T) : undefined,
  );
}

async function emulator(): Promise<{ readonly url: string; readonly token: string }> {
  const args = ['emulator', '--listen=127.0.0.1:0', '--token=test-token', '--account=acc-1'];
  return { ...(await ready<{ readonly url: string }>(installed.opsd(args))), token: 'test-token' };
}

function write(name: string, text: string): string {
  writeFileSync(join(installed.folder, name), text);
  return name;
}

test('it is small, has only what users need, and leaves the checkout unchanged', () => {
  const { home, tarball, copy, folder } = installed;
  expect(statSync(tarball).size).toBeLessThan(3 * MEBIBYTE);
  const files = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) =>
    statSync(join(home, path)).isFile(),
  );
  expect(
    files
      .filter((path) => !/^(?:dist|docs|policies|dashboards\/import|deploy\/(?:prometheus|postgres))\//.test(path))
      .toSorted(),
  ).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'config.example.yaml', 'config.schema.json', 'package.json']);
  expect(files).toEqual(
    expect.arrayContaining([
      'dist/opsd.js',
      'dist/main.cjs.map',
      'dist/emulator.d.cts',
      'dist/emulator.d.ts',
      'dist/THIRD-PARTY-LICENSES.txt',
    ]),
  );
  // The documentation: a help text names a page that its reader has.
  const pages = (root: string): string[] => globSync('docs/**/*.md', { cwd: root }).toSorted();
  expect(pages(home)).toEqual(pages(ROOT));
  expect(files.filter((path) => path.startsWith('docs/') && !path.endsWith('.md'))).toEqual([]);
  const texts = globSync('dist/*.{js,cjs}', { cwd: home }).map((path) => readFileSync(join(home, path), 'utf8'));
  const named = texts.flatMap((text) => text.match(/\bdocs\/[\w/-]+\.md\b/g) ?? []);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(home, path)))).toEqual([]);
  expect(readFileSync(join(home, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8')).toMatch(/^undici \S+ \(MIT\)$/m);
  // The package alone: nothing else was installed, from a network or otherwise.
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['msgsvc-opsd']);
  expect(readFileSync(join(copy, 'package.json'))).toEqual(readFileSync(join(ROOT, 'package.json')));
  expect(existsSync(join(copy, '.package.json.kept'))).toBe(false);
});

test('the bundle imports only parts of Node and of itself', () => {
  const dist = join(installed.home, 'dist');
  const chunks = readdirSync(dist).filter((name) => /\.c?js$/.test(name));
  const named = chunks.flatMap((name) => {
    const text = readFileSync(join(dist, name), 'utf8');
    // Node would print a warning, since load.js runs the parts.
    if (name.endsWith('.cjs')) expect(text, name).not.toMatch(/\bimport\(/);
    return [...text.matchAll(/(?:\bfrom|\bimport|require\(|\bimport\()\s*"([\w@./:-]+)"/g)].map(([, one]) => one!);
  });
  expect(named).toContain('node:sqlite');
  const others = named.filter((one) => !isBuiltin(one) && !chunks.includes(one.replace('./', '')));
  // Exporters of OpenTelemetry that nothing creates, and the native driver of PostgreSQL that nothing asks for.
  expect(others.filter((one) => one !== '@grpc/grpc-js' && one !== 'pg-native')).toEqual([]);
});

test('it records an emulator, starts another one from the file, and prints no warning of Node', async () => {
  const seed = write('seed.yaml', 'failedRuns: [{ url: "https://shop.example/", count: 3, status: 503 }]');
  const args = ['emulator', '--listen=127.0.0.1:0', '--token=test-token', '--seed'];
  const first = installed.opsd([...args, seed]);
  const { url } = await ready<{ readonly url: string }>(first);
  const store = `storage: { sqlite: { path: record.db } }\n`;
  const config = write('record.yaml', `${store}accounts: [{ name: shop, url: "${url}", token: test-token }]\n`);
  const recording = installed.opsd(['record', '--out=recorded.yaml', '--config', config]);
  expect((await recording.ended).code, recording.stderr()).toBe(0);
  expect(recording.stderr()).toContain('Recorded: 0 messages, 0 failed messages, 3 failed runs');
  const second = installed.opsd([...args, 'recorded.yaml']);
  const answer = await fetch(`${(await ready<{ readonly url: string }>(second)).url}/v2/workflows/dlq`, {
    headers: { Authorization: 'Bearer test-token' },
  });
  const statuses = ((await answer.json()) as { messages: { responseStatus: number }[] }).messages;
  expect(statuses.map(({ responseStatus }) => responseStatus)).toEqual([503, 503, 503]);
  const here = installed.opsd([]);
  expect([(await here.ended).code, here.stderr()]).toEqual([0, '']);
  expect([first, recording, second].map((program) => /\(node:\d+\)/.test(program.stderr()))).toEqual([
    false,
    false,
    false,
  ]);
});

test('the parts that a start loads are ASCII, which V8 keeps in half the memory', () => {
  const dist = join(installed.home, 'dist');
  const start = readdirSync(dist).filter((name) => /^(?:main|daemon|run|expression|settings).*\.cjs$/.test(name));
  expect(start.length).toBeGreaterThan(5);
  expect(start.filter((name) => /[^\0-\x7f]/.test(readFileSync(join(dist, name), 'utf8')))).toEqual([]);
});

test('every package in the bundle is in the list of licenses', () => {
  const dist = join(installed.home, 'dist');
  const sources = readdirSync(dist)
    .filter((name) => name.endsWith('.map'))
    .flatMap((name) => (JSON.parse(readFileSync(join(dist, name), 'utf8')) as { sources: string[] }).sources);
  const bundled = new Set(sources.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));
  expect(bundled.size).toBeGreaterThan(15);
  const text = readFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  const listed = new Set([...text.matchAll(/^(\S+) \d+\.\d+\.\d+\S* \(.+\)$/gm)].map(([, name]) => name!));
  expect([...bundled].toSorted()).toEqual([...listed].toSorted());
});

test('a command loads only its parts', async () => {
  const log = join(installed.folder, 'loaded.txt');
  const hook = write(
    'loaded.mjs',
    `import { registerHooks } from 'node:module';
import { appendFileSync } from 'node:fs';
registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(log)}, url + '\\n'); return next(url, context); } });`,
  );
  const program = installed.opsd(['version'], { NODE_OPTIONS: `--import ./${hook}`, NODE_DISABLE_COMPILE_CACHE: '1' });
  expect((await program.ended).code, program.stderr()).toBe(0);
  const loaded = readFileSync(log, 'utf8')
    .split('\n')
    .filter((url) => url.includes('/dist/'));
  expect(loaded.length).toBeGreaterThan(1);
  const bytes = loaded.reduce((sum, url) => sum + statSync(new URL(url)).size, 0);
  expect(bytes).toBeLessThan(MEBIBYTE / 2);
});

test('a command keeps its compiled code in the folder of the user, and runs it', async () => {
  const caches = join(installed.folder, 'caches');
  mkdirSync(caches);
  for (const _start of ['without', 'with']) {
    const program = installed.opsd(['version'], { XDG_CACHE_HOME: caches });
    expect((await program.ended).code, program.stderr()).toBe(0);
    expect(program.stdout()).toContain(`opsd ${VERSION} (`);
    const kept = readdirSync(caches, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.parts'));
    expect(kept).toEqual([expect.stringMatching(/^opsd\/[^/]+\/version\.parts$/)]);
  }
});

test('the expression language and cron are loaded only for a configuration that uses them', async () => {
  const account = '{ name: shop, url: "http://127.0.0.1:9", token: secret }';
  const plain = `server: { listen: "127.0.0.1:0" }\nstorage: { sqlite: { path: parts.db } }\naccounts: [${account}]\n`;
  const policy = `
policies:
  - name: resume
    account: shop
    schedule: "0 * * * *"
    select: { resource: workflow-dlq }
    where: entry.labels.exists(label, re(label, "billing"))
    action: { type: workflow-dlq.resume, retries: 0 }
`;
  const daemon = installed.opsd(['run', '--config', write('plain.yaml', plain)], { XDG_CACHE_HOME: 'of-plain' });
  expect((await fetch(`${await addressOf(daemon)}/metrics`)).status).toBe(200);
  await daemon.stop();
  const check = installed.opsd(['check', write('used.yaml', plain + policy)], { XDG_CACHE_HOME: 'of-used' });
  expect((await check.ended).code, check.stdout() + check.stderr()).toBe(0);
  const few = (name: string) => /^(?:cron|expressions)-/.test(name);
  expect(keptParts('of-plain').length).toBeGreaterThan(20);
  expect(keptParts('of-plain').filter(few)).toEqual([]);
  expect(keptParts('of-used').filter(few)).toHaveLength(2);
});

test.each(OWN_SERVERS)('the driver of %s is loaded only for a configuration that uses it', async () => {
  const { url } = await ownServer();
  const config = (storage: string): string =>
    `server: { listen: "127.0.0.1:0" }\nstorage: ${storage}\naccounts: [{ name: shop, url: "http://127.0.0.1:9", token: secret }]\n`;
  const isDriver = (name: string): boolean => /^(?:postgres-database|shared-storage)-/.test(name);
  for (const [name, storage, parts] of [
    ['shared', `{ postgres: { url: "${url}/postgres" } }`, 2],
    ['alone', '{ sqlite: { path: alone.db } }', 0],
  ] as const) {
    const file = write(`${name}.yaml`, config(storage));
    const daemon = installed.opsd(['run', '--config', file], { XDG_CACHE_HOME: `of-${name}` });
    expect((await fetch(`${await addressOf(daemon)}/metrics`)).status).toBe(200);
    await daemon.stop();
    expect(daemon.stderr()).not.toMatch(/warning/i);
    expect(keptParts(`of-${name}`).filter(isDriver)).toHaveLength(parts);
  }
});

/** Returns the names of the parts that a command has loaded, which are those whose code is kept. */
function keptParts(caches: string): readonly string[] {
  const folder = join(installed.folder, caches);
  const file = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('.parts'));
  // A checksum precedes the map.
  return [...(deserialize(readFileSync(join(folder, file!)).subarray(4)) as Map<string, unknown>).keys()];
}

test('opsd demo runs: metrics, pages with their assets, and spans', async () => {
  const spans = await otlpSink();
  const demo = installed.opsd(['demo', '--listen', '127.0.0.1:0'], { OTEL_EXPORTER_OTLP_ENDPOINT: spans.url });
  const { url } = await ready<{ readonly url: string }>(demo);
  await until(
    { what: 'deliveries are counted' },
    async () => (await scrape(url)).sum('msgsvc_log_events_total', { state: 'DELIVERED' }) > 0,
  );
  const page = await (await fetch(url)).text();
  for (const [, asset] of page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)) {
    expect((await fetch(url + asset!)).status, asset).toBe(200);
  }
  expect(page).toMatch(/src="\/assets\/opsd-\w+\.js"/);
  await until(
    { what: 'spans of deliveries and of the daemon' },
    () => new Set(spans.spans.map(({ kind }) => kind)).size > 1,
  );
  await demo.stop();
});

test('check, run, plan, state, and test work with the packed files', async () => {
  const service = await emulator();
  const web = write('web.yaml', `basic_auth_users:\n  alice: ${hashSync(PASSWORD, 4)}\n`);
  const config = write(
    'opsd.yaml',
    `
server: { listen: "127.0.0.1:0", webConfigFile: ${web}, users: { alice: admin } }
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: production
    messageApi: { url: "${service.url}", token: ${service.token} }
    collectors: { logs: { every: 1s, lag: 1s } }
policies:
  - name: resume-billing
    account: production
    mode: approve
    every: 1h
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }
`,
  );
  expect(await said(['version'])).toContain(`opsd ${VERSION} (`);
  expect(await said(['check', config])).toContain('resume-billing');
  const daemon = installed.opsd(['run', '--config', config]);
  const url = await addressOf(daemon);
  await publish(service, 'http://127.0.0.1:9/nobody');
  await until({ what: 'the daemon is ready' }, async () => (await fetch(`${url}/-/ready`)).status === 200);
  const metricsAs = (authorization: string) => fetch(`${url}/metrics`, { headers: { authorization } });
  expect((await metricsAs(basic('alice', 'wrong'))).status).toBe(401);
  expect((await metricsAs(basic('alice', PASSWORD))).status).toBe(200);

  const socket = ['--socket', 'opsd.db.sock'];
  expect(await said(['plan', 'resume-billing', ...socket])).toContain('resume-billing');
  await said(['state', 'backup', join(installed.folder, 'backup.db'), ...socket]);
  expect(existsSync(join(installed.folder, 'backup.db'))).toBe(true);
  await daemon.stop();

  const policies = join(installed.home, 'policies');
  const tests = readdirSync(policies).filter((name) => name.endsWith('_test.yaml'));
  expect(tests.length).toBeGreaterThan(3);
  await said(['test', ...tests.map((name) => join(policies, name))]);
  expect(await said(['schema'])).toBe(readFileSync(join(installed.home, 'config.schema.json'), 'utf8'));
});

const old = programNamed('node-12');
test.skipIf(old === undefined)('an old Node gets one sentence and exit code 1', async () => {
  const program = start(old!, [join(installed.home, 'dist/opsd.js'), 'demo'], { cwd: installed.folder });
  expect((await program.ended).code).toBe(1);
  expect(program.stdout()).toBe('');
  expect(program.stderr()).toMatch(/^opsd requires Node 24\.\d+ or newer; this is Node 12\.\d+\.\d+\.\n$/);
});

test('the library leaves the process of its user as it is, and the fetch of that process', async () => {
  const script = `
const facts = () => ({
  globals: Reflect.ownKeys(globalThis).map(String),
  listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
  env: { ...process.env },
  resources: process.getActiveResourcesInfo(),
  errors: [Error.stackTraceLimit, typeof Error.prepareStackTrace],
});
// Node opens it when it loads node:assert.
void process.stderr;
const before = facts();
const { startEmulator } = FORM('msgsvc-opsd/emulator');
const after = facts();
startEmulator().then((emulator) => emulator.stop()).then(() => console.log(JSON.stringify([before, after, facts().globals])));
`;
  for (const [type, form] of [
    ['commonjs', 'require'],
    ['module', 'await import'],
  ]) {
    const args = [`--input-type=${type}`, '-e', script.replace('FORM', form!)];
    const program = start(process.execPath, args, { cwd: installed.folder });
    expect((await program.ended).code, program.stderr()).toBe(0);
    const [before, after, globals] = JSON.parse(program.stdout()) as [{ readonly globals: string[] }, object, string[]];
    expect(after, type).toEqual(before);
    expect(globals, type).toEqual(before.globals);
  }
});

/**
 * Loads the library as jest does: CommonJS in a context of its own, by `require` alone. Then all its timers are fake, and
 * those of `node:timers` too, as with sinon.
 */
const AS_JEST_DOES = `
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname } = require('node:path');
const { createContext, runInContext } = require('node:vm');
const timers = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask'];
const context = createContext();
const own = runInContext('Object.getOwnPropertyNames(globalThis)', context);
for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (!own.includes(name)) Object.defineProperty(context, name, Object.getOwnPropertyDescriptor(globalThis, name));
}
context.global = context;
const modules = new Map();
function load(file) {
  if (modules.has(file)) return modules.get(file).exports;
  const module = { exports: {} };
  modules.set(file, module);
  const required = createRequire(file);
  const requireFrom = (id) => (id.startsWith('.') ? load(required.resolve(id)) : required(id));
  const wrapped = '(function (module, exports, require, __filename, __dirname) {' + readFileSync(file, 'utf8') + '\\n})';
  runInContext(wrapped, context, { filename: file })(module, module.exports, requireFrom, file, dirname(file));
  return module.exports;
}
const { startEmulator } = load(require.resolve('msgsvc-opsd/emulator'));
for (const name of timers) context[name] = require('node:timers')[name] = () => undefined;
Object.defineProperty(context, 'performance', { value: { now: () => 0 } });
context.Date = class extends runInContext('Date', context) { static now() { return 0; } };
(async () => {
  const emulator = await startEmulator({ time: 'virtual' });
  await emulator.destinations.script('shop.example', [503, 'cut', 'reset', 200]);
  const sent = { method: 'POST', headers: { Authorization: 'Bearer token' }, body: 'order' };
  for (const path of ['/a', '/b', '/c']) await fetch(emulator.url + '/v2/publish/https://shop.example' + path, sent);
  await emulator.clock.advance(3_600_000);
  const states = emulator.messages().map(({ state }) => state).join();
  const { status } = await fetch(emulator.url);
  await emulator.stop();
  console.log(states, status);
})();
`;

test('jest can require the library, and fake timers do not stop it', async () => {
  const program = start(process.execPath, ['--input-type=commonjs', '-e', AS_JEST_DOES], { cwd: installed.folder });
  expect((await program.ended).code, program.stderr()).toBe(0);
  expect(program.stdout()).toBe('DELIVERED,DELIVERED,DELIVERED 200\n');
});

test('the types of the library compile without other types', () => {
  const consumer = write(
    'consumer.ts',
    `import { startEmulator, type DeadLetter, type EmulatorMessage, type FaultRule } from 'msgsvc-opsd/emulator';

const rule: FaultRule = { operations: ['publish', 'trigger'], times: 2, fault: { kind: 'rate-limit', form: 'burst' } };
await using emulator = await startEmulator({ token: 'test', time: 'virtual', hosts: { 'shop.example': 3000 } });
const { id } = emulator.faults.add(rule);
const removed: boolean = emulator.faults.remove(id);
await emulator.destinations.script('billing.example', [503, 'hang', { status: 429, retryAfter: 60 }]);
await emulator.clock.advance(1_000);
await emulator.clock.set(new Date('2040-01-01'));
const messages: readonly EmulatorMessage[] = emulator.messages();
const letters: readonly DeadLetter[] = emulator.deadLetters();
export const seen: [string, number, boolean, number, number] = [emulator.url, emulator.clock.now(), removed, messages.length, letters.length];
// @ts-expect-error -- an unknown option
void startEmulator({ tokn: 'test' });
// @ts-expect-error -- an unknown operation
emulator.faults.add({ operations: ['publsh'], fault: { kind: 'lost' } });
`,
  );
  const options =
    '--strict --skipLibCheck false --exactOptionalPropertyTypes --target es2024 --module nodenext --types --noEmit';
  const required = write(
    'consumer.cts',
    `import library = require('msgsvc-opsd/emulator');
export const started: Promise<library.Emulator> = library.startEmulator({ time: 'virtual' });
`,
  );
  const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '--ignoreConfig', ...options.split(' ')];
  expect(compile([...tsc, consumer, required])).toBe('');
});

function compile(args: readonly string[]): string {
  try {
    return execFileSync(process.execPath, args, { cwd: installed.folder, encoding: 'utf8' });
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
}

const EXAMPLE = /```ts (\S+)\n(.*?)```/gs;

test('the examples of the documentation pass', async () => {
  const texts = ['emulator/README.md', 'docs/emulator-reference.md'].map((path) =>
    readFileSync(join(ROOT, path), 'utf8'),
  );
  const names = [...texts.join('').matchAll(EXAMPLE)].map(([, name, code]) => write(name!, code!));
  expect(names).toEqual(['first.test.ts', 'orders.test.ts']);
  // The user's own installation of vitest.
  symlinkSync(join(ROOT, 'node_modules/vitest'), join(installed.folder, 'node_modules/vitest'));
  const vitest = start(
    process.execPath,
    [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--reporter=json', '--outputFile=report.json'],
    { cwd: installed.folder },
  );
  expect((await vitest.ended).code, vitest.stdout() + vitest.stderr()).toBe(0);
  expect(JSON.parse(readFileSync(join(installed.folder, 'report.json'), 'utf8'))).toMatchObject({
    numPassedTests: 2,
    numTotalTests: 2,
  });
});

// Here, because a package is packed and installed in half a minute.
testTutorials(() => installed);
testLanguages(() => installed);
