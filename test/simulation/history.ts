/** One history: a world from one seed, its faults, a time without faults at the end, and the checks of all invariants. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '#foundation/platform/random.ts';
import { configOf } from './config.ts';
import { SimDaemon, type LogLine } from './daemon.ts';
import type { Spared } from './faults.ts';
import { Checks } from './invariants.ts';
import { begin, Loop, WORLD } from './loop.ts';
import { Operator } from './operator.ts';
import { Receiver } from './receiver.ts';
import { checkReplicas } from './replica-checks.ts';
import { Replicas } from './replicas.ts';
import { SimService } from './service.ts';
import { SimPostgres } from './postgres/server.ts';
import type { Subject } from './subject.ts';
import { Violation } from './violation.ts';

const MINUTE = 60_000;
/** Time without faults and traffic at the end. Everything must be in order after it. */
const REST_MS = 45 * MINUTE;

export interface HistoryOptions {
  readonly seed: number;
  /** Virtual minutes with traffic and faults. */
  readonly minutes: number;
  readonly isTraced?: boolean;
  readonly spared?: Spared;
  /** By default, the seed decides. */
  readonly store?: StoreName | undefined;
}

export interface History {
  readonly seed: number;
  readonly steps: number;
  readonly hash: string;
  /** Number of faults, and how often each kind happened. */
  readonly faults: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly failure?: { readonly invariant: string; readonly detail: string };
  readonly lines?: readonly string[];
}

type StoreName = 'sqlite' | 'postgres';

/** Every fourth history has replicas on PostgreSQL. */
const storeOf = (seed: number): StoreName => (seed % 4 === 0 ? 'postgres' : 'sqlite');

export async function runHistory(options: HistoryOptions): Promise<History> {
  const { seed, isTraced, spared } = options;
  const loop = new Loop(seed, { isTraced, spared });
  begin(loop);
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'opsd-simulation-'));
  const onRejection = (error: unknown): void => void (loop.failure ??= error);
  process.on('unhandledRejection', onRejection);
  let failure: History['failure'];
  try {
    await live(loop, folder, options);
  } catch (error) {
    failure =
      error instanceof Violation
        ? { invariant: error.message, detail: error.detail }
        : { invariant: 'no unexpected error', detail: error instanceof Error ? (error.stack ?? '') : String(error) };
  } finally {
    process.off('unhandledRejection', onRejection);
    rmSync(folder, { recursive: true, force: true });
  }
  const { steps, faults, lines } = loop;
  const kinds = Object.fromEntries(faults.byKind);
  return {
    seed,
    steps,
    hash: loop.hash(),
    faults: faults.count,
    kinds,
    ...(failure && { failure }),
    ...(lines && { lines }),
  };
}

async function live(loop: Loop, folder: string, options: HistoryOptions): Promise<void> {
  const { seed, minutes, store = storeOf(seed) } = options;
  const service = await started(loop, SimService.start(loop));
  const receiver = await started(loop, Receiver.start(loop));
  const checks = new Checks(loop, service, receiver);
  const onLine = (line: LogLine): void => checks.heard(line);
  if (store === 'postgres') {
    // PGlite starts in real time.
    const postgres = await SimPostgres.start(loop);
    const replicas = new Replicas({ loop, folder, service, receiver: receiver.url, postgres, onLine });
    await act(loop, { service, checks, daemon: replicas, minutes, random: loop.random('rate') });
    await checkReplicas(checks, postgres);
    return;
  }
  const daemon = new SimDaemon(loop, folder, onLine);
  const signingKey = service.emulator.signingKeys('acc-1').current;
  const random = loop.random('history');
  daemon.configure(configOf({ service: service.emulator.url, receiver: receiver.url, signingKey, random }));
  startSecond(loop, daemon, minutes);
  await act(loop, { service, checks, daemon, minutes, random });
  await checks.afterEnd(daemon);
}

/** Starts a second daemon on the store at some time, in some histories. It must not start. */
function startSecond(loop: Loop, daemon: SimDaemon, minutes: number): void {
  const random = loop.random('second daemon');
  if (random() < 0.5) return;
  loop.after((10 + random() * minutes) * MINUTE, WORLD, 'a second daemon starts', () => {
    const { process } = daemon;
    if (!process.alive) return;
    void daemon.second().then((problem) => {
      if (process.alive && problem?.includes('another process') !== true)
        loop.failure ??= new Violation('a second daemon does not open the store', problem ?? 'it has started');
    });
  });
}

interface Play {
  readonly service: SimService;
  readonly checks: Checks;
  readonly daemon: SimDaemon | Replicas;
  readonly minutes: number;
  readonly random: Random;
}

async function act(loop: Loop, { service, checks, daemon, minutes, random }: Play) {
  const operator = new Operator(loop, daemon);
  checks.watch(daemon, operator);
  daemon.start();
  // The daemon counts from its first reading of the log on.
  await loop.run(3 * MINUTE);
  service.begin();
  await loop.run(5 * MINUTE);
  const { faults } = loop;
  faults.active = true;
  faults.rate = [0, 0.3, 1, 3][Math.floor(random() * 4)]!;
  if (faults.rate > 0) {
    service.disorder();
    director(loop, { service, daemon, operator });
  }
  await loop.run(minutes * MINUTE);
  faults.active = false;
  service.rest();
  if (daemon instanceof Replicas) daemon.rest();
  operator.lift();
  loop.note(WORLD, 'the faults end');
  await loop.run(REST_MS);
  await started(loop, checks.atRest(daemon));
  await untilCounted(loop, checks, daemon);
  await started(loop, daemon.stop());
}

/** Policies still act, so the newest entries of the log may not be read yet, nor the newest notification delivered. */
async function untilCounted(loop: Loop, checks: Checks, daemon: Subject): Promise<void> {
  for (let left = 5; ; left -= 1) {
    const difference = (await started(loop, checks.counters(daemon))) ?? checks.notifications(daemon);
    if (difference === undefined) return;
    if (left === 0) throw difference;
    await loop.run(3 * MINUTE);
  }
}

/** Runs the history until the promise settles. */
async function started<T>(loop: Loop, promise: Promise<T>): Promise<T> {
  let isDone = false;
  const settled = Promise.allSettled([promise]).then(() => (isDone = true));
  await loop.run(MINUTE, () => isDone);
  if (!isDone) throw new Violation('nothing waits forever', 'a start or a stop took longer than a minute');
  await settled;
  return promise;
}

interface Cast {
  readonly service: SimService;
  readonly daemon: SimDaemon | Replicas;
  readonly operator: Operator;
}

/** Makes what happens in the world: each minute, each event has its chance. */
function director(loop: Loop, { service, daemon, operator }: Cast): void {
  loop.after(MINUTE, WORLD, 'minute', () => {
    const { faults } = loop;
    if (!faults.active) return;
    if (faults.strikes('crash', 0.01)) daemon.crash('at any step');
    if (faults.strikes('storm', 0.01)) service.storm();
    if (faults.strikes('reload', 0.005)) daemon.reload();
    if (faults.strikes('pause', 0.01)) operator.pause();
    if (faults.strikes('deploy', 0.01)) operator.deploy();
    if (faults.strikes('clock step', 0.002)) {
      const { process } = daemon;
      process.offset = (faults.below(20) - 10) * 1_000;
      loop.note(process, `clock is off by ${process.offset} ms`);
    }
    if (daemon instanceof Replicas) daemon.minute();
    director(loop, { service, daemon, operator });
  });
}
