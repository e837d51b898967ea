/**
 * A day of a busy account in virtual time. The embedded service really accepts and delivers over HTTP while the test
 * moves its clock. The real client reads its log over HTTP, and the real collector counts into a real store. The day
 * contains all faults: responses that fail, get lost, break or never end, late and repeated entries, and outages. A
 * process also ends before a commit or right after it, and restarts from the store.
 */
import { join } from 'node:path';
import { logs } from '#observe/collectors/logs.ts';
import type { Batch, LogProgress } from '#foundation/domain/observation.ts';
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { OperationFaultRule } from '#emulator/http/faults.ts';
import { type Random, seededRandom } from '#foundation/platform/random.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { ACCOUNT, context, target } from '../observe/collectors/fake-context.ts';
import { clockOf } from './fast-clock.ts';
import { DayTraffic } from './day-traffic.ts';
import { logTruth, toldByStore, total, type LogTruth } from './log-truth.ts';
import { logsUntil, TEST_TOKEN } from './service.ts';
import { storedCounters } from './stored-totals.ts';
import { tempDir } from './temp-dir.ts';
import { testClient, testEmulator } from './test-emulator.ts';

const START = Date.UTC(2026, 10, 20);
const MINUTE = 60_000;
const POLL_MS = 30_000;
/** Maximum delay that sweeps are certain to cover. */
const MOST_LATE = 15 * MINUTE;
/** Polls after the last message, until its last retry and every sweep that may find an entry. */
const QUIET_POLLS = (120 * MINUTE) / POLL_MS;
/** Minimum entries per message of the traffic, its retries included. */
const ENTRIES_PER_MESSAGE = 3.2;
/** Speed of the client's waits and timeouts while the service's time stops. */
const HURRY = 20;

/** Faults of responses, with their probabilities. */
const FAULTS: readonly (readonly [fault: OperationFaultRule['fault'], probability: number])[] = [
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

const DOWN: OperationFaultRule['fault'] = { kind: 'status', status: 503 };

export interface VirtualDay {
  /** Minimum number of log entries. */
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
  /** Figures of the service outside of its log, and the same in the expected result. */
  readonly facts: Facts;
  readonly shown: Facts;
  readonly entries: number;
  /** Returns a metric of the reader about itself. */
  readonly own: (metric: string) => number;
  readonly crashes: number;
  /** Requests with a fault other than late or repeated entries. */
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
  readonly emulator: RunningEmulator;
  readonly traffic: DayTraffic;
  readonly random: Random;
  readonly path: string;
  /** Polls with traffic; later ones are quiet. */
  readonly polls: number;
  /** The next poll. */
  poll: number;
  /** True if any process has counted. A later one may start in an outage, which ends only when time moves. */
  counting: boolean;
  outages: number;
  /** The poll before which no request gets a response. */
  downUntil: number;
}

/** One process: it runs until it ends, or the day is over. */
async function live(day: Day): Promise<Pick<DayTold, 'told' | 'own'> | undefined> {
  const { emulator, random } = day;
  const clock = clockOf(emulator, HURRY);
  using store = openStore(day.path);
  const totals = createTotals(store);
  const aggregations = createLogAggregationStore(store, totals);
  const limits = { requestsPerDay: 1e9, timeout: '5m' };
  await using client = testClient(emulator.url, { account: ACCOUNT, limits, clock, random });
  let dies = false;
  const mortal: typeof aggregations = {
    ...aggregations,
    async commitLog(commit) {
      dies = random() < 0.03;
      if (dies && random() < 0.5) throw new Error('killed before the commit');
      await aggregations.commitLog(commit);
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
    // Without counting, no event occurs yet.
    day.counting ||= row !== undefined;
    if (day.counting) await next(day);
  }
  const counts = new Map(storedCounters(store, ACCOUNT).map(({ metric, value }) => [metric, value]));
  return { told: toldByStore(store, ACCOUNT, row!), own: (metric) => counts.get(metric) ?? 0 };
}

/** Moves time to the next poll. At times an outage begins, of half an hour at most so that not all entries are late. */
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
