/** The history of an account: sums of its log, samples of its readings, and what charts read of them, over each database. */
import { describe, expect, test } from 'vitest';
import type { HistorySample } from '#observe/aggregation/history-store.ts';
import { SUM_COLUMNS } from '#observe/aggregation/minute-sums.ts';
import type { TimelineQuery } from '#automate/ledger/timeline.ts';
import { all, run, type Database } from '#storage/database.ts';
import { createHistoryStore } from '#storage/history-store.ts';
import { timelineQueries, createTimeline } from '#storage/ledger-timeline.ts';
import { recentRunsQuery } from '#storage/ledger-runs.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createTotals } from '#storage/totals.ts';
import { memoryStore } from '../support/memory-store.ts';
import { STORES } from '../support/postgres/test-stores.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T0 = Date.UTC(2026, 10, 20, 10);

const account = (name: string) => ({ name, hasLog: true, hasSpend: true });
const query = (names: readonly string[], more: Partial<TimelineQuery> = {}): TimelineQuery => ({
  accounts: names.map(account),
  from: T0,
  to: T0 + HOUR,
  stepMs: MINUTE,
  ...more,
});
const sums = (minute: number, counts: Readonly<Record<string, number>>) => ({
  minute,
  values: SUM_COLUMNS.map((column) => counts[column] ?? 0),
});
const sample = (name: string, at: number, more: Partial<HistorySample> = {}): HistorySample => ({
  account: name,
  at,
  ...more,
});

async function opened(open: () => Promise<{ readonly database: Database }>) {
  const store = await open();
  const totals = createTotals(store);
  const log = createLogAggregationStore(store, totals);
  const commit = (name: string, watermark: number, minutes: readonly ReturnType<typeof sums>[] = []) =>
    log.commitLog({
      account: name,
      watermark,
      keptFrom: T0,
      increments: [],
      minutes,
      attempts: { from: T0, attempts: [] },
    });
  const reader = createTimeline(store);
  const timeline = (asked: TimelineQuery) => reader.timeline(asked);
  return { ...store, totals, commit, timeline, history: createHistoryStore(totals) };
}

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  test('the log is summed by minute and hour, and over accounts that are all counted', async () => {
    const { commit, timeline } = await opened(open);
    await commit('a', T0 + HOUR, [sums(T0, { created: 2, d0: 1 }), sums(T0 + MINUTE, { delivered: 1, d3: 1 })]);
    await commit('a', T0 + 2 * HOUR, [sums(T0 + MINUTE, { delivered: 2, failed: 1, canary_created: 5 })]);
    expect((await timeline(query(['a', 'b']))).counted).toBeUndefined();
    await commit('b', T0 + HOUR, [sums(T0 + MINUTE, { retried: 4 })]);
    const both = await timeline(query(['a', 'b']));
    expect(both.counted).toEqual({ from: T0, to: T0 + HOUR });
    const none = { created: 0, delivered: 0, failed: 0, retried: 0 };
    expect(both.points.map(({ durations: _durations, ...point }) => point)).toEqual([
      { ...none, at: T0, created: 2 },
      { ...none, at: T0 + MINUTE, delivered: 3, failed: 1, retried: 4 },
    ]);
    expect(both.points.map(({ durations }) => durations.findIndex((count) => count > 0))).toEqual([0, 3]);
    const tens = await timeline(query(['a', 'b'], { stepMs: 10 * MINUTE }));
    expect(tens.points).toMatchObject([{ at: T0, created: 2, delivered: 3 }]);
    const [hour, ...others] = (await timeline(query(['a', 'b'], { stepMs: HOUR }))).points;
    expect([hour, others]).toMatchObject([{ at: T0, created: 2, delivered: 3, failed: 1, retried: 4 }, []]);
  });

  test('a reading is the highest of its point, and unknown if that of an account is missing', async () => {
    const { history, timeline } = await opened(open);
    await history.addSamples([sample('a', T0 + 1, { inFlight: 7, failedRuns: 0, spendUsd: 1.5 })]);
    await history.addSamples([
      sample('a', T0 + MINUTE, { inFlight: 3, spendUsd: 1.75 }),
      sample('b', T0 + MINUTE, { inFlight: 2, deadLetters: 4 }),
    ]);
    const readings = async (names: readonly string[], more?: Partial<TimelineQuery>) =>
      (await timeline(query(names, more))).points.map(({ at, inFlight, failedRuns, deadLetters, spendUsd }) => [
        (at - T0) / MINUTE,
        inFlight,
        failedRuns,
        deadLetters,
        spendUsd,
      ]);
    expect(await readings(['a'])).toEqual([
      [0, 7, 0, undefined, 1.5],
      [1, 3, undefined, undefined, 1.75],
    ]);
    expect(await readings(['a', 'b'])).toEqual([
      [0, undefined, undefined, undefined, undefined],
      [1, 5, undefined, undefined, undefined],
    ]);
    // An account that cannot have a reading is no reason for a gap.
    const apart = [account('a'), { ...account('b'), hasSpend: false }];
    expect(await readings([], { accounts: apart, stepMs: HOUR })).toEqual([[0, 9, undefined, undefined, 1.75]]);
    expect(await readings([], { accounts: [{ name: 'a', hasLog: false, hasSpend: false }] })).toEqual([
      [0, undefined, undefined, undefined, undefined],
      [1, undefined, undefined, undefined, undefined],
    ]);
  });

  test('samples and sums share a row, in any order', async () => {
    const { history, commit, timeline } = await opened(open);
    await commit('a', T0 + MINUTE, [sums(T0, { created: 1 })]);
    await history.addSamples([sample('a', T0, { inFlight: 1, flowControl: { keys: [['k', 9]], isCut: false } })]);
    await commit('a', T0 + 2 * MINUTE, [sums(T0, { created: 1 })]);
    const { points, flowControl } = await timeline(query(['a']));
    expect(points).toMatchObject([{ at: T0, created: 2, inFlight: 1 }]);
    expect(flowControl).toEqual([{ at: T0, keys: [['k', 9]], isCut: false }]);
    expect((await timeline(query(['a', 'b']))).flowControl).toEqual([]);
  });

  test('old rows are deleted with samples', async () => {
    const { history, database } = await opened(open);
    const minutes = async () =>
      (await database.read(all('SELECT at FROM history WHERE step = ? ORDER BY at', MINUTE))).map(({ at }) =>
        Number(at),
      );
    for (let minute = 0; minute <= 5; minute += 1) await history.addSamples([sample('a', T0 + minute * MINUTE)]);
    expect((await minutes()).map((at) => (at - T0) / MINUTE)).toEqual([0, 1, 2, 3, 4, 5]);
    await history.addSamples([sample('a', T0 + 25 * HOUR + 3 * MINUTE)]);
    expect((await minutes()).map((at) => (at - T0) / MINUTE)).toEqual([3, 4, 5, 1_503]);
  });

  test('the newest runs of each policy are read, newest first', async () => {
    const { database } = await opened(open);
    const policies = ['often', 'often', 'rarely', 'often', 'gone', 'often'];
    for (const policy of policies)
      await database.transaction(run("INSERT INTO runs (policy, account, at, cause) VALUES (?, 'a', 1, '{}')", policy));
    const newest = await database.read(all(recentRunsQuery(database.dialect), '["often","rarely","never"]', 3));
    expect(newest.map(({ id, policy }) => [id, policy])).toEqual([
      [6, 'often'],
      [4, 'often'],
      [3, 'rarely'],
      [2, 'often'],
    ]);
  });

  test('repairs are counted by the time of their outcome', async () => {
    const { database, timeline } = await opened(open);
    const intent = `INSERT INTO intents (run_id, at, epoch, policy, account, action, target, group_name, items, proposal)
      VALUES (?, ?, 1, 'p', ?, 'workflow-dlq.resume', ?, 'g', 1, '{}') RETURNING id`;
    await database.transaction(function* () {
      const [{ id: runId } = {}] = yield* all<{ readonly id: number }>(
        `INSERT INTO runs (policy, account, at, cause) VALUES ('p', 'a', 1, '{}') RETURNING id`,
      );
      const outcomes = ['accepted 0', 'verified 1', 'failed_again 61', 'verified 62', 'verified 3600'];
      for (const [index, text] of outcomes.entries()) {
        const [outcome, seconds] = text.split(' ') as [string, string];
        const [row] = yield* all(intent, runId!, T0, index === 3 ? 'b' : 'a', `t${index}`);
        const at = T0 + Number(seconds) * 1_000;
        yield* run('INSERT INTO outcomes (intent_id, at, outcome) VALUES (?, ?, ?)', row!['id']!, at, outcome);
      }
    });
    expect((await timeline(query(['a']))).repairs).toEqual([
      { at: T0, verified: 1, failedAgain: 0 },
      { at: T0 + MINUTE, verified: 0, failedAgain: 1 },
    ]);
    expect((await timeline(query(['a', 'b'], { stepMs: HOUR }))).repairs).toEqual([
      { at: T0, verified: 2, failedAgain: 1 },
    ]);
  });
});

test('the columns of the sums are those of the table, in its order', () => {
  const columns = memoryStore().db.prepare(`SELECT name FROM pragma_table_info('history')`).all();
  expect(columns.map(({ name }) => name).slice(3, 3 + SUM_COLUMNS.length)).toEqual(SUM_COLUMNS);
});

test('an account keeps at most 2 MB, and each query finds its rows by an index', async () => {
  const store = memoryStore();
  const { database, db } = store;
  const keys = Array.from({ length: 10 }, (_, index) => [`${index}`.repeat(38), 1_000_000 + index]);
  const filled = `INSERT INTO history (account, step, at, ${SUM_COLUMNS.join(', ')}, in_flight, failed_runs, dead_messages, spend_usd, flow_control)
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    SELECT 'account-of-some-length', ?, i, ${SUM_COLUMNS.map(() => '1000000').join(', ')}, 1000000, 1000000, 1000000, 1.5, ? FROM n`;
  const before = Number(db.prepare('SELECT page_count FROM pragma_page_count').get()!['page_count']);
  const text = JSON.stringify({ keys, isCut: false });
  await database.transaction(run(filled, 25 * 60, MINUTE, text));
  await database.transaction(run(filled, 36 * 24, HOUR, text));
  const pages = Number(db.prepare('SELECT page_count FROM pragma_page_count').get()!['page_count']) - before;
  expect(pages * 4_096).toBeLessThan(2_000_000);
  const { points, counted, repairs, flowControl } = timelineQueries(database.dialect);
  for (const sql of [points, counted, repairs, flowControl]) {
    const steps = db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail));
    expect(steps.filter((step) => /^SCAN (?!json_each|of_accounts|\(subquery)/.test(step))).toEqual([]);
  }
});
