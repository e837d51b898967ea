/** Reads of the store for each page of a daemon with 50 accounts, and pages over a store that responds slowly. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Daemon } from '#app/options.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { ROUTES } from '#operate/routes.ts';
import { cuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { SERVERS } from '../support/postgres/servers.ts';
import { emptyDatabase } from '../support/postgres/test-databases.ts';
import { daemonOf } from '../support/process-daemon.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const ACCOUNTS = Array.from({ length: 50 }, (_, index) => `shop-${index}`);
const server = SERVERS.at(-1)!;
/** Time after which a page is shown without what it did not read. */
const DEADLINE_MS = 20_000;

/** A replica that owns all accounts. Nothing happens by itself, because its clock stands still. */
async function world() {
  const proxy = await cuttingProxy(await emptyDatabase(server));
  const folder = tempDir();
  const path = join(folder, 'opsd.yaml');
  writeFileSync(
    path,
    `
server: { listen: "127.0.0.1:0" }
storage: { postgres: { url: "${proxy.url}", replica: one, leaseFor: 10m } }
accounts:
${ACCOUNTS.map((name) => `  - { name: ${name}, messageApi: { url: "http://127.0.0.1:9", token: ${TEST_TOKEN} } }`).join('\n')}
policies:
${ACCOUNTS.map(
  (account) => `  - name: resume-${account}
    account: ${account}
    mode: audit
    every: 1h
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }`,
).join('\n')}
`,
  );
  const clock = new ManualClock(Date.UTC(2026, 10, 18, 10, 30));
  const daemon = await daemonOf(path, { clock });
  onTestFinished(async () => {
    proxy.delayMs = 0;
    proxy.release();
    const ended = daemon[Symbol.asyncDispose]();
    await clock.advance(60_000);
    await ended;
  });
  return { proxy, daemon, clock };
}

type World = Awaited<ReturnType<typeof world>>;

const get = (daemon: Daemon, path: string): Promise<Response> =>
  fetch(`${daemon.address}${path}`, { headers: { accept: path.startsWith('/api') ? '*/*' : 'text/html' } });

/** Waits until the work of the start has ended. */
async function idle({ proxy }: World): Promise<void> {
  let [before, quiet] = [-1, 0];
  await until({ what: 'no more statements', pauseMs: 500 }, () => {
    quiet = before === proxy.statements.length ? quiet + 1 : 0;
    before = proxy.statements.length;
    return quiet === 4;
  });
}

/** Returns what a page reads: its transactions, and its statements within them. */
async function readsOf({ proxy, daemon }: World, path: string): Promise<readonly [number, number]> {
  proxy.statements.length = 0;
  const response = await get(daemon, path);
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  const transactions = proxy.statements.filter((text) => text.startsWith('BEGIN')).length;
  return [transactions, proxy.statements.filter((text) => !/^(?:BEGIN|COMMIT)/.test(text)).length];
}

/** Transactions and statements of each page, with 50 accounts. */
const READS: Readonly<Record<string, readonly [transactions: number, statements: number]>> = {
  '/': [1, 16],
  '/api/v1/status': [1, 8],
  '/sources': [0, 0],
  '/api/v1/sources': [0, 0],
  '/policies': [1, 8],
  '/api/v1/policies': [1, 7],
  '/policies/resume-shop-1': [1, 10],
  '/api/v1/policies/resume-shop-1': [1, 10],
  '/api/v1/conditions': [1, 7],
  '/api/v1/actions': [1, 8],
  '/api/v1/plans': [1, 1],
  '/api/v1/runs': [1, 1],
  '/incidents': [1, 7],
  '/api/v1/incidents': [0, 0],
  '/dead-letters': [0, 0],
  '/api/v1/dead-letters': [0, 0],
  '/spend': [1, 2],
  '/api/v1/spend': [1, 2],
  '/api/v1/history': [1, 6],
  '/flow-control': [0, 0],
  '/canaries': [0, 0],
  '/messages': [0, 0],
  '/configuration': [0, 0],
  '/search': [0, 0],
  '/search?q=12': [1, 2],
  '/api/v1/flow-control': [0, 0],
  '/api/v1/canaries': [0, 0],
  '/api/v1/labels': [0, 0],
  '/api/v1/configuration': [0, 0],
  '/audit': [1, 2],
  '/api/v1/audit': [1, 2],
  '/api/v1/audit/head': [1, 1],
  '/metrics': [0, 0],
};

/** Paths that read the service, the whole audit log, or nothing of the store by design. */
const OTHERS = ['/api/v1/messages', '/audit/verify', '/api/v1/audit/verify', '/api/v1/openapi.json', '/sign-in'];

test('each path that can be read has its line', () => {
  const paths = ROUTES.filter(({ path, method }) => method === 'GET' && !/\{id\}|^\/assets\//.test(path));
  const known = [...Object.keys(READS), ...OTHERS];
  expect(paths.map(({ path }) => path).filter((path) => !known.includes(path))).toEqual([]);
});

test('each page reads the store at once, whatever the number of accounts', async () => {
  const here = await world();
  await idle(here);
  const found: Record<string, readonly [number, number]> = {};
  for (const [path, expected] of Object.entries(READS)) {
    // On a busy machine, work of the daemon itself may come in between.
    for (let tries = 0; tries < 10 && String(found[path]) !== String(expected); tries += 1) {
      found[path] = await readsOf(here, path);
    }
  }
  expect(found).toEqual(READS);
});

test('with 500 ms for each response of the store, no page reaches its deadline', () => {
  const slowMs = ([transactions, statements]: (typeof READS)[string]) => (2 * transactions + statements) * 500;
  expect(Object.values(READS).filter((reads) => slowMs(reads) > DEADLINE_MS / 2)).toEqual([]);
});

test('pages are complete if the store responds slowly', async () => {
  const here = await world();
  await idle(here);
  here.proxy.delayMs = 50;
  const pages = await Promise.all(['/', '/sources', '/policies', '/spend'].map((path) => get(here.daemon, path)));
  const status = (await (await get(here.daemon, '/api/v1/status')).json()) as object;
  expect(pages.map(({ status: code }) => code)).toEqual([200, 200, 200, 200]);
  expect(status).not.toHaveProperty('storeError');
  expect(status).toMatchObject({ policies: { total: 50 } });
});

/** Text of a page, with its times as the API has them. */
async function wordsOf(page: Response): Promise<string> {
  return (await page.text()).replaceAll(/<time datetime="([^"]*)">[^<]*<\/time>/g, '$1');
}

test('a store that does not respond ends a page at its deadline, with the reason', async () => {
  const here = await world();
  const { proxy, daemon, clock } = here;
  await idle(here);
  // The connections are open.
  await Promise.all(Array.from({ length: 8 }, () => get(daemon, '/api/v1/runs')));
  proxy.statements.length = 0;
  proxy.isHeld = true;
  const paths = [
    '/api/v1/runs',
    '/policies/resume-shop-1',
    '/',
    '/api/v1/status',
    ...Array<string>(8).fill('/api/v1/runs'),
  ];
  const asked = paths.map((path) => get(daemon, path));
  const sent = (part: string) => proxy.statements.filter((text) => text.includes(part)).length;
  const listed = 'FROM runs ORDER BY id DESC';
  await until({ what: 'four pages wait for the store' }, () => sent(listed) === 1 && sent('RECURSIVE names') >= 3);
  for (const path of ['/metrics', '/-/healthy']) expect((await get(daemon, path)).status).toBe(200);
  await clock.advance(DEADLINE_MS);
  const [runs, policy, now, status, ...others] = await Promise.all(asked);
  const reason =
    /127\.0\.0\.1:\d+\/\S+: the PostgreSQL store has responded slowly since 2026-11-18T10:30:\d\d\.\d{3}Z: check/;
  const text = expect.stringMatching(reason) as string;
  expect([runs!.status, await runs!.json()]).toEqual([503, { error: { code: 'store_unavailable', message: text } }]);
  expect([policy!.status, policy!.headers.get('content-type'), await wordsOf(policy!)]).toEqual([
    503,
    expect.stringContaining('text/html'),
    text,
  ]);
  expect(others.map(({ status: code }) => code)).toEqual(Array(8).fill(503));
  // These show what the daemon knows without the store, and that the store is the problem.
  expect([now!.status, await wordsOf(now!)]).toEqual([200, text]);
  expect([status!.status, await status!.json()]).toMatchObject([
    200,
    { storeError: text, verdict: { level: 'trouble' } },
  ]);
  // Those that waited for their turn have sent nothing.
  expect(sent(listed)).toBe(1);
  proxy.release();
  expect((await get(daemon, '/api/v1/runs')).status).toBe(200);
});
