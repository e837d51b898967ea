/** One history: a world from one seed, its faults, a time without faults at the end, and the checks of all invariants. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '#foundation/platform/random.ts';
import { Alerts } from './alerts.ts';
import { canariesOf } from './canary-routes.ts';
import { SimDaemon, type LogLine } from './daemon.ts';
import { calm, decideAtTimes, direct, type Cast } from './director.ts';
import { Edits } from './edits.ts';
import type { Changes, Fault } from './faults.ts';
import { Checks } from './invariants.ts';
import { begin, EPOCH, Loop, WORLD } from './loop.ts';
import { Operator } from './operator.ts';
import { Receiver } from './receiver.ts';
import { checkReplicas } from './replica-checks.ts';
import { Replicas } from './replicas.ts';
import { Rotations } from './rotation.ts';
import { ACCOUNT, SimService } from './service.ts';
import { hasStaging } from './staging.ts';
import { SimPostgres } from './postgres/server.ts';
import type { Subject } from './subject.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { Violation } from './violation.ts';

const MINUTE = 60_000;
/** Minutes until the first traffic, and until the first fault. */
const QUIET = 3;
const BEFORE = 8;
/** Time without faults and traffic at the end. Everything must be in order after it. */
const REST_MS = 45 * MINUTE;
/** Time until the collectors have read everything. */
const READ_MS = 12 * MINUTE;

export interface HistoryOptions extends Changes {
  readonly seed: number;
  /** Virtual minutes with traffic and faults. */
  readonly minutes: number;
  readonly isTraced?: boolean;
  /** By default, the mutant or the seed decides. */
  readonly store?: StoreName | undefined;
  /** False for a history that ends with its faults, because only they show what it is for. */
  readonly hasRest?: boolean;
}

export interface History {
  readonly seed: number;
  readonly steps: number;
  /** Virtual minutes with faults until the end or the failure. */
  readonly minutes: number;
  readonly hash: string;
  readonly faults: readonly Fault[];
  /** Kinds of faults that were to be worse, and that it does not have. */
  readonly unknown: readonly string[];
  readonly failure?: { readonly invariant: string; readonly detail: string };
  readonly lines?: readonly string[];
}

type StoreName = 'sqlite' | 'postgres';

/** Every fourth history has replicas on PostgreSQL. */
const storeOf = (seed: number): StoreName => (seed % 4 === 0 ? 'postgres' : 'sqlite');

export async function runHistory(options: HistoryOptions): Promise<History> {
  const { seed, isTraced, store = storeOf(seed) } = options;
  const loop = new Loop(seed, { hasReplicas: store === 'postgres', isTraced, changes: options });
  begin(loop);
  const folder = mkdtempSync(join(memoryDir(), 'opsd-simulation-'));
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
  return {
    seed,
    steps,
    minutes: Math.max(0, loop.time / MINUTE - BEFORE),
    hash: loop.hash(),
    faults: faults.struck,
    unknown: [...faults.unknown],
    ...(failure && { failure }),
    ...(lines && { lines }),
  };
}

async function live(loop: Loop, folder: string, options: HistoryOptions): Promise<void> {
  const { minutes, hasRest = true } = options;
  const service = await started(loop, SimService.start(loop));
  const receiver = await started(loop, Receiver.start(loop));
  const alerts = new Alerts(loop);
  const checks = new Checks(loop, { service, receiver, alerts });
  const onLine = (line: LogLine): void => checks.heard(line);
  const world = { service, receiver, alerts };
  if (loop.hasReplicas) {
    // PGlite starts in real time.
    const postgres = await SimPostgres.start(loop);
    const replicas = new Replicas({ loop, folder, service, receiver: receiver.url, postgres, onLine });
    const cast = { ...world, daemon: replicas, operator: new Operator(loop, replicas) };
    await act(loop, { cast, checks, minutes, random: loop.random('rate') });
    if (!hasRest) return;
    await rest(loop, cast, checks);
    await checkReplicas(checks, postgres, EPOCH + loop.time);
    return;
  }
  const daemon = new SimDaemon(loop, folder, onLine);
  const signingKey = service.emulator.signingKeys(ACCOUNT).current;
  const random = loop.random('history');
  const canaries = canariesOf(loop);
  const of = {
    service: service.emulator.url,
    receiver: receiver.url,
    signingKey,
    random,
    canaries,
    hasStaging: hasStaging(loop),
  };
  const edits = new Edits(loop, daemon, of);
  const rotations = new Rotations(loop, service, daemon);
  const cast = { ...world, daemon, operator: new Operator(loop, daemon), edits, rotations };
  startSecond(loop, daemon, minutes);
  await act(loop, { cast, checks, minutes, random });
  if (!hasRest) return;
  await rest(loop, cast, checks);
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
      // At this time, the configuration can have a mistake.
      const isRefused = ['another process', 'opsd.yaml:'].some((part) => problem?.includes(part));
      if (process.alive && !isRefused)
        loop.failure ??= new Violation('a second daemon does not open the store', problem ?? 'it has started');
    });
  });
}

interface Play {
  readonly cast: Cast;
  readonly checks: Checks;
  readonly minutes: number;
  readonly random: Random;
}

/** Runs a history until its faults end. */
async function act(loop: Loop, { cast, checks, minutes, random }: Play) {
  const { service, daemon, operator } = cast;
  checks.watch(daemon, operator);
  daemon.start();
  // The daemon counts from its first reading of the log on.
  await loop.run(QUIET * MINUTE);
  service.begin();
  decideAtTimes(loop, operator);
  await loop.run((BEFORE - QUIET) * MINUTE);
  const { faults } = loop;
  faults.active = true;
  faults.rate = [0, 0.3, 1, 3][Math.floor(random() * 4)]!;
  if (faults.rate > 0) {
    service.disorder();
    direct(loop, cast);
  }
  await loop.run(minutes * MINUTE);
}

/** Ends the faults, and then the daemon. */
async function rest(loop: Loop, cast: Cast, checks: Checks) {
  const { daemon, operator } = cast;
  loop.faults.active = false;
  calm(cast);
  loop.note(WORLD, 'the faults end');
  await loop.run(REST_MS);
  await started(loop, checks.atRest(daemon));
  // Otherwise, some policy acts in most minutes, and the newest entries of the log are not read yet.
  await started(loop, operator.hold());
  await loop.run(READ_MS);
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
