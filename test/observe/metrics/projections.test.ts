/** Conversion of batches to gauges: on arrival, one slice per turn of the event loop, and never in a scrape. */
import { setImmediate as turn } from 'node:timers/promises';
import { onTestFinished, expect, test, vi } from 'vitest';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { SeriesTable } from '#observe/metrics/series.ts';
import { metricsSettings } from '#observe/metrics/settings.ts';
import { projectWorkflowDlq } from '#observe/metrics/workflow-dlq.ts';
import { until } from '../../support/until.ts';
import { dlqRow, NOW, seriesOf, world } from './world.ts';

const RUNS = 20_000;
/** Rows of one slice. The last step may exceed it. */
const MOST_IN_A_TURN = 2_048 + 256;

/** Rows that count their reads. */
function watchedRows(count: number) {
  const looks = { all: 0, inTurn: 0, most: 0, turns: 0 };
  const look = (): number => {
    looks.all += 1;
    looks.inTurn += 1;
    looks.most = Math.max(looks.most, looks.inTurn);
    return 1;
  };
  const rows = Array.from({ length: count }, (_, index): WorkflowDlqEntry => {
    const row = dlqRow(String(index), { responseStatus: 500, workflowUrl: `https://app.example/w${index % 7}` });
    // The projection of the workflow DLQ reads this once per row.
    return Object.defineProperty(row, 'flowControlKey', { get: () => void look(), enumerable: true });
  });
  let isWatching = true;
  const nextTurn = (): void => {
    if (looks.inTurn > 0) looks.turns += 1;
    looks.inTurn = 0;
    if (isWatching) setImmediate(nextTurn);
  };
  nextTurn();
  onTestFinished(() => void (isWatching = false));
  return { rows, looks };
}

const held = (samples: ReadonlyMap<string, number>): number =>
  Object.values(seriesOf(samples, 'msgsvc_workflow_dlq_runs')).reduce((sum, runs) => sum + runs, 0);

test('a scrape reads no row, however many arrived', async () => {
  const { publish, scrape } = await world();
  const { rows, looks } = watchedRows(RUNS);
  publish('workflowDlq', rows);
  expect(looks.all).toBe(0);
  await until({ what: 'all rows were looked at without a scrape' }, () => looks.all >= RUNS);
  const before = looks.all;
  await until({ what: 'the batch is shown' }, async () => held(await scrape()) === RUNS);
  await scrape();
  expect(looks.all).toBe(before);
});

test('many rows are projected one slice per turn, and replace the previous ones at once', async () => {
  const { publish, scrape } = await world();
  publish('workflowDlq', [dlqRow('a'), dlqRow('b')]);
  expect(held(await scrape())).toBe(2);
  const { rows, looks } = watchedRows(RUNS);
  publish('workflowDlq', rows);
  const seen = new Set<number>();
  await until({ what: 'the batch is shown' }, async () => {
    const runs = held(await scrape());
    seen.add(runs);
    return runs === RUNS;
  });
  expect([...seen]).toEqual([2, RUNS]);
  expect(looks.most).toBeLessThanOrEqual(MOST_IN_A_TURN);
  expect(looks.turns).toBeGreaterThanOrEqual(Math.floor(RUNS / MOST_IN_A_TURN));
});

test('while many rows are projected, an older batch that becomes too old is still withheld', async () => {
  const { publish, scrape, clock, board } = await world();
  publish('workflowDlq', [dlqRow('a')]);
  expect(held(await scrape())).toBe(1);
  await clock.advance(180_001);
  const { rows } = watchedRows(RUNS);
  board.publish({ account: 'prod', collector: 'workflowDlq', rows, at: NOW, dropped: 0 }, 25);
  expect(held(await scrape())).toBe(0);
  await until({ what: 'the batch is shown' }, async () => held(await scrape()) === RUNS);
});

test('batches that arrive during a projection are shown too, the latest of each', async () => {
  const { publish, scrape } = await world();
  publish('workflowDlq', watchedRows(RUNS).rows);
  publish('urlGroups', []);
  await scrape();
  publish('urlGroups', [{ name: 'g', createdAt: NOW, updatedAt: NOW, endpoints: [] }]);
  publish('workflowDlq', [dlqRow('a')]);
  const groups = await until({ what: 'the latest runs are shown' }, async () => {
    const samples = await scrape();
    return held(samples) === 1 && seriesOf(samples, 'msgsvc_url_groups');
  });
  expect(groups).toEqual({ 'msgsvc_url_groups{account="prod"}': 1 });
});

test('runs that left by the daemon’s own actions leave the gauges, whose age does not decrease', async () => {
  const { publish, scrape, clock, board } = await world();
  publish('workflowDlq', [dlqRow('a'), dlqRow('b')]);
  expect(held(await scrape())).toBe(2);
  await clock.advance(180_000);
  board.depart('prod', new Set(['a']));
  await until({ what: 'the run has left' }, async () => held(await scrape()) === 1);
  await clock.advance(1);
  expect(held(await scrape())).toBe(0);
});

test('samples are steps too: workflows that all differ do not take one step', () => {
  const rows = Array.from({ length: 1_000 }, (_, index) =>
    dlqRow(String(index), { workflowUrl: `https://w${index}.example` }),
  );
  const batch = { account: 'prod', collector: 'workflowDlq', rows, at: NOW, dropped: 0 } as const;
  let puts = 0;
  const steps = projectWorkflowDlq(batch, () => void (puts += 1), metricsSettings.parse({}))!;
  const inSteps: number[] = [];
  let weight = 0;
  for (const rowsTaken of steps) {
    inSteps.push(puts);
    weight += rowsTaken;
    puts = 0;
  }
  const all = inSteps.reduce((sum, count) => sum + count, 0);
  expect(all).toBeGreaterThan(4 * rows.length);
  expect(Math.max(...inSteps)).toBeLessThan(32);
  // A sample counts more than a row.
  expect(weight).toBeGreaterThan(rows.length + 4 * all);
});

/** Returns the look-ups of series that a batch of one account needs, after each account had one. */
async function lookUps(accounts: number): Promise<number> {
  const names = Array.from({ length: accounts }, (_, index) => `account-${index}`);
  const { publish, scrape } = await world({
    accounts: names.map((name) => ({ name, apis: ['message'], requestsPerDay: 1_000 })),
  });
  for (const name of names) publish('workflowDlq', [dlqRow('a')], name);
  await until({ what: 'all batches are shown' }, async () => held(await scrape()) === accounts);
  const find = vi.spyOn(SeriesTable.prototype, 'find');
  publish('workflowDlq', [dlqRow('a'), dlqRow('b')], names[0]);
  // The projection of a few rows takes one turn.
  for (let turns = 0; turns < 3; turns += 1) await turn();
  const { length } = find.mock.calls;
  find.mockRestore();
  expect(held(await scrape())).toBe(accounts + 1);
  return length;
}

test('a batch writes only the gauges of its account, however many accounts there are', async () => {
  const few = await lookUps(2);
  expect(few).toBeGreaterThan(0);
  expect(await lookUps(40)).toBe(few);
});
