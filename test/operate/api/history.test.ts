/** The history for charts over real HTTP: points of one length, gaps, and marks. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DELIVERY_DURATION_BOUNDS, durationQuantile } from '#foundation/domain/delivery-durations.ts';
import type { Timeline, TimelineQuery } from '#automate/ledger/timeline.ts';
import { HISTORY_SPANS, type HistoryView } from '#operate/contract/history.ts';
import { asked, got, incident, incidents, ledger, NOW, world } from '../http/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const EMPTY: Timeline = { points: [], repairs: [], flowControl: [], campaigns: [], pauses: [], deploys: [] };
const ACCOUNTS = [
  { name: 'production', messageApiUrl: 'http://a', managementApiUrl: 'http://b' },
  { name: 'staging', messageApiUrl: 'http://a' },
];

function over(timeline: Partial<Timeline>, overrides: Parameters<typeof world>[0] = {}) {
  const queries: TimelineQuery[] = [];
  const read = async (query: TimelineQuery) => {
    queries.push(query);
    return { ...EMPTY, ...timeline };
  };
  return { deps: world({ accounts: ACCOUNTS, ledger: ledger({ timeline: read }), ...overrides }), queries };
}

const point = (at: number, more: Partial<Timeline['points'][number]>) => ({
  at,
  created: 0,
  delivered: 0,
  failed: 0,
  retried: 0,
  durations: [],
  ...more,
});

test('a point that is not counted or read is null, and never 0', async () => {
  const from = NOW - HOUR;
  const { deps, queries } = over({
    // Counted from within the second minute to within the fifth.
    counted: { from: from + MINUTE + 1, to: from + 5 * MINUTE - 1 },
    points: [
      point(from + 2 * MINUTE, { delivered: 3, durations: [0, 4], inFlight: 2 }),
      point(from + 4 * MINUTE, { delivered: 9, spendUsd: 1.5 }),
    ],
    repairs: [{ at: from + MINUTE, verified: 2, failedAgain: 1 }],
  });
  const view = await got<HistoryView>(deps, '/api/v1/history?span=1h&account=production');
  expect(view).toMatchObject({ from, to: NOW, stepMs: MINUTE });
  const { series } = view;
  const first = Object.fromEntries(Object.entries(series).map(([name, points]) => [name, points.slice(0, 6)]));
  const none = [null, null, null, null, null, null];
  const nothing = [null, null, 0, 0, null, null];
  expect(first).toEqual({
    created: nothing,
    delivered: [null, null, 3, 0, null, null],
    failed: nothing,
    retried: nothing,
    p95Seconds: [null, null, 0.0975, null, null, null],
    inFlight: [null, null, 2, null, null, null],
    failedRuns: none,
    deadLetters: none,
    spendUsd: [null, null, null, null, 1.5, null],
    verified: [0, 2, 0, 0, 0, 0],
    failedAgain: [0, 1, 0, 0, 0, 0],
  });
  expect(Object.values(series).map(({ length }) => length)).toEqual(Object.keys(series).map(() => 60));
  expect(queries[0]?.accounts).toEqual([{ name: 'production', hasLog: true, hasSpend: true }]);
});

test('minutes before the log is counted are those of the statistics, if all accounts have them', async () => {
  const from = NOW - HOUR;
  const points = (values: readonly number[], stepMs = MINUTE) =>
    values.map((value, index) => ({ at: from + index * stepMs, value }));
  const stats = (messages: readonly number[], runs: readonly number[], stepMs?: number) => ({
    messages: [
      { id: 'delivered', points: points(messages, stepMs) },
      { id: 'error', points: points([50, 50, 50]) },
    ],
    workflowMessages: [{ id: 'DELIVERED', points: points(runs, stepMs) }],
  });
  const { deps } = over({
    counted: { from: from + 2 * MINUTE, to: from + 4 * MINUTE },
    points: [point(from + 2 * MINUTE, { delivered: 7 })],
  });
  const delivered = async (query: string) =>
    (await got<HistoryView>(deps, `/api/v1/history?span=1h${query}`)).series.delivered.slice(0, 5);
  const collector = 'accountStats';
  for (const { name: account } of ACCOUNTS)
    deps.board.register({ account, collector, schedule: 'every 1h', intervalMs: HOUR, maxStalenessMs: 3 * HOUR });
  const publish = (account: string, row: object, at = NOW) =>
    deps.board.publish({ account, collector, at, rows: [row], dropped: 0 }, 1);
  publish('production', stats([1, 2, 300], [10, 20, 300]));
  expect(await delivered('&account=production')).toEqual([11, 22, 7, 0, null]);
  expect(await delivered('')).toEqual([null, null, 7, 0, null]);
  publish('staging', stats([4, 5], [0, 0]));
  expect(await delivered('')).toEqual([15, 27, 7, 0, null]);
  // The second minute had not ended at the reading.
  publish('staging', stats([4, 5], [0, 0]), from + 2 * MINUTE - 1);
  expect(await delivered('')).toEqual([15, null, 7, 0, null]);
  publish('staging', stats([4, 5], [0, 0], 3 * MINUTE));
  expect(await delivered('')).toEqual([null, null, 7, 0, null]);
  const { failed } = (await got<HistoryView>(deps, '/api/v1/history?span=1h')).series;
  expect(failed.slice(0, 3)).toEqual([null, null, 0]);
});

test('each span has at most 180 whole points', async () => {
  const { deps, queries } = over({});
  for (const span of HISTORY_SPANS) {
    const { series, from, to, stepMs } = await got<HistoryView>(deps, `/api/v1/history?span=${span}`);
    expect([from % stepMs, to % stepMs, to <= NOW, NOW - to < stepMs]).toEqual([0, 0, true, true]);
    expect(series.inFlight.length).toBeLessThanOrEqual(180);
    expect(series.inFlight.length).toBe((to - from) / stepMs);
  }
  expect(queries[0]?.accounts.map(({ name, hasSpend }) => [name, hasSpend])).toEqual([
    ['production', true],
    ['staging', false],
  ]);
  const many = Array.from({ length: 5 }, (_, index) => ({ name: `shop-${index}`, messageApiUrl: 'http://a' }));
  const { stepMs } = await got<HistoryView>(over({}, { accounts: many }).deps, '/api/v1/history?span=24h');
  expect(stepMs).toBe(HOUR);
});

test('unknown spans and accounts are refused', async () => {
  const { deps } = over({});
  expect([
    (await asked(deps, '/api/v1/history?span=2h')).status,
    (await asked(deps, '/api/v1/history?account=no')).status,
  ]).toEqual([400, 404]);
});

test('a flow-control key that a complete reading does not list has no waiting messages', async () => {
  const from = NOW - HOUR;
  const keys = Array.from({ length: 12 }, (_, index) => [`key-${index}`, 100 - index] as const);
  const { deps } = over({
    flowControl: [
      { at: from, keys: [['busy', 500]], isCut: false },
      { at: from + MINUTE, keys, isCut: true },
    ],
  });
  const { flowControl } = await got<HistoryView>(deps, '/api/v1/history?span=1h&account=production');
  expect(flowControl.map(({ flowControlKey, waitListSize }) => [flowControlKey, ...waitListSize.slice(0, 3)])).toEqual([
    ['busy', 500, null, null],
    ...keys.slice(0, 9).map(([key, messages]) => [key, 0, messages, null]),
  ]);
});

test('marks are the newest 30 of the period, oldest first, without groups', async () => {
  const campaign = {
    id: 'p/1',
    policy: 'resume billing',
    account: 'production',
    group: 'https://u:secret@x',
    state: 'halted',
  } as const;
  const more = { step: 1, size: 1, halts: 1, recent: [], judged: 0, verified: 0 };
  const { deps } = over(
    {
      campaigns: [
        { ...campaign, ...more, begunAt: NOW - 50 * MINUTE, haltedAt: NOW - 20 * MINUTE },
        { ...campaign, ...more, account: 'gone', begunAt: NOW - 50 * MINUTE },
      ],
      pauses: [{ scope: 'group/p/https://u:secret@x', reason: 'r', at: NOW - 10 * MINUTE, by: 'mira' }],
    },
    {
      incidents: incidents({
        all: () => [
          incident({ id: 'i 1', account: 'production', firstAt: NOW - 55 * MINUTE }),
          incident({ id: 'old', account: 'production', firstAt: NOW - 61 * MINUTE }),
        ],
        marks: () => [
          { at: NOW - 5 * MINUTE, kind: 'configuration', detail: 'hash' },
          { at: NOW - 4 * MINUTE, kind: 'version', detail: '1.2.3' },
          { at: NOW - 3 * MINUTE, kind: 'configuration', detail: 'hash policy p, limits' },
        ],
      }),
    },
  );
  const { marks } = await got<HistoryView>(deps, '/api/v1/history?span=1h');
  expect(marks.map(({ kind, text, path }) => [kind, text, path])).toEqual([
    ['incident', expect.stringMatching(/^first failure: /), '/incidents/i%201'],
    ['repair', 'resume billing began a campaign', '/policies/resume%20billing'],
    ['halt', 'resume billing halted a campaign', '/policies/resume%20billing'],
    ['halt', 'a group of policy p paused by mira', undefined],
    ['configuration', 'configuration loaded', '/configuration'],
    ['configuration', 'version 1.2.3 started', '/configuration'],
    ['configuration', 'configuration changed: policy p, limits', '/configuration'],
  ]);
  expect(JSON.stringify(marks)).not.toContain('secret');
  const pauses = Array.from({ length: 40 }, (_, index) => ({
    scope: 'engine',
    reason: '',
    at: NOW - index,
    by: `${index}`,
  }));
  const newest = (await got<HistoryView>(over({ pauses }).deps, '/api/v1/history')).marks;
  expect([newest.length, newest.at(-1)?.text]).toEqual([30, 'the engine paused by 0']);
});

test('a quantile lies within the bucket of its rank', () => {
  const buckets = fc.array(fc.nat(1_000), { minLength: 16, maxLength: 16 });
  fc.assert(
    fc.property(buckets, fc.double({ min: 0.01, max: 1, noNaN: true }), (counts, quantile) => {
      const all = counts.reduce((sum, count) => sum + count, 0);
      const found = durationQuantile(counts, quantile);
      if (all === 0) {
        expect(found).toBeUndefined();
        return;
      }
      let below = 0;
      const bucket = counts.findIndex((count) => count > 0 && (below += count) >= quantile * all);
      const bounds = DELIVERY_DURATION_BOUNDS;
      expect(found).toBeGreaterThanOrEqual(bounds[bucket - 1] ?? 0);
      expect(found).toBeLessThanOrEqual(bounds[bucket] ?? bounds.at(-1)!);
    }),
  );
});
