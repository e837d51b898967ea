/**
 * A day of a busy account in virtual time: the embedded service really accepts and delivers over HTTP while the test
 * moves its clock; the real client reads its log over HTTP, and the real collector counts into a real store. Through
 * everything that goes wrong: answers that fail, get lost, break off or never end, entries that show late and twice,
 * outages, and a process that dies before a commit or right after it and starts again with what the store has.
 */
import { join } from 'node:path';
import { createClient } from '#service/create-client.ts';
import { clientSettings, wireSettings } from '#service/settings.ts';
import { logs } from '#observe/collectors/logs.ts';
import type { Batch, LogProgress } from '#foundation/domain/observation.ts';
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import type { Emulator } from '#emulator/emulator.ts';
import type { FaultRule } from '#emulator/http/faults.ts';
import { type Clock, systemClock } from '#foundation/platform/clock.ts';
import { EventBus } from '#foundation/events/events.ts';
import { type Random, seededRandom } from '#foundation/platform/random.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { createLogFoldStore } from '#storage/sqlite-log-fold-store.ts';
import { createTotals } from '#storage/sqlite-totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { ACCOUNT, context, target } from '../observe/collectors/fake-context.ts';
import { DayTraffic } from './day-traffic.ts';
import { logTruth, toldByStore, total, type LogTruth } from './log-truth.ts';
import { logsUntil, TEST_TOKEN } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { testEmulator } from './test-emulator.ts';

const START = Date.UTC(2026, 10, 20);
const MINUTE = 60_000;
const POLL_MS = 30_000;
/** Sweeps surely find what is late by no more. */
const MOST_LATE = 15 * MINUTE;
/** After the last message: until its last retry is over, and every sweep that may find something. */
const QUIET_POLLS = (120 * MINUTE) / POLL_MS;
/** Of what the traffic makes, its retries included: at least. */
const ENTRIES_PER_MESSAGE = 3.2;
/** How much faster than the service's time stands still the client's waits and timeouts pass. */
const HURRY = 20;

/** What goes wrong with answers, and how often. */
const FAULTS: readonly (readonly [fault: FaultRule['fault'], probability: number])[] = [
  [{ kind: 'status', status: 500 }, 0.005],
  [{ kind: 'status', status: 503, retryAfter: 1 }, 0.005],
  [{ kind: 'rate-limit', form: 'burst' }, 0.002],
  [{ kind: 'lost' }, 0.005],
  [{ kind: 'truncated' }, 0.001],
  [{ kind: 'truncated', how: 'connection' }, 0.005],
  [{ kind: 'repeated-cursor' }, 0.002],
  [{ kind: 'duplicate', share: 0.02 }, 1],
  [{ kind: 'duplicate', share: 0.02, when: 'later' }, 1],
  [{ kind: 'late', ms: 100_000, share: 0.006 }, 1],
  [{ kind: 'late', ms: MOST_LATE, share: 0.002 }, 1],
];

const DOWN: FaultRule['fault'] = { kind: 'status', status: 503 };

export interface VirtualDay {
  /** Entries of the log, at least. */
  readonly entries: number;
  readonly hours: number;
  readonly seed: number;
}

interface Facts {
  readonly created: number;
  readonly attempts: number;
}

export interface DayTold {
  readonly truth: LogTruth;
  readonly told: LogTruth;
  /** What the service told of itself beside its log, and the same in the truth. */
  readonly facts: Facts;
  readonly shown: Facts;
  readonly entries: number;
  /** What the reader counted of itself. */
  readonly own: (metric: string) => number;
  readonly crashes: number;
  /** Requests that met a fault other than what comes late or twice. */
  readonly faults: number;
  readonly outages: number;
}

export async function virtualDay({ entries, hours, seed }: VirtualDay): Promise<DayTold> {
  const random = seededRandom(seed);
  const emulator = await testEmulator({
    time: 'virtual',
    startAt: START,
    random: seededRandom(seed + 1),
    logMaxEntries: 2 * entries + 10_000,
  });
  const facts = { created: 0, attempts: 0 };
  emulator.onFact((_account, { kind }) => {
    if (kind === 'created') facts.created += 1;
    if (kind === 'attempt') facts.attempts += 1;
  });
  const polls = (hours * 60 * MINUTE) / POLL_MS;
  const traffic = new DayTraffic({ emulator, random, messagesAtOnce: entries / ENTRIES_PER_MESSAGE / polls });
  await traffic.begin();
  for (const [fault, probability] of FAULTS) {
    emulator.control.faults.add({ operations: ['list-logs'], probability, fault });
  }
  const path = join(tempDir(), 'opsd.db');
  const day: Day = { emulator, traffic, random, path, polls, poll: 0, counting: false, outages: 0, downUntil: 0 };
  for (let crashes = 0; ; crashes += 1) {
    const lived = await live(day);
    if (lived === undefined) continue;
    const faults = emulator.control.faults.list().filter(({ fault }) => !('share' in fault));
    const met = faults.reduce((sum, { hits }) => sum + hits, 0);
    emulator.control.faults.clear();
    const rows = await logsUntil({ url: emulator.url, token: TEST_TOKEN }, emulator.control.clock().now);
    const truth = logTruth(rows.toReversed());
    const shown = {
      created: total(truth, 'msgsvc_messages_created_total'),
      attempts: total(truth, 'msgsvc_message_attempts_total'),
    };
    return { ...lived, truth, facts, shown, entries: rows.length, crashes, faults: met, outages: day.outages };
  }
}

interface Day {
  readonly emulator: Emulator;
  readonly traffic: DayTraffic;
  readonly random: Random;
  readonly path: string;
  /** With traffic; then it is quiet. */
  readonly polls: number;
  /** The next one. */
  poll: number;
  /** Whether any process has counted; a later one may begin in an outage, which ends only if time goes on. */
  counting: boolean;
  outages: number;
  /** The poll before which nothing is answered. */
  downUntil: number;
}

/** A process: it runs until it dies, or the day is over. */
async function live(day: Day): Promise<Pick<DayTold, 'told' | 'own'> | undefined> {
  const { emulator, random } = day;
  const clock = hurried(() => emulator.control.clock().now);
  using store = openStore(day.path);
  const totals = createTotals(store);
  const folds = createLogFoldStore(store, totals);
  await using client = createClient(
    {
      account: ACCOUNT,
      messageApi: { url: emulator.url, token: Secret.of(TEST_TOKEN) },
      wire: wireSettings.parse({}),
      limits: clientSettings.parse({ requestsPerSecond: 1_000, requestsPerDay: 1e9, timeout: '5m' }),
    },
    { clock, events: new EventBus(), random },
  );
  let dies = false;
  const mortal: typeof folds = {
    ...folds,
    commitLog(commit) {
      dies = random() < 0.03;
      if (dies && random() < 0.5) throw new Error('killed before the commit');
      folds.commitLog(commit);
      if (dies) throw new Error('killed after the commit');
    },
  };
  const watched = target({ settings: { logs: { pageBudget: 400 } } });
  const stores = { ...context<'logs'>().stores, log: mortal };
  let previous: Batch<'logs'> | undefined;
  let row: LogProgress | undefined;
  while (day.poll < day.polls + QUIET_POLLS) {
    const at = context<'logs'>({ target: watched, clock, stores, ...(previous && { previous }) });
    const collected = await logs.collect(client, at).catch((error: unknown) => {
      if (!dies && serviceErrorCode(error) === undefined) throw error;
    });
    if (dies) return undefined;
    if (collected !== undefined) {
      row = collected.rows[0]!;
      previous = { account: ACCOUNT, collector: 'logs', at: clock.now(), ...collected };
    }
    // Nothing happens before counting has begun.
    day.counting ||= row !== undefined;
    if (day.counting) await next(day);
  }
  const counts = new Map(totals.counters(ACCOUNT).map(({ metric, value }) => [metric, value]));
  return { told: toldByStore(totals, ACCOUNT, row!), own: (metric) => counts.get(metric) ?? 0 };
}

/** The time until the next poll; once and now and then an outage begins, of half an hour at most so that not all is late. */
async function next(day: Day): Promise<void> {
  const { emulator, traffic, random, polls } = day;
  const poll = day.poll++;
  await (poll < polls ? traffic.poll(POLL_MS) : traffic.quiet(POLL_MS));
  const { faults } = emulator.control;
  if (poll === day.downUntil) faults.list().forEach(({ id, fault }) => fault === DOWN && faults.remove(id));
  const begins = poll === Math.floor(polls / 3) || random() < 0.005;
  if (!begins || poll >= polls || poll <= day.downUntil) return;
  faults.add({ operations: ['list-logs'], fault: DOWN });
  day.outages += 1;
  day.downUntil = poll + 1 + Math.floor(random() * 60);
}

/** The service's time; what waits beside it does so twenty times as fast. */
function hurried(now: () => number): Clock {
  return {
    now,
    monotonic: () => systemClock.monotonic() * HURRY,
    after: (ms, run) => systemClock.after(ms / HURRY, run),
  };
}
