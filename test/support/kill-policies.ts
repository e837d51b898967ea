/**
 * The real daemon with three policies of the simulation, killed with SIGKILL between an intent and its outcome: what the
 * simulation assumes of processes, files and sockets. The service's own record of requests shows the effects. Hours pass
 * between two lives, for the service and the daemon alike, so that windows of caps slide and unknown outcomes are resolved.
 */
import { closeSync, openSync, readSync, statSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { policyText } from '../simulation/policies.ts';
import type { Sent } from '../simulation/service.ts';
import { addressOf } from './daemon-world.ts';
import { faultProxy, type FaultProxy, type Passed } from './fault-proxy.ts';
import { httpSink, type HttpSink } from './http-sink.ts';
import { judge } from './kill-policies-truth.ts';
import { clockedOpsd, opsd, type Program } from './program.ts';
import { TEST_TOKEN } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';
import { testEmulator } from './test-emulator.ts';

const MINUTE = 60_000;
/** Most of an hour-long window, all of it, or a short time without settling. */
const LEAPS = [0, 7 * MINUTE, 31 * MINUTE, 61 * MINUTE, 61 * MINUTE];
const PATIENCE_MS = 2_500;
const POLICIES = ['resume-billing', 'delete-gone', 'prune-bulk'];

const POINTS = [
  'intent', // its audit record is there: before or after the commit, or the request is on its way
  'arrived', // the request is with the proxy, and reaches the service after the daemon's end
  'outcome', // the outcome's audit record is there: before or after the commit
  'acted', // the service has acted, and its response never comes
  'start', // while it starts, or recovers
] as const;
type Point = (typeof POINTS)[number];

export interface Figures extends ReturnType<typeof judge> {
  /** Kills by point; `none` if the point was not reached in time. */
  readonly kills: Readonly<Record<string, number>>;
}

interface Bed {
  readonly emulator: RunningEmulator;
  readonly proxy: FaultProxy;
  readonly sink: HttpSink;
  readonly folder: string;
  readonly config: string;
  readonly below: (max: number) => number;
}

export async function killPolicies({ kills, seed }: { kills: number; seed: number }): Promise<Figures> {
  const bed = await makeBed(seed);
  const { emulator, below } = bed;
  const killed: Record<string, number> = {};
  const sent: Sent[] = [];
  await firstLife(bed);
  let sequence = 0;
  const take = (): void => {
    const records = emulator.control.requests.list({ after: sequence });
    sequence = records.at(-1)?.sequence ?? sequence;
    sent.push(...records.filter(({ method }) => method !== 'GET'));
  };
  for (let life = 0; life < kills; life += 1) {
    await emulator.advance(LEAPS[below(LEAPS.length)]!);
    await plant(bed);
    const struck = await oneLife(bed, POINTS[life % POINTS.length]!);
    killed[struck] = (killed[struck] ?? 0) + 1;
    bed.proxy.decide(() => 'pass');
    bed.proxy.admit(async () => true);
    await quiet(bed);
    take();
  }
  await lastLives(bed);
  take();
  const verdict = opsd(['audit', 'verify', '--config', bed.config]);
  expect({ ...(await verdict.ended), said: verdict.stdout() + verdict.stderr() }).toMatchObject({ code: 0 });
  using db = new DatabaseSync(join(bed.folder, 'opsd.db'), { readOnly: true });
  return { kills: killed, ...judge(sent, db) };
}

async function makeBed(seed: number): Promise<Bed> {
  const random = seededRandom(seed);
  const below = (max: number): number => Math.floor(random() * max);
  const emulator = await testEmulator({
    control: true,
    random: seededRandom(seed + 1),
    accounts: [{ id: 'acc-1', token: TEST_TOKEN }],
  });
  const proxy = await faultProxy(emulator.url);
  const sink = await httpSink((_request, response) => void response.writeHead(200).end());
  const folder = tempDir();
  const config = join(folder, 'opsd.yaml');
  writeFileSync(config, configOf(proxy.url));
  return { emulator, proxy, sink, folder, config, below };
}

/** Adds failures: runs that succeed when they are resumed, others, and old messages. */
async function plant({ emulator, sink, below }: Bed): Promise<void> {
  const run = (path: string, status: number, labels: readonly string[]) => ({
    url: `${sink.url}${path}`,
    status,
    labels,
  });
  await emulator.control.seed({
    failedRuns: [
      run(`/good/${below(4)}`, 503, ['billing']),
      run(`/good/${below(4)}`, 503, ['billing', 'tenant:1']),
      run('/gone', 404, ['billing']),
      run('/gone', 404, ['other']),
    ],
    deadLetters: [{ ...run('/mail', 500, ['bulk']), count: 2, agoMs: 3 * 60 * MINUTE }, run('/mail', 500, ['orders'])],
  });
}

/** @returns the point of the kill; none if the point was not reached in time */
async function oneLife(bed: Bed, point: Point): Promise<string> {
  const struck = Promise.withResolvers<void>();
  const daemon = startDaemon(bed);
  const kill = (): void => {
    daemon.kill('SIGKILL');
    struck.resolve();
  };
  using _watching = point === 'intent' || point === 'outcome' ? onAudit(bed.folder, point, kill) : undefined;
  const isWrite = ({ method }: Passed): boolean => method !== 'GET';
  // Not always the first one.
  let pass = bed.below(4);
  const isMeant = (request: Passed): boolean => isWrite(request) && pass-- <= 0;
  if (point === 'arrived') {
    bed.proxy.admit(async (request) => {
      if (!isMeant(request)) return true;
      kill();
      await daemon.ended;
      return true;
    });
  }
  if (point === 'acted') bed.proxy.decide((request) => (isMeant(request) ? (kill(), daemon.ended) : 'pass'));
  if (point === 'start') setTimeout(kill, 200 + bed.below(1_200));
  const alive = async (): Promise<string> => {
    await addressOf(daemon).catch(() => undefined);
    await Promise.race([struck.promise, new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
    return 'none';
  };
  const where = await Promise.race([struck.promise.then(() => point), alive()]);
  kill();
  expect((await daemon.ended).signal, daemon.stderr()).toBe('SIGKILL');
  return where;
}

/** Calls back at each later record of that kind. */
export function onAudit(folder: string, kind: 'intent' | 'outcome', call: () => void): Disposable {
  const file = join(folder, 'opsd.db.audit.jsonl');
  let read = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const watcher = watch(folder, (_event, name) => {
    if (name !== 'opsd.db.audit.jsonl') return;
    const fd = openSync(file, 'r');
    const buffer = Buffer.alloc(65_536);
    const length = readSync(fd, buffer, 0, buffer.length, read);
    closeSync(fd);
    read += length;
    if (buffer.toString('utf8', 0, length).includes(`"type":"${kind}"`)) call();
  });
  return { [Symbol.dispose]: () => watcher.close() };
}

/** Waits until requests of the dead daemon have passed: a later request through the same proxy gets its response. */
async function quiet({ emulator, proxy }: Bed): Promise<void> {
  await fetch(`${proxy.url}/v2/dlq/none`, { headers: { Authorization: `Bearer ${TEST_TOKEN}` } });
  await emulator.idle();
}

/**
 * Runs a life without a kill. Deletes are on probation first, and selected entries have a grace, which a killed life is
 * too short for.
 */
async function firstLife(bed: Bed): Promise<void> {
  await plant(bed);
  const daemon = startDaemon(bed);
  await addressOf(daemon);
  for (const policy of ['delete-gone', 'prune-bulk']) {
    await until({ what: `${policy} has run three times` }, () => runsOf(daemon, policy) >= 3);
  }
  await end(daemon);
}

/**
 * Runs two lives. Open actions become unknown in the first one. The reading at the start of the second one resolves
 * them.
 */
async function lastLives(bed: Bed): Promise<void> {
  for (const runs of [1, 2]) {
    await bed.emulator.advance(61 * MINUTE);
    const daemon = startDaemon(bed);
    await until({ what: 'it has run' }, () => runsOf(daemon, 'resume-billing') >= runs);
    await end(daemon);
  }
}

async function end(daemon: Program): Promise<void> {
  daemon.kill('SIGTERM');
  expect(await daemon.ended, daemon.stderr()).toEqual({ code: 0, signal: null });
}

function runsOf(daemon: Program, policy: string): number {
  return daemon.log().filter((line) => line['msg'] === 'policy run finished' && line['policy'] === policy).length;
}

function startDaemon({ emulator, config }: Bed): Program {
  return clockedOpsd({ aheadMs: emulator.control.clock().now - systemClock.now() }, ['run', '--config', config]);
}

function configOf(url: string): string {
  return `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
log: { level: debug }
accounts:
  - name: production
    messageApi: { url: "${url}", token: ${TEST_TOKEN} }
    managementApi: { url: "${url}", accountId: acc-1, username: user, password: password }
    client: { requestsPerSecond: 200 }
    collectors:
      workflowDlq: { every: 1s, full: 10s }
      accountStats: { every: 5s }
      logs: { enabled: false }
      urlGroups: { enabled: false }
policies:
${POLICIES.map((name) => policyText(name, () => '1s')).join('\n')}
`;
}
