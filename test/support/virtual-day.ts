/**
 * A day of a busy log in virtual time, read by the real collector into a real store through everything that goes wrong:
 * entries that show late, twice, answers that get lost, outages, a process that dies before a commit or right after it,
 * and starts again with what the store has.
 */
import { join } from 'node:path';
import type { LogQuery, Page } from '../../src/client/api.ts';
import { logs } from '../../src/collectors/logs.ts';
import type { LogEntry, MessageState } from '../../src/domain/log-entry.ts';
import type { Batch, LogProgress } from '../../src/domain/observation.ts';
import { ManualClock } from '../../src/platform/manual-clock.ts';
import { seededRandom } from '../../src/platform/random.ts';
import { createLogFoldStore } from '../../src/storage/sqlite-log-fold-store.ts';
import { createTotals } from '../../src/storage/sqlite-totals.ts';
import { openStore } from '../../src/storage/sqlite.ts';
import { ACCOUNT, context, target } from '../collectors/fake-context.ts';
import { clientOf, FakeServiceError } from '../collectors/fake-service.ts';
import { logTruth, toldByStore, type LogTruth } from './log-truth.ts';
import { tempDir } from './temp-dir.ts';

const START = Date.UTC(2026, 10, 20);
const MINUTE = 60_000;
const PAGE = 100;
/** Sweeps surely find what is late by less. */
const MOST_LATE = 8 * MINUTE;

export interface VirtualDay {
  readonly entries: number;
  readonly hours: number;
  readonly seed: number;
  /** Share of entries that show late. */
  readonly lateShare: number;
}

export interface DayTold {
  readonly truth: LogTruth;
  readonly told: LogTruth;
  /** What the reader counted of itself. */
  readonly own: (metric: string) => number;
  readonly crashes: number;
}

export async function virtualDay({ entries: wanted, hours, seed, lateShare }: VirtualDay): Promise<DayTold> {
  const random = seededRandom(seed);
  const rows = dayOfLog(wanted, hours * 60 * MINUTE, random);
  const shown = rows.map((row) => row.time + (random() < lateShare ? random() * MOST_LATE : 0));
  const path = join(tempDir(), 'opsd.db');
  const clock = new ManualClock(START);
  const client = clientOf({ message: { listLogs: (query) => Promise.resolve(list(query)) } });
  const end = rows.at(-1)!.time + 40 * MINUTE;
  let isDown = false;
  let crashes = 0;

  function list(query: LogQuery): Page<LogEntry> {
    if (isDown || random() < 0.002) throw new FakeServiceError(isDown ? 'connection' : 'timeout');
    const { fromDate = 0, toDate = Infinity, cursor } = query;
    const first = firstFrom(rows, fromDate);
    let at = cursor === undefined ? firstFrom(rows, toDate + 1) - 1 : Number(cursor);
    const value: LogEntry[] = [];
    const now = clock.now();
    for (; at >= first && value.length < PAGE; at -= 1) {
      const row = rows[at]!;
      if (shown[at]! > now || (query.messageId !== undefined && row.messageId !== query.messageId)) continue;
      value.push(row);
      if (random() < 0.01) value.push(row);
    }
    return { value, dropped: 0, ...(at >= first && { cursor: String(at) }), servedAt: Math.floor(now / 1_000) * 1_000 };
  }

  /** A process: it runs until it dies or the day is over. */
  async function live(): Promise<DayTold | undefined> {
    using store = openStore(path);
    const totals = createTotals(store);
    const folds = createLogFoldStore(store, totals);
    let dies = false;
    const mortal: typeof folds = {
      ...folds,
      commitLog(commit) {
        dies = random() < 0.01;
        if (dies && random() < 0.5) throw new Error('killed before the commit');
        folds.commitLog(commit);
        if (dies) throw new Error('killed after the commit');
      },
    };
    const watched = target({ settings: { logs: { pageBudget: 400 } } });
    let previous: Batch<'logs'> | undefined;
    let row: LogProgress | undefined;
    while (clock.now() < end) {
      const stores = { ...context<'logs'>().stores, log: mortal };
      const at = context<'logs'>({ target: watched, clock, stores, ...(previous && { previous }) });
      const collected = await logs.collect(client, at).catch((error: unknown) => {
        if (!(error instanceof FakeServiceError) && !dies) throw error;
      });
      if (dies) {
        crashes += 1;
        return undefined;
      }
      if (collected !== undefined) {
        row = collected.rows[0]!;
        previous = { account: ACCOUNT, collector: 'logs', at: clock.now(), ...collected };
      }
      // An outage now and then: of half an hour at most, so that not all of it is late.
      if (random() < 0.002) {
        isDown = true;
        await clock.advance(Math.floor(random() * 30) * MINUTE);
        isDown = false;
      }
      await clock.advance(30_000);
    }
    const own = (metric: string): number =>
      totals.counters(ACCOUNT).find((counter) => counter.metric === metric)?.value ?? 0;
    const counts = new Map(totals.counters(ACCOUNT).map(({ metric }) => [metric, own(metric)]));
    const told = toldByStore(totals, ACCOUNT, row!);
    return { truth: logTruth(rows), told, crashes, own: (metric) => counts.get(metric) ?? 0 };
  }

  for (;;) {
    const ended = await live();
    if (ended !== undefined) return ended;
  }
}

function firstFrom(rows: readonly LogEntry[], time: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows[middle]!.time < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Lives of messages that begin evenly over the time; in order of time, each life in its own order. */
function dayOfLog(wanted: number, ms: number, random: () => number): (LogEntry & { readonly state: MessageState })[] {
  const rows: (LogEntry & { readonly state: MessageState })[] = [];
  const messages = Math.ceil(wanted / 3.4);
  for (let n = 0; rows.length < wanted; n += 1) {
    const url = `https://host-${n % 7}.example/orders/${n}`;
    const messageId = `msg_${n.toString(36)}`;
    let time = START + 1_000 + Math.floor((n / messages) * ms);
    const log = (state: MessageState, more: Partial<LogEntry> = {}): void => {
      rows.push({ time, messageId, state, url, labels: [], ...more });
    };
    const after = (most: number): void => void (time += 1 + Math.floor(random() * most));
    const fate = random();
    if (fate < 0.01) {
      log('CREATED', { nextDeliveryTime: time + 10 * 24 * 60 * MINUTE });
      continue;
    }
    log('CREATED');
    if (fate < 0.02) {
      after(5_000);
      log('CANCEL_REQUESTED');
      log('CANCELLED');
      continue;
    }
    const failures = fate < 0.1 ? 1 + Math.floor(random() * 3) : 0;
    for (let failure = 0; failure < failures; failure += 1) {
      after(400);
      log('ACTIVE');
      after(900);
      const delay = 1_000 + Math.floor(random() * 20 * MINUTE);
      log('ERROR', { responseStatus: 503, nextDeliveryTime: time + delay });
      log('RETRY', { nextDeliveryTime: time + delay });
      time += delay;
    }
    after(400);
    log('ACTIVE');
    after(900);
    if (fate > 0.03) {
      log('DELIVERED', { responseStatus: 200 });
    } else {
      log('ERROR', { error: 'connect ECONNREFUSED' });
      log('FAILED', { error: 'connect ECONNREFUSED' });
    }
  }
  return rows.sort((a, b) => a.time - b.time);
}
