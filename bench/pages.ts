/**
 * Pages of a daemon with a full workflow DLQ: the real daemon in a process of its own, and each page as an operator gets
 * it, from the request to the last byte. The floor is the health probe of the same daemon in the same run.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { runEmulator } from '#emulator/emulator.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { keepDigests } from '#storage/table-digests.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { freePort } from '../test/support/free-port.ts';
import { cpuMs, figures, pause, residentBytes, stop, sum, untilScraped } from './measure.ts';

const ENTRIES = Number(process.env['ENTRIES'] ?? 100_000);
const ROUNDS = Number(process.env['ROUNDS'] ?? 15);
const WORKFLOWS = 40;
const DAY_MS = 86_400_000;
const ROOT = join(import.meta.dirname, '..');
const TOKEN = 'bench-token';

await using stack = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-pages-'));
stack.defer(() => rmSync(folder, { recursive: true, force: true }));
const emulator = await runEmulator({
  clock: systemClock,
  control: true,
  random: seededRandom(1),
  listen: { host: '127.0.0.1', port: 0 },
  accounts: [{ id: 'acc-1', token: TOKEN }],
  management: { username: 'user', password: 'password' },
  enforceLimits: false,
});
stack.defer(() => emulator.stop());
const failedRuns = Array.from({ length: ENTRIES }, (_, index) => ({
  url: `https://app.example.com/api/workflows/workflow-${letters(index % WORKFLOWS)}`,
  agoMs: 2 * DAY_MS - Math.floor((index / ENTRIES) * 2 * DAY_MS),
  labels: [`label-${index % 50}`],
  status: [500, 503, 429, 422][index % 4]!,
  responseBody: `{"error":"upstream 10.0.0.${index % 250} is unavailable","requestId":"req_${index}"}`,
}));
const { dlqIds } = await emulator.control.seed({ failedRuns });

const port = await freePort();
const address = `http://127.0.0.1:${port}`;
writeFileSync(join(folder, 'admin-token'), TOKEN);
const config = join(folder, 'opsd.yaml');
writeFileSync(
  config,
  `
server: { listen: "127.0.0.1:${port}", tokens: [{ name: bench, role: admin, tokenFile: admin-token }] }
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: main
    messageApi: { url: "${emulator.url}", token: ${TOKEN} }
    managementApi: { url: "${emulator.url}", accountId: acc-1, username: user, password: password }
    limits: { dlqRetention: 7d }
    client: { requestsPerSecond: 1000, requestsPerDay: 10000000 }
    collectors: { logs: { every: 1h }, workflowDlq: { every: 1h, full: 1h } }
policies:
  - name: resume
    account: main
    mode: audit
    every: 24h
    select: { resource: workflow-dlq, anyLabel: [label-7] }
    action: { type: workflow-dlq.resume }
`,
);
const args = ['--max-semi-space-size=4', join(ROOT, 'src/opsd.js'), 'run', '--config', config];
const daemon = () => untilScraped(process.execPath, args, `${address}/metrics`);
// The first start makes the store, which only one process can open.
await stop((await daemon()).child);
fillHistory();
const { child } = await daemon();
stack.defer(() => stop(child));
const incidents = await groupedIncidents();
const grouped = resident();
const biggest = incidents.toSorted((a, b) => b.members.now - a.members.now)[0]!;
const made = (await json('/api/v1/plan', { selection: { action: 'resume', label: ['label-7'] }, reason: 'bench' })) as {
  readonly id: string;
};
const label = 'label=label-7';
const pages: readonly (readonly [name: string, path: string])[] = [
  ['now', '/'],
  ['now, 35 days', '/?span=35d'],
  ['incidents', '/incidents'],
  [`incident with ${biggest.members.now} members`, `/incidents/${biggest.id}`],
  ['dead letters', '/dead-letters'],
  ['dead letters, by label', `/dead-letters?${label}`],
  ['dead letters, by status and time', '/dead-letters?responseStatus=503&since=24h'],
  ['dead letters, by cause', '/dead-letters?cause=transient'],
  ['dead letters, by incident', `/dead-letters?incident=${biggest.id}`],
  ['dead letters, no match', '/dead-letters?label=nothing'],
  ['a dead letter', `/dead-letters/${dlqIds[ENTRIES / 2]}`],
  ['messages', '/messages'],
  ['flow control', '/flow-control'],
  ['spend', '/spend'],
  ['policies', '/policies'],
  ['a policy', '/policies/resume'],
  [`a plan of ${ENTRIES / 50} actions`, `/plans/${made.id}`],
  ['audit', '/audit'],
  ['sources', '/sources'],
  ['configuration', '/configuration'],
];
console.log(`${ENTRIES} dead letters, ${incidents.length} incidents\n`);
const floor = await measure('/-/healthy');
print('floor: the health probe', floor);
const all: Measured[] = [];
for (const [name, path] of pages) {
  const page = await measure(path);
  all.push(page);
  print(name, page, floor.median);
}
const total = (pick: (page: Measured) => number): number => sum(all.map(pick));
print('all pages', {
  median: total(({ median }) => median),
  max: total(({ max }) => max),
  cpu: total(({ cpu }) => cpu),
  bytes: total(({ bytes }) => bytes),
});
console.log(`\nresident: ${grouped} after the grouping, ${resident()} after the pages`);

/** Writes the minutes of a day and the hours of 35 days. */
function fillHistory(): void {
  using store = new DatabaseSync(join(folder, 'opsd.db'));
  keepDigests(store);
  const put = store.prepare(
    `INSERT OR IGNORE INTO history (account, step, at, created, delivered, error, failed, retried, d4, in_flight, failed_runs,
      spend_usd, flow_control) VALUES ('main', ?, ?, 900, 880, 20, 5, 15, 880, 12, 100, 80, '[]')`,
  );
  const now = Date.now();
  store.exec('BEGIN');
  for (const [step, length] of [
    [60_000, DAY_MS],
    [3_600_000, 35 * DAY_MS],
  ] as const) {
    for (let at = Math.floor(now / step) * step; at > now - length; at -= step) put.run(step, at);
  }
  store.exec('COMMIT');
}

function resident(): string {
  return `${(residentBytes(child.pid!) / 1e6).toFixed(0)} MB`;
}

async function json(path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${address}${path}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

/** Waits until the daemon has read and grouped every dead letter. */
async function groupedIncidents(): Promise<readonly { readonly id: string; readonly members: { now: number } }[]> {
  type List = { readonly incidents: Awaited<ReturnType<typeof groupedIncidents>> };
  for (;;) {
    const { incidents: found } = (await json('/api/v1/incidents?limit=500')) as List;
    if (found.reduce((sum, { members }) => sum + members.now, 0) === ENTRIES) return found;
    await pause(500);
  }
}

interface Measured {
  readonly median: number;
  readonly max: number;
  /** CPU time of the daemon for a page, all threads, in milliseconds. */
  readonly cpu: number;
  readonly bytes: number;
}

async function measure(path: string): Promise<Measured> {
  const times: number[] = [];
  let bytes = 0;
  let cpuBefore = 0;
  for (let round = -1; round < ROUNDS; round++) {
    const begun = performance.now();
    const response = await fetch(`${address}${path}`, {
      headers: { authorization: `Bearer ${TOKEN}`, accept: 'text/html' },
    });
    bytes = (await response.arrayBuffer()).byteLength;
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    // The first round is a warm-up.
    if (round >= 0) times.push(performance.now() - begun);
    else cpuBefore = cpuMs(child.pid!);
  }
  const { median, max } = figures(times);
  return { median, max, cpu: (cpuMs(child.pid!) - cpuBefore) / ROUNDS, bytes };
}

function print(name: string, { median, max, cpu, bytes }: Measured, against?: number): void {
  const ratio = against === undefined ? '' : `${(median / against).toFixed(1)} × floor`;
  const times = [`${median.toFixed(1)} ms`, `at most ${max.toFixed(1)} ms`, `CPU ${cpu.toFixed(2)} ms`];
  const cells = [...times, `${Math.ceil(bytes / 1_000)} kB`, ratio];
  console.log(`${name.padEnd(36)}${cells.map((cell) => cell.padStart(18)).join('')}`);
}

/** Name without digits, which the grouping masks: `a` to `z`, then `aa`. */
function letters(index: number): string {
  const letter = String.fromCharCode(97 + (index % 26));
  return index < 26 ? letter : letter + letter;
}
