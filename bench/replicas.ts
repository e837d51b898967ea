/**
 * Cost of replicas: the same accounts on one daemon with SQLite, and on 1, 2 and 4 replicas over PostgreSQL, one after
 * the other. All of them share the cores of this machine, so more replicas are not faster here. The daemons run the
 * bundle of the package.
 *
 * At the end of each part, each account must have one owner, which has counted exactly what the service has logged.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from '../deploy/package/build.ts';
import { figures, pause, sum } from './measure.ts';
import { LISTS_STATEMENTS } from './postgres-store.ts';
import { World, type Spent } from './replicas-world.ts';

/** Numbers of replicas; 0 is one daemon on SQLite, the floor. */
const REPLICAS = [...(LISTS_STATEMENTS ? [] : [0]), ...(process.env['REPLICAS'] ?? '1,2,4').split(',').map(Number)];
const ACCOUNTS = Number(process.env['ACCOUNTS'] ?? 200);
/** New log entries per second, of all accounts. */
const RATE = Number(process.env['RATE'] ?? 600);
/** Log entries of an outage of all daemons. */
const BACKLOG = Number(process.env['BACKLOG'] ?? 40_000);
const STEADY_MS = Number(process.env['STEADY_MS'] ?? 10_000);
/** Duration without new entries. An equal pause comes before it, because the first runs of everything cost more. */
const IDLE_MS = Number(process.env['IDLE_MS'] ?? 20_000);
const LEASE_MS = Number(process.env['LEASE_MS'] ?? 6_000);
const LOGS_EVERY = process.env['LOGS_EVERY'] ?? '5s';
const BACKLOG_MS = 1_000;

/** A figure by its name, in order of the table; undefined if it does not apply. */
type Result = ReadonlyMap<string, number | undefined>;

const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-replicas-'));
process.env['XDG_CACHE_HOME'] = folder;

async function measure(replicas: number): Promise<Result> {
  const own = join(folder, String(replicas));
  mkdirSync(own);
  const program = join(folder, 'dist/opsd.js');
  const of = { replicas, accounts: ACCOUNTS, leaseMs: LEASE_MS, logsEvery: LOGS_EVERY };
  await using world = await World.create({ folder: own, program, ...of });
  const start = await afterEvent(world, async () => startAll(world));
  const exposed = [...(await world.exposed()).values()];
  const shares = world.daemons.map(({ name }) => exposed.filter(({ owners }) => owners[0] === name).length);
  await pause(IDLE_MS);
  const idle = await costOf(world, async () => {
    await pause(IDLE_MS);
    return 0;
  });
  if (LISTS_STATEMENTS) {
    console.log(`statements/s of ${replicas} replicas without traffic`);
    for (const [text, calls] of idle.statements) console.log((calls / idle.seconds).toFixed(2).padStart(8), text);
    return new Map(idleRows(idle));
  }
  const from = await entriesOf(world, RATE);
  const steady = await costOf(world, async () => {
    await pause(STEADY_MS);
    return (await entriesOf(world, RATE)) - from;
  });
  const { daemons, postgres, service } = await world.spent();
  const backlog = await outage(world);
  await world.logged({ rate: RATE });
  const killed = await afterEnd(world, 'SIGKILL');
  const stopped = await afterEnd(world, 'SIGTERM');
  await allCounted(world);
  return new Map([
    ['accounts of a replica, least', Math.min(...shares)],
    ['accounts of a replica, most', Math.max(...shares)],
    ...backRows('start', start),
    ...idleRows(idle),
    ...costRows('traffic', steady),
    ['transactions/s', postgres.bytes > 0 ? steady.transactions / steady.seconds : undefined],
    ['memory of a daemon, MB', figures(daemons.map(({ bytes }) => bytes)).max / 1e6],
    ['memory of PostgreSQL, MB', postgres.bytes > 0 ? postgres.bytes / 1e6 : undefined],
    ['memory of the service, MB', service.bytes / 1e6],
    ...costRows('after an outage', backlog),
    ...backRows('`kill -9`', killed),
    ...backRows('SIGTERM', stopped),
    ['SIGTERM, started again: accounts at their replicas, s', stopped.returned],
  ]);
}

function startAll(world: World): void {
  for (const daemon of world.daemons) world.start(daemon);
}

interface Back {
  /** Seconds until each account is at its owner. */
  readonly owned: number;
  /** Seconds until each owner has committed the log up to the event. */
  readonly acting: number;
}

/** Returns the times after an event until all accounts work again. */
async function afterEvent(world: World, event: () => Promise<void>): Promise<Back> {
  const since = Date.now() / 1_000;
  const started = performance.now();
  await event();
  await allOwned(world);
  const owned = (performance.now() - started) / 1_000;
  await world.until('action on each account', (name, account) => {
    return world.isOwned(name, account) && account.watermark >= since;
  });
  return { owned, acting: (performance.now() - started) / 1_000 };
}

function allOwned(world: World): Promise<void> {
  return world.until('each account at its owner', (name, account) => world.isOwned(name, account));
}

/**
 * Ends a daemon, and starts it again: at once if there is no other one, and otherwise after the others have its
 * accounts.
 */
async function afterEnd(
  world: World,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<Back & { readonly returned: number | undefined }> {
  const daemon = world.daemons.at(-1)!;
  const isAlone = world.daemons.length === 1;
  let ended = Promise.resolve();
  const back = await afterEvent(world, async () => {
    ended = world.end(daemon, signal);
    if (!isAlone) return;
    await ended;
    world.start(daemon);
  });
  await ended;
  if (isAlone) return { ...back, returned: undefined };
  world.start(daemon);
  const started = performance.now();
  await allOwned(world);
  return { ...back, returned: (performance.now() - started) / 1_000 };
}

/** Stops all daemons, lets the service log entries, and measures until the daemons have counted them. */
async function outage(world: World): Promise<Cost> {
  await allCounted(world);
  await Promise.all(world.daemons.map((daemon) => world.end(daemon, 'SIGTERM')));
  const from = await entriesOf(world, (BACKLOG / BACKLOG_MS) * 1_000);
  await pause(BACKLOG_MS);
  const entries = (await entriesOf(world, 0)) - from;
  return await costOf(world, async () => {
    startAll(world);
    await allCounted(world);
    return entries;
  });
}

/** Sets the rate of new entries, and returns how many the service has. */
async function entriesOf(world: World, rate: number): Promise<number> {
  return sum([...(await world.logged({ rate })).values()]);
}

/** Waits until each account has one owner, which has counted all entries. The service logs no more of them. */
async function allCounted(world: World): Promise<void> {
  const truth = await world.logged({ rate: 0 });
  await world.until(
    'one owner of each account, which has counted exactly what the service has logged',
    (name, account) => world.isOwned(name, account) && account.counted === truth.get(name),
  );
}

interface Cost {
  readonly seconds: number;
  readonly entries: number;
  readonly transactions: number;
  /** Numbers of calls of statements that PostgreSQL lists, from the most frequent. */
  readonly statements: readonly (readonly [text: string, calls: number])[];
  /** CPU times in milliseconds. */
  readonly daemons: number;
  readonly postgres: number;
  readonly service: number;
}

/**
 * Returns what some work costs. The daemons must be the same processes afterwards, or none before.
 *
 * @param work returns the number of its log entries
 */
async function costOf(world: World, work: () => Promise<number>): Promise<Cost> {
  const before = await world.spent();
  const entries = await work();
  const after = await world.spent();
  const cpu = ({ daemons }: Spent): number => sum(daemons.map(({ cpuMs }) => cpuMs));
  return {
    seconds: (after.at - before.at) / 1_000,
    entries,
    transactions: after.transactions - before.transactions,
    statements: [...after.statements]
      .map(([text, calls]) => [text, calls - (before.statements.get(text) ?? 0)] as const)
      .filter(([, calls]) => calls > 0)
      .toSorted(([, a], [, b]) => b - a),
    daemons: cpu(after) - cpu(before),
    postgres: after.postgres.cpuMs - before.postgres.cpuMs,
    service: after.service.cpuMs - before.service.cpuMs,
  };
}

type Row = readonly [name: string, value: number | undefined];

function backRows(event: string, { owned, acting }: Back): readonly Row[] {
  return [
    [`${event}: all accounts owned, s`, owned],
    [`${event}: all accounts act, s`, acting],
  ];
}

/** Returns the cost of accounts without entries. */
function idleRows({ seconds, daemons, postgres, transactions }: Cost): readonly Row[] {
  return [
    ['no traffic: CPU %, daemons', daemons / seconds / 10],
    ['no traffic: CPU %, PostgreSQL', postgres > 0 ? postgres / seconds / 10 : undefined],
    ['no traffic: transactions/s', postgres > 0 ? transactions / seconds : undefined],
  ];
}

function costRows(event: string, { seconds, entries, daemons, postgres, service }: Cost): readonly Row[] {
  return [
    [`${event}: entries/s`, entries / seconds],
    [`${event}: CPU ms/1,000 entries, daemons`, daemons / (entries / 1_000)],
    [`${event}: CPU ms/1,000 entries, PostgreSQL`, postgres > 0 ? postgres / (entries / 1_000) : undefined],
    [`${event}: CPU ms/1,000 entries, service`, service / (entries / 1_000)],
  ];
}

/** Prints a table in Markdown, with the ratio to SQLite. */
function print(results: readonly Result[]): void {
  const [floor] = results;
  const heads = REPLICAS.map((replicas) =>
    replicas === 0 ? 'SQLite' : `${replicas} replica${replicas > 1 ? 's' : ''}`,
  );
  console.log(`| ${ACCOUNTS} accounts | ${heads.join(' | ')} |\n|---|${heads.map(() => '---|').join('')}`);
  for (const [name, base] of floor!) {
    const cells = results.map((result, at) => {
      const value = result.get(name);
      if (value === undefined) return '-';
      const ratio = base === undefined || at === 0 ? '' : ` (${(value / base).toFixed(2)})`;
      return `${value < 100 ? Number(value.toPrecision(2)) : Math.round(value)}${ratio}`;
    });
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}

try {
  await build(join(folder, 'dist'));
  const results: Result[] = [];
  for (const replicas of REPLICAS) results.push(await measure(replicas));
  print(results);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
