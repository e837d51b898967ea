/**
 * Freshness: the time from the appearance of a log entry in the service until `/metrics` of the daemon includes it. The
 * bundle of the package runs with the default settings, in three worlds at the same time: one account at rest, several
 * accounts, and one account whose daemon starts after an outage of an hour.
 *
 * Entries are counted in the order of their times. So the n-th entry of an account is counted as soon as its counter
 * has reached n. Both numbers are read in each poll. An entry appears after the last poll that did not have it, so its
 * time is at most two polls too long.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectorsSettings, DEFAULT_INTERVAL_MS } from '#observe/collectors/settings.ts';
import { build } from '../deploy/package/build.ts';
import { figures, pause, sum } from './measure.ts';
import { World } from './replicas-world.ts';

/** Entries that appear during this time are observed. */
const OBSERVED_MS = Number(process.env['OBSERVED_MS'] ?? 180_000);
const ACCOUNTS = Number(process.env['ACCOUNTS'] ?? 20);
/** New log entries per second, of all accounts of a world. */
const RATE = Number(process.env['RATE'] ?? 20);
/** Log entries of an hour without the daemon. */
const BACKLOG = Number(process.env['BACKLOG'] ?? 100_000);
const OUTAGE_MS = 3_600_000;
const CLOCKED = join(import.meta.dirname, '../test/support/programs/clocked-opsd.ts');
const POLL_MS = 100;
/** Set for a short trial: interval of reading a log, with a lag of a second. */
const LOGS_EVERY_MS = process.env['LOGS_EVERY_MS'];
const INTERVAL_MS = Number(LOGS_EVERY_MS ?? DEFAULT_INTERVAL_MS.logs);
const LAG_MS = LOGS_EVERY_MS === undefined ? collectorsSettings.parse({}).logs.lag : 1_000;
/** Longest time until an entry is counted, if each reading reaches the end of the log. */
const FRESH_MS = INTERVAL_MS + LAG_MS + 2_000;

const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-freshness-'));
process.env['XDG_CACHE_HOME'] = folder;

/** One account as the polls see it. */
interface Watched {
  /** Uncounted entries, oldest first: the latest time at which each had not appeared. */
  readonly waiting: number[];
  appeared: number;
  counted: number;
  watermark: number;
}

interface Seen {
  /** Freshness of each counted entry in milliseconds, in the order of counting. */
  readonly ages: readonly number[];
  /** Milliseconds from the end of a counted window plus the lag until it was seen: reading, commit and scrape. */
  readonly reads: readonly number[];
  /** Milliseconds from the start until the log was read to its end. */
  readonly freshAfterMs: number;
}

/** Observes the entries that appear from now on, until they are counted. */
async function observe(world: World): Promise<Seen> {
  const accounts = new Map<string, Watched>();
  for (const [name, appeared] of await world.logged({ rate: RATE }))
    accounts.set(name, { waiting: [], appeared, counted: 0, watermark: 0 });
  const [ages, reads]: [number[], number[]] = [[], []];
  const started = Date.now();
  let freshAt = 0;
  const isObserved = (at: number): boolean => at - started < OBSERVED_MS;
  const isWaiting = (): boolean => [...accounts.values()].some(({ waiting }) => waiting.length > 0);
  let before = started;
  for (let now = started; isObserved(now) || isWaiting(); await pause(POLL_MS), now = Date.now()) {
    if (!isObserved(now - FRESH_MS - OBSERVED_MS)) throw new Error('the observed entries are not counted');
    const logged = await world.logged();
    const exposed = await world.exposed();
    const seenAt = Date.now();
    for (const [name, account] of accounts) {
      const { counted, watermark } = exposed.get(name)!;
      if (isObserved(now))
        for (; account.appeared < logged.get(name)!; account.appeared += 1) account.waiting.push(before);
      const fresh = account.waiting.splice(0, Math.max(0, counted - account.appeared + account.waiting.length));
      ages.push(...fresh.map((at) => seenAt - at));
      const readMs = seenAt - watermark * 1_000 - LAG_MS;
      // A watermark that is further behind is that of a window of the past.
      if (watermark > account.watermark && readMs < INTERVAL_MS && account.counted > 0) {
        reads.push(readMs);
        if (freshAt === 0) freshAt = seenAt;
      }
      Object.assign(account, { counted, watermark });
    }
    before = now;
  }
  // On a slow machine, no reading may be seen in time. At the latest now, all observed entries are counted.
  return { ages, reads, freshAfterMs: (freshAt || before) - started };
}

/**
 * Starts a world, and waits until it counts from now on.
 *
 * @param agoMs the daemon begins this long ago by its clock, and the service has entries since then
 */
async function worldOf(name: string, accounts: number, agoMs = 0): Promise<World> {
  const own = join(folder, name);
  mkdirSync(own);
  const program = join(folder, 'dist/opsd.js');
  const every = LOGS_EVERY_MS === undefined ? {} : { logsEvery: `${LOGS_EVERY_MS}ms` };
  const world = await World.create({ folder: own, program, replicas: 0, accounts, leaseMs: 0, ...every });
  const [daemon] = world.daemons;
  if (agoMs === 0) world.start(daemon!);
  else {
    await world.logged({ past: { entries: BACKLOG, ms: agoMs - LAG_MS } });
    const env = {
      ...process.env,
      OPSD_TEST_SPEED: '1',
      OPSD_TEST_SINCE: String(Date.now()),
      OPSD_TEST_AHEAD_MS: String(-agoMs),
    };
    daemon!.child = spawn(process.execPath, [CLOCKED, 'run', '--config', daemon!.config], { env, stdio: 'ignore' });
  }
  await world.until('counting', (_, { watermark }) => watermark > 0);
  return world;
}

async function rest(name: string, accounts: number): Promise<void> {
  await using world = await worldOf(name, accounts);
  print(name, await observe(world));
}

async function outage(name: string): Promise<void> {
  await using world = await worldOf(name, 1, OUTAGE_MS);
  const [daemon] = world.daemons;
  await world.end(daemon!, 'SIGTERM');
  const waited = sum([...(await world.logged()).values()]);
  world.start(daemon!);
  const seen = await observe(world);
  print(name, seen);
  console.log(`${name}: ${waited} entries waited; fresh again after ${seconds(seen.freshAfterMs)}`);
}

function print(name: string, { ages, reads }: Seen): void {
  if (ages.length === 0) throw new Error(`${name}: no entry was counted`);
  const sorted = ages.toSorted((a, b) => a - b);
  const { median, max } = figures(ages);
  const p99 = sorted[Math.floor(sorted.length * 0.99)]!;
  const read = reads.length === 0 ? '-' : `${seconds(figures(reads).median)} (at most ${seconds(figures(reads).max)})`;
  const cells = [String(ages.length), seconds(median), seconds(p99), seconds(max)].map((cell) => cell.padStart(9));
  console.log(`${name.padEnd(32)}${cells.join('')}   ${read}`);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

try {
  await build(join(folder, 'dist'));
  console.log(`interval ${seconds(INTERVAL_MS)}, lag ${seconds(LAG_MS)}, ${RATE} entries/s in each world`);
  console.log(`${''.padEnd(32)}  entries   median      p99    worst   of it reading, commit and scrape`);
  await Promise.all([
    rest('at rest, one account', 1),
    rest(`at rest, ${ACCOUNTS} accounts`, ACCOUNTS),
    outage('after an hour of outage'),
  ]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
