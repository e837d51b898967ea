/** One history: a world from one seed, its faults, a time without faults at the end, and the checks of all invariants. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configOf } from './config.ts';
import { SimDaemon } from './daemon.ts';
import type { Spared } from './faults.ts';
import { Checks } from './invariants.ts';
import { begin, Loop, WORLD } from './loop.ts';
import { Operator } from './operator.ts';
import { Receiver } from './receiver.ts';
import { SimService } from './service.ts';
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

export async function runHistory({ seed, minutes, isTraced, spared }: HistoryOptions): Promise<History> {
  const loop = new Loop(seed, { isTraced, spared });
  begin(loop);
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'opsd-simulation-'));
  const onRejection = (error: unknown): void => void (loop.failure ??= error);
  process.on('unhandledRejection', onRejection);
  let failure: History['failure'];
  try {
    await live(loop, folder, minutes);
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

async function live(loop: Loop, folder: string, minutes: number): Promise<void> {
  const service = await started(loop, SimService.start(loop));
  const receiver = await started(loop, Receiver.start(loop));
  const random = loop.random('history');
  const checks = new Checks(loop, service, receiver);
  const daemon = new SimDaemon(loop, folder, (line) => checks.heard(line));
  const operator = new Operator(loop, daemon);
  checks.watch(daemon, operator);
  const signingKey = service.emulator.signingKeys('acc-1').current;
  daemon.configure(configOf({ service: service.emulator.url, receiver: receiver.url, signingKey, random }));
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
  operator.lift();
  loop.note(WORLD, 'the faults end');
  await loop.run(REST_MS);
  await started(loop, checks.atRest(daemon));
  await untilCounted(loop, checks, daemon);
  const ended = daemon.stop();
  await started(loop, ended);
  await checks.afterEnd(daemon);
}

/** Policies still act, so the newest entries of the log may not be read yet, nor the newest notification delivered. */
async function untilCounted(loop: Loop, checks: Checks, daemon: SimDaemon): Promise<void> {
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
  readonly daemon: SimDaemon;
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
      daemon.process.offset = (faults.below(20) - 10) * 1_000;
      loop.note(daemon.process, `clock is off by ${daemon.process.offset} ms`);
    }
    director(loop, { service, daemon, operator });
  });
}
