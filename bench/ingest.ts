/**
 * From the wire to committed counters and spans: log entries per second. The daemon's client, collector, aggregation and store
 * read them over HTTP from a bare server in a separate process. The floor runs in the same process: the same pages with
 * the same concurrency, fetched with undici and parsed with JSON.parse, and nothing else.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { createClient } from '#service/create-client.ts';
import { clientSettings, wireSettings } from '#service/settings.ts';
import { logs } from '#observe/collectors/logs.ts';
import { collectorsSettings } from '#observe/collectors/settings.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import { traceSettings } from '#observe/tracing/settings.ts';
import { spanRequest } from '#observe/tracing/span-frames.ts';
import { createSpanSource } from '#observe/tracing/span-source.ts';
import type { EntryMode } from '#observe/aggregation/log-store.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createSpanOutbox } from '#storage/span-outbox.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { postgresPrograms } from '../test/support/postgres/debian-server.ts';
import { freePort } from '../test/support/free-port.ts';
import { figures, pause, residentBytes } from './measure.ts';
import { emptyPostgres } from './postgres-store.ts';

const ENTRIES = Number(process.env['ENTRIES'] ?? 200_000);
const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const BYTES = (process.env['BYTES'] ?? '1000,8000').split(',').map(Number);
const PAGE = 100;
const CHAINS = 4;
const PAGE_BUDGET = 200;
const ACCOUNT = 'bench';
const START = Date.UTC(2026, 10, 20);
const LAG_MS = 15_000;
let spansMade = 0;
const folder = mkdtempSync(join(tmpdir(), 'opsd-ingest-'));

async function main(): Promise<void> {
  for (const bytes of BYTES) await size(bytes);
}

async function size(bytes: number): Promise<void> {
  const pages = Math.ceil(ENTRIES / PAGE);
  const port = await freePort();
  const args = [join(import.meta.dirname, 'log-pages.ts'), String(port), String(pages), String(bytes), String(START)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  try {
    const url = `http://127.0.0.1:${port}`;
    await answering(url);
    const memory: number[] = [];
    const rounds: Round[] = [];
    const shared = ['shared', () => ingest(url, pages, { isShared: true })] as const;
    const works: readonly (readonly [what: keyof Round, work: () => Promise<number>])[] = [
      ['alone', () => fetchAndParse(url, pages, 1)],
      ['floor', () => fetchAndParse(url, pages, CHAINS)],
      ['counted', () => ingest(url, pages, { entryMode: 'snapshot' })],
      ['joined', () => ingest(url, pages, { memory })],
      ['traced', () => ingest(url, pages, { isTraced: true })],
      ...(postgresPrograms() === undefined ? [] : [shared]),
    ];
    for (let round = 0; round <= ROUNDS; round++) {
      memory.length = 0;
      const measured: Partial<Record<keyof Round, Measured>> = {};
      // Each one begins once, because the next one pays for its garbage.
      const first = round % works.length;
      for (const [what, work] of [...works.slice(first), ...works.slice(0, first)]) measured[what] = await costOf(work);
      // Round 0 warms up and is not printed.
      if (round > 0) rounds.push(measured as Round);
    }
    const heading = `${ENTRIES} entries of ${bytes} bytes, ${ROUNDS} rounds`.padEnd(46);
    console.log(`${heading}entries/s      min      max   × floor   CPU µs   × floor`);
    line('fetched and parsed, one after the other', rounds, 'alone');
    line(`fetched and parsed, ${CHAINS} at a time (floor)`, rounds, 'floor');
    line('counted, committed, nothing joined', rounds, 'counted');
    line('counted, joined, committed', rounds, 'joined');
    line('and a trace of every message, all its spans', rounds, 'traced');
    if (postgresPrograms() !== undefined) line('counted, joined, committed to PostgreSQL', rounds, 'shared');
    console.log(`spans of the last round: ${spansMade}`);
    console.log(`resident memory after each tenth of the last round: ${memory.join(', ')} MB\n`);
  } finally {
    child.kill('SIGKILL');
  }
}

interface Measured {
  /** Entries per second. */
  readonly rate: number;
  /** CPU time of this process per entry, all threads, in microseconds. */
  readonly cpu: number;
}

type Round = Readonly<Record<'alone' | 'floor' | 'counted' | 'joined' | 'traced' | 'shared', Measured>>;

async function costOf(work: () => Promise<number>): Promise<Measured> {
  const before = process.cpuUsage();
  const rate = await work();
  const { user, system } = process.cpuUsage(before);
  return { rate, cpu: (user + system) / ENTRIES };
}

async function answering(url: string): Promise<void> {
  for (const end = performance.now() + 60_000; performance.now() < end; await pause(20)) {
    const answered = await fetch(`${url}/v2/logs?fromDate=0&toDate=1`).then(
      (response) => response.text(),
      () => undefined,
    );
    if (answered !== undefined) return;
  }
  throw new Error(`${url} does not answer`);
}

/** The floor: fetches the same pages, with the same number of concurrent listings. Returns entries per second. */
async function fetchAndParse(url: string, pages: number, chains: number): Promise<number> {
  const pool = new Pool(url, { connections: chains });
  let entries = 0;
  const started = performance.now();
  const share = Math.ceil(pages / chains);
  await Promise.all(
    Array.from({ length: chains }, async (_, chain) => {
      const from = START + chain * share * 1_000;
      const to = Math.min(START + pages * 1_000, from + share * 1_000) - 1;
      let cursor = '';
      for (;;) {
        const path = `/v2/logs?fromDate=${from}&toDate=${to}&count=100${cursor}`;
        const { body } = await pool.request({ method: 'GET', path, headers: { authorization: 'Bearer token' } });
        const page = JSON.parse(await body.text()) as { logs: unknown[]; cursor?: string };
        entries += page.logs.length;
        if (page.cursor === undefined) break;
        cursor = `&cursor=${page.cursor}`;
      }
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  await pool.close();
  if (entries !== pages * PAGE) throw new Error(`the floor read ${entries} entries`);
  return entries / seconds;
}

/** Runs the daemon's code from an empty store. Returns entries per second until the last commit. */
async function ingest(
  url: string,
  pages: number,
  {
    isTraced = false,
    isShared = false,
    memory = [],
    entryMode,
  }: {
    readonly isTraced?: boolean;
    /** True for PostgreSQL in place of SQLite. */
    readonly isShared?: boolean;
    readonly memory?: number[];
    /** Entry mode. In mode `snapshot` the log has one entry for each message, so nothing is joined. */
    readonly entryMode?: EntryMode;
  },
): Promise<number> {
  const path = join(folder, `${Math.random()}.db`);
  await using stack = new AsyncDisposableStack();
  const store = isShared ? { database: stack.use(await emptyPostgres()).database } : stack.use(openStore(path));
  const totals = createTotals(store);
  const outbox = await createSpanOutbox(store);
  const log = createLogAggregationStore(store, totals, { spans: outbox });
  const end = START + pages * 1_000;
  // The log's own time stops; the client's is real.
  const clock = new ManualClock(end + LAG_MS);
  const events = new EventBus();
  await using client = createClient(
    {
      account: ACCOUNT,
      messageApi: { url, token: Secret.of('token') },
      wire: wireSettings.parse({}),
      // Without a limit, so that the reader is measured.
      limits: { ...clientSettings.parse({}), requestsPerSecond: 1_000_000, requestsPerDay: 100_000_000 },
    },
    { clock: systemClock, events, random: Math.random },
  );
  await log.commitLog({
    account: ACCOUNT,
    watermark: START,
    keptFrom: START,
    sweptAt: clock.now(),
    increments: [],
    ...(entryMode && { entryMode }),
  });
  let previous: Batch<'logs'> | undefined;
  let sent = 0;
  events.subscribe((event) => {
    if (event.type === 'spans.dropped') throw new Error(`${event.count} spans were dropped: ${event.reason}`);
  });
  const spans = createSpanSource({
    settings: traceSettings.parse({ sampleRatio: 1, maxSpansPerSecond: 100_000, maxAge: '31d' }),
    protocol: 'http/protobuf',
    outbox,
    clock,
    events,
    headOf: (account) => ({
      resource: [['service.name', account]],
      scope: { name: 'bench', version: '1' },
      schemaUrl: '',
    }),
    failedRuns: async () => new Map(),
  });
  const started = performance.now();
  for (;;) {
    const { rows, dropped } = await logs.collect(client, {
      target: {
        account: ACCOUNT,
        hasMessageApi: true,
        hasManagementApi: false,
        flowControlKeys: [],
        searchIndexes: [],
        vectorIndexes: [],
        settings: collectorsSettings.parse({ logs: { pageBudget: PAGE_BUDGET } }),
      },
      clock,
      signal: new AbortController().signal,
      stores: { ...({} as Parameters<typeof logs.collect>[1]['stores']), log },
      admit: (_label, value) => value,
      ...(isTraced && { spans }),
      ...(previous !== undefined && { previous }),
    });
    previous = { account: ACCOUNT, collector: 'logs', at: clock.now(), rows, dropped };
    // Acknowledges as the sender does, with an instant receiver.
    const acknowledged: number[] = [];
    for (let batch = await outbox.next(); batch !== undefined; batch = await outbox.next(batch.id)) {
      sent += spanRequest(batch, 0).spans;
      acknowledged.push(batch.id);
    }
    await outbox.settle(acknowledged);
    const { watermark } = rows[0]!;
    const tenths = Math.floor(((watermark - START) / (end - START)) * 10);
    if (tenths > memory.length) memory.push(Math.round(residentBytes(process.pid) / 1e6));
    if (watermark >= end) break;
  }
  const seconds = (performance.now() - started) / 1_000;
  const { counters } = await totals.follow(ACCOUNT);
  const entries = counters
    .filter(({ metric }) => metric === 'msgsvc_log_events_total')
    .reduce((sum, { value }) => sum + value, 0);
  if (entries !== pages * PAGE) throw new Error(`${entries} entries were counted instead of ${pages * PAGE}`);
  if (isTraced && sent < entries / 4) throw new Error(`only ${sent} spans were made`);
  if (isTraced) spansMade = sent;
  return entries / seconds;
}

/** Prints medians. A share of the floor uses its own round, because the load of the machine varies between rounds. */
function line(name: string, rounds: readonly Round[], what: keyof Round): void {
  const { median, min, max } = figures(rounds.map((round) => round[what].rate));
  const cells = [median, min, max].map((rate) => String(Math.round(rate)).padStart(9));
  const share = figures(rounds.map((round) => round[what].rate / round.floor.rate)).median;
  const cpu = figures(rounds.map((round) => round[what].cpu)).median;
  const cpuShare = figures(rounds.map((round) => round.floor.cpu / round[what].cpu)).median;
  const shares = [share.toFixed(2).padStart(10), cpu.toFixed(2).padStart(9), cpuShare.toFixed(3).padStart(10)];
  console.log(`${name.padEnd(46)}${cells.join('')}${shares.join('')}`);
}

try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
