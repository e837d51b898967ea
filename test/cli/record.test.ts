/** `opsd record`: a seed from an account by reads only, whose emulator has the same counts, and no data of the account. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { startEmulator } from '#emulator/testing/start.ts';
import type { Emulator, EmulatorSeed } from '#emulator/types/public.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { tempDir } from '../support/temp-dir.ts';
import { opsd } from './terminal.ts';

/** Part of every text that must not be in the file. */
const SECRET = 'c4n4ry';
const URL_OF = (path: string) => `https://shop-${SECRET}.example/${path}/${SECRET}?token=${SECRET}`;
const FULL_URL_OF = (path: string) =>
  URL_OF(path).replace('//', `//user:${SECRET}@`).replace('.example', '.example:8443');

const ACCOUNT: EmulatorSeed = {
  plan: 'enterprise',
  limits: { max_parallelism: 500 },
  urlGroups: [{ name: `orders-${SECRET}`, endpoints: [{ url: URL_OF('orders'), name: `first-${SECRET}` }] }],
  flowControlKeys: [
    { key: `billing-${SECRET}`, parallelism: 300, rate: { max: 1_000, periodMs: 60_000 } },
    { key: `held-${SECRET}`, paused: true },
  ],
  deadLetters: [
    {
      url: FULL_URL_OF('a'),
      count: 3,
      body: SECRET,
      labels: [`a-${SECRET}`],
      flowControlKey: `billing-${SECRET}`,
      status: 503,
      responseBody: SECRET,
      agoMs: 10 * 86_400_000,
    },
    { url: 'http://127.0.0.1/b', count: 2, status: 404 },
    { url: URL_OF('c') },
  ],
  failedRuns: [
    { url: URL_OF('flow'), status: 500, body: SECRET, failureFunctionState: 'CALLBACK_FAIL' },
    { url: URL_OF('flow'), status: 500, failureFunctionState: 'CALLBACK_SUCCESS' },
    { url: URL_OF('flow2'), count: 4, flowControlKey: `billing-${SECRET}`, labels: [`x-${SECRET}`, 'y'] },
  ],
  destinations: { [`shop-${SECRET}.example`]: [200] },
  messages: [
    {
      destination: URL_OF('later'),
      body: SECRET,
      delay: '30d',
      retries: 12,
      label: `a-${SECRET}`,
      headers: { 'X-Order': SECRET },
    },
    { destination: URL_OF('now'), body: SECRET, count: 5, method: 'PUT' },
    { destination: URL_OF('held'), count: 2, flowControlKey: `held-${SECRET}`, flowControlValue: 'parallelism=2' },
    { destination: URL_OF('run'), workflow: true, count: 2 },
  ],
};

async function emulatorOf(seed: EmulatorSeed): Promise<Emulator> {
  // In real time, idle() would wait for the message that is due in a month.
  const emulator = await startEmulator({ time: 'virtual' });
  onTestFinished(() => emulator.stop());
  await emulator.seed(seed);
  await emulator.idle();
  return emulator;
}

function configFor(...emulators: readonly Emulator[]): string {
  const file = join(tempDir(), 'opsd.yaml');
  const accounts = emulators.map(({ url, token }, index) => ({
    name: `account-${index + 1}`,
    messageApi: { url, token },
  }));
  writeFileSync(file, JSON.stringify({ storage: { sqlite: { path: 'opsd.db' } }, accounts }));
  return file;
}

async function record(config: string, ...args: readonly string[]) {
  const out = join(tempDir(), 'seed.yaml');
  const ended = await opsd(['record', '--out', out, '--config', config, ...args], { clock: systemClock });
  const text = existsSync(out) ? readFileSync(out, 'utf8') : '';
  return { ...ended, out, text, seed: parse(text) as EmulatorSeed };
}

function tally(texts: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(texts, (text) => text)].map(([text, all]) => [text, all.length]));
}

/** Counts by queue, state and status, and the settings of the keys of failures and of paused messages. */
async function countsOf(emulator: Emulator, keys: readonly string[]) {
  const { url, token } = emulator;
  const headers = { Authorization: `Bearer ${token}` };
  const dlq = (await (await fetch(`${url}/v2/workflows/dlq`, { headers })).json()) as {
    messages: { responseStatus?: number; failureFunctionState?: string }[];
  };
  const settings = keys.map(async (key) => {
    const answer = await fetch(`${url}/v2/flowControl/${key}`, { headers });
    const { parallelismMax, rateMax, ratePeriod, isPaused, waitListSize } = (await answer.json()) as Record<
      string,
      unknown
    >;
    return { parallelismMax, rateMax, ratePeriod, isPaused, waitListSize };
  });
  return {
    states: tally(emulator.messages().map(({ state }) => state)),
    letters: tally(emulator.deadLetters().map(({ kind }) => kind)),
    runs: tally(
      dlq.messages.map(({ responseStatus, failureFunctionState }) => `${responseStatus} ${failureFunctionState}`),
    ),
    settings: await Promise.all(settings),
  };
}

test('an emulator of the file has the same counts and settings, and the file has no data of the account', async () => {
  const first = await emulatorOf(ACCOUNT);
  const before = first.requests().length;
  const done = await record(configFor(first));
  expect(done).toMatchObject({ code: 0, stdout: '' });
  expect(done.stderr).toContain(
    `Recorded: 10 messages, 6 failed messages, 6 failed runs, 2 flow-control keys, 1 URL Group\nWritten: ${done.out}\n`,
  );
  expect(
    first
      .requests()
      .slice(before)
      .every(({ method }) => method === 'GET'),
  ).toBe(true);
  expect(statSync(done.out).mode & 0o777).toBe(0o600);
  const all = done.text + done.stderr.replace(done.out, '') + done.stdout;
  expect(all).not.toContain(SECRET);
  expect(all).not.toMatch(/shop|127\.0\.0\.1|msg_|wfr_|orders|8443|billing/);

  const second = await emulatorOf(done.seed);
  const keys = done.seed.flowControlKeys!.map(({ key }) => key);
  const of = { held: keys.find((key) => done.text.includes(`key: ${key}, parallelism: 2, paused: true`))! };
  const billing = keys.find((key) => key !== of.held)!;
  expect(await countsOf(second, [billing, of.held])).toEqual(
    await countsOf(first, [`billing-${SECRET}`, `held-${SECRET}`]),
  );
  const statuses = ({ deadLetters = [] }: EmulatorSeed) =>
    tally(deadLetters.map(({ status, count = 1, agoMs = 0 }) => `${count} of ${status}, ${agoMs} ms ago`));
  expect(statuses(done.seed)).toEqual(statuses(ACCOUNT));
  // Recorded again, it is the same.
  expect(tally((await record(configFor(second))).text.match(/count: \d+|status: \d+|delay|paused/g)!)).toEqual(
    tally(done.text.match(/count: \d+|status: \d+|delay|paused/g)!),
  );
});

test('the same host, path and label have the same pseudonym', async () => {
  const emulator = await emulatorOf({
    deadLetters: [
      { url: 'https://a.example/x', labels: ['one'], status: 500 },
      { url: 'https://a.example/y', labels: ['one', 'two'], status: 501 },
      { url: 'http://b.example/x?k=1', labels: ['two'], status: 502 },
    ],
  });
  const { deadLetters } = (await record(configFor(emulator))).seed;
  const [first, second, third] = deadLetters!.toSorted((a, b) => a.status! - b.status!).map(({ url }) => new URL(url));
  expect(first!.host).toBe(second!.host);
  expect(first!.host).not.toBe(third!.host);
  expect([first!.pathname, third!.protocol]).toEqual([third!.pathname, 'http:']);
  const [labels, both] = deadLetters!.toSorted((a, b) => a.status! - b.status!).map((one) => one.labels!);
  expect(both![0]).toBe(labels![0]);
});

test('it has at most --max messages and failed runs', async () => {
  const emulator = await emulatorOf({
    failedRuns: [{ url: 'https://a.example/', count: 7, status: 500 }],
    deadLetters: [{ url: 'https://a.example/', count: 9, status: 500 }],
  });
  const { stderr } = await record(configFor(emulator), '--max', '4');
  expect(stderr).toContain('4 failed runs');
  expect(Number(/(\d+) failed messages?/.exec(stderr)![1])).toBeLessThanOrEqual(4);
});

test('one of several accounts must be named', async () => {
  const [one, two] = [await emulatorOf({ deadLetters: [{ url: 'https://a.example/' }] }), await emulatorOf({})];
  const config = configFor(one, two);
  const refused = await record(config);
  expect(refused).toMatchObject({ code: 1, text: '' });
  expect(refused.stderr).toContain('account-1, account-2');
  expect((await record(config, '--account', 'account-1')).stderr).toContain('1 failed message,');
  // An account without anything has a seed as well.
  expect((await record(config, '--account', 'account-2')).seed).toEqual({ plan: 'enterprise' });
});

test('an existing file stays without --force, and - is stdout', async () => {
  const config = configFor(await emulatorOf({}));
  const out = join(tempDir(), 'seed.yaml');
  writeFileSync(out, 'mine');
  const line = ['record', '--config', config, '--out'];
  const refused = await opsd([...line, out], { clock: systemClock });
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`${out} exists; nothing was changed`),
  });
  expect(readFileSync(out, 'utf8')).toBe('mine');
  expect(await opsd([...line, out, '--force'], { clock: systemClock })).toMatchObject({ code: 0 });
  const { stdout } = await opsd([...line, '-'], { clock: systemClock });
  expect(stdout).toBe(readFileSync(out, 'utf8'));
});
