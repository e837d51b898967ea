/**
 * The real daemon with a policy of each action, killed with SIGKILL at every point between an intent and its outcome,
 * while the service loses, cuts and rejects responses. The service's own record of requests shows the effects. Hours
 * pass between two lives, for the service and the daemon alike, so that windows of caps slide and unknown outcomes are
 * resolved.
 */
import { closeSync, openSync, readSync, statSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { addressOf } from './daemon-world.ts';
import { faultProxy, type FaultProxy, type Passed } from './fault-proxy.ts';
import { freePort } from './free-port.ts';
import { httpSink, type HttpSink } from './http-sink.ts';
import { ACCOUNT, CAPS, judge, START_BUDGET, type Sent } from './kill-policies-truth.ts';
import { clockedOpsd, opsd, type Program } from './program.ts';
import { publish, TEST_TOKEN } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';
import { testEmulator } from './test-emulator.ts';

const MINUTE = 60_000;
/** Most of an hour-long window, all of it, or a short time without settling. */
const LEAPS = [0, 7 * MINUTE, 31 * MINUTE, 61 * MINUTE, 61 * MINUTE];
const PATIENCE_MS = 2_500;

const POINTS = [
  'start', // while it starts, or recovers
  'intent', // its audit record is there: before or after the commit, or the request is on its way
  'arrived', // the request is with the proxy, and reaches the service after the daemon's end
  'dropped', // the same, and it never does
  'acted', // the service has acted, and its answer never comes
  'answered', // the answer is on its way: before it is read, or before its outcome is written
  'outcome', // the outcome's audit record is there: before or after the commit
  'any',
] as const;
type Point = (typeof POINTS)[number];

export interface Figures extends ReturnType<typeof judge> {
  /** Kills by point; `none` if the point was not reached in time. */
  readonly kills: Readonly<Record<string, number>>;
  readonly auditRecords: number;
}

interface Bed {
  readonly emulator: RunningEmulator;
  readonly proxy: FaultProxy;
  readonly sink: HttpSink;
  readonly folder: string;
  readonly config: string;
  readonly hook: string;
  readonly below: (max: number) => number;
}

export async function killPolicies({ kills, seed }: { kills: number; seed: number }): Promise<Figures> {
  const bed = await makeBed(seed);
  const { emulator, below } = bed;
  const killed: Record<string, number> = {};
  const sent: Sent[] = [];
  let spared: readonly string[] = [];
  await firstLife(bed);
  addFaults(emulator);
  let sequence = 0;
  const take = (): void => {
    const records = emulator.control.requests.list({ after: sequence });
    sequence = records.at(-1)?.sequence ?? sequence;
    // Publishes of the test itself are not actions.
    sent.push(...records.filter(({ method, operation }) => method !== 'GET' && operation !== 'publish'));
  };
  for (let life = 0; life < kills; life += 1) {
    await emulator.advance(LEAPS[below(LEAPS.length)]!);
    const planted = await plant(bed);
    const point = POINTS[below(POINTS.length)]!;
    const struck = await oneLife(bed, point);
    killed[struck] = (killed[struck] ?? 0) + 1;
    bed.proxy.decide(() => 'pass');
    bed.proxy.admit(async () => true);
    await quiet(bed);
    take();
    spared = [...spared, planted].slice(-10);
  }
  emulator.control.faults.clear();
  await lastLives(bed);
  take();
  // No operation lists them. Each could still be deleted, so they existed.
  expect(await asked(`${emulator.url}/v2/dlq?dlqIds=${spared.join(',')}`, 'DELETE')).toBe(
    `{"deleted":${spared.length}}`,
  );
  const verdict = opsd(['audit', 'verify', '--config', bed.config]);
  expect({ ...(await verdict.ended), said: verdict.stdout() + verdict.stderr() }).toMatchObject({ code: 0 });
  using db = new DatabaseSync(join(bed.folder, 'opsd.db'), { readOnly: true });
  const found = judge(sent, db, emulator);
  return {
    kills: killed,
    ...found,
    auditRecords: Number(/([\d,]+) records/.exec(verdict.stdout())![1]!.replaceAll(',', '')),
  };
}

async function makeBed(seed: number): Promise<Bed> {
  const random = seededRandom(seed);
  const below = (max: number): number => Math.floor(random() * max);
  const emulator = await testEmulator({
    control: true,
    random: seededRandom(seed + 1),
    accounts: [{ id: ACCOUNT, token: TEST_TOKEN, budgetUsd: START_BUDGET }],
  });
  // Some days of history define the usual spend, so that a raise needs no approval.
  await emulator.control.seed({ history: { days: 8, logMinutes: 1, deadLetters: 0 } });
  const proxy = await faultProxy(emulator.url);
  const sink = await httpSink(({ url }, response) => {
    response.writeHead(url.startsWith('/bad') ? 503 : 200).end();
  });
  const folder = tempDir();
  const hooks = `127.0.0.1:${await freePort()}`;
  const hook = `http://${hooks}/hooks/callbacks/production`;
  const config = join(folder, 'opsd.yaml');
  const keys = emulator.signingKeys(ACCOUNT);
  writeFileSync(config, configOf({ proxy: proxy.url, folder, hooks, hook, signingKey: keys.current }));
  return { emulator, proxy, sink, folder, config, hook, below };
}

/** Adds lost and failed responses to writes, and to reads as well. */
function addFaults(emulator: RunningEmulator): void {
  const writes = ['resume-workflow-dlq', 'delete-workflow-dlq', 'delete-dlq', 'update-budget'];
  for (const [probability, fault] of [
    [0.1, { kind: 'lost' }],
    [0.05, { kind: 'truncated' }],
    [0.05, { kind: 'status', status: 503 }],
    [0.03, { kind: 'status', status: 422 }],
    [0.01, { kind: 'rate-limit', form: 'burst' }],
  ] as const) {
    emulator.control.faults.add({ operations: writes, probability, fault });
  }
  for (const fault of [{ kind: 'lost' }, { kind: 'truncated' }] as const) {
    emulator.control.faults.add({ operations: ['list-workflow-dlq'], probability: 0.03, fault });
  }
}

/**
 * Adds failures: runs that can be repaired, that fail again, that never succeed; and messages, old and others.
 *
 * @returns the dlqId of a message that no policy selects
 */
async function plant({ emulator, sink, below }: Bed): Promise<string> {
  const run = (path: string, status: number, labels: readonly string[]) => ({
    url: `${sink.url}${path}`,
    status,
    labels,
  });
  const { dlqIds } = await emulator.control.seed({
    failedRuns: [
      run(`/good/${below(4)}`, 503, ['billing']),
      run(`/good/${below(4)}`, 503, ['billing', 'tenant:1']),
      run(`/bad/${below(2)}`, 503, ['billing']),
      run('/good/0', 503, ['billing', 'no-auto']),
      run('/gone', 404, ['billing']),
      run('/gone', 404, ['other']),
    ],
    deadLetters: [
      { ...run('/mail', 500, ['newsletter']), count: 2, agoMs: 3 * 60 * MINUTE },
      { ...run('/mail', 500, ['newsletter']), agoMs: 10 * MINUTE },
      run('/mail', 500, ['orders']),
    ],
  });
  return dlqIds[3]!;
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
  if (point === 'arrived' || point === 'dropped') {
    bed.proxy.admit(async (request) => {
      if (!isMeant(request)) return true;
      kill();
      await daemon.ended;
      return point === 'arrived';
    });
  }
  if (point === 'acted') bed.proxy.decide((request) => (isMeant(request) ? (kill(), daemon.ended) : 'pass'));
  if (point === 'answered') {
    bed.proxy.decide((request) => {
      if (isMeant(request)) setImmediate(kill);
      return 'pass';
    });
  }
  if (point === 'start') setTimeout(kill, 200 + bed.below(1_200));
  const alive = async (): Promise<string> => {
    await addressOf(daemon).catch(() => undefined);
    if (daemon.child.signalCode === null) await tellOfFailure(bed);
    const ms = point === 'any' ? bed.below(PATIENCE_MS) : PATIENCE_MS;
    await Promise.race([struck.promise, new Promise((resolve) => setTimeout(resolve, ms))]);
    return point === 'any' ? point : 'none';
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

/** Lets a message fail, which notifies the daemon. */
async function tellOfFailure({ emulator, sink, hook }: Bed): Promise<void> {
  await publish({ url: emulator.url, token: TEST_TOKEN }, `${sink.url}/bad/mail`, {
    'Svc-Retries': '0',
    'Svc-Failure-Callback': hook,
    'Svc-Failure-Callback-Retries': '0',
    'Svc-Failure-Callback-Forward-Authorization': 'Bearer callback-token',
    'Svc-Failure-Callback-Forward-Opsd-Label': 'hopeless',
  });
}

/** Waits until requests of the dead daemon have passed: a later request through the same proxy gets its response. */
async function quiet({ emulator, proxy }: Bed): Promise<void> {
  await asked(`${proxy.url}/v2/dlq/none`);
  await emulator.idle();
}

async function asked(url: string, method = 'GET'): Promise<string> {
  const response = await fetch(url, { method, headers: { Authorization: `Bearer ${TEST_TOKEN}` } });
  return response.text();
}

/**
 * Runs a life without a kill. Deletes are on probation first, and selected entries have a grace, which a killed life is
 * too short for.
 */
async function firstLife(bed: Bed): Promise<void> {
  await plant(bed);
  const daemon = startDaemon(bed);
  await addressOf(daemon);
  for (let message = 0; message < 3; message += 1) await tellOfFailure(bed);
  for (const policy of ['delete-gone', 'delete-hopeless', 'prune-newsletter']) {
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

function configOf(of: { proxy: string; folder: string; hooks: string; hook: string; signingKey: string }): string {
  const yesterday = new Date(systemClock.now() - 86_400_000).toISOString().slice(0, 10);
  const due = (name: string): string => `name: ${name}, account: production, mode: enforce, every: 1s`;
  const limits = (caps: { hour: number; day: number }): string => `maxPerHour: ${caps.hour}, maxPerDay: ${caps.day}`;
  return `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
log: { level: debug }
accounts:
  - name: production
    messageApi: { url: "${of.proxy}", token: ${TEST_TOKEN} }
    managementApi: { url: "${of.proxy}", accountId: ${ACCOUNT}, username: user, password: password }
    client: { requestsPerSecond: 200 }
    budget: { knownUsd: ${START_BUDGET}, assertedOn: ${yesterday}, maxAge: 365d }
    collectors:
      workflowDlq: { every: 1s, full: 10s }
      accountStats: { every: 5s }
      logs: { enabled: false }
      urlGroups: { enabled: false }
hooks:
  listen: ${of.hooks}
  callbacks: { production: { token: callback-token, signingKeys: "${of.signingKey}", url: "${of.hook}" } }
policies:
  - { ${due('resume-billing')}, select: { resource: workflow-dlq, anyLabel: [billing] },
      action: { type: workflow-dlq.resume, retries: 0 }, ramp: { start: 2, settle: 1s },
      limits: { ${limits(CAPS.resume)}, attempts: { max: ${CAPS.attempts}, backoff: [1s] } } }
  - { ${due('delete-gone')}, select: { resource: workflow-dlq, anyLabel: [billing] },
      where: 'has(entry.status) && entry.status == 404',
      action: { type: workflow-dlq.delete, archive: { dir: ${of.folder}/archive }, grace: 1h },
      limits: { ${limits(CAPS.runDelete)}, maxMatchedShare: 1 } }
  - { ${due('delete-hopeless')}, select: { resource: message-dlq, anyLabel: [hopeless] },
      where: '"hopeless" in entry.labels', action: { type: message-dlq.delete },
      limits: { ${limits(CAPS.messageDelete)}, maxMatchedShare: 1 } }
  - { ${due('prune-newsletter')}, select: { resource: message-dlq, anyLabel: [newsletter], failedBefore: 2h },
      action: { type: message-dlq.prune }, limits: { ${limits(CAPS.prune)}, maxPerRun: 3 } }
  - { ${due('raise-budget')}, select: { resource: account-budget },
      where: spend.monthUsd >= 0.0 && budget.knownUsd > 0.0, action: { type: budget.raise, step: { usd: 20 },
      ceilingUsd: ${CAPS.ceilingUsd}, confirm: { readings: 2, apart: 1m } },
      limits: { minInterval: 1h, maxPerMonth: ${CAPS.raisesPerMonth}, maxRaisePerMonthUsd: 9980 } }
`;
}
