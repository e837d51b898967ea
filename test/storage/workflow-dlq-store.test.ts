/** Commits of the workflow DLQ that are decided at the same time. */
import { expect, test } from 'vitest';
import { aggregateOwnDepartures } from '#observe/aggregation/workflow-dlq.ts';
import type { KnownRun, WorkflowDlqMemory } from '#observe/aggregation/workflow-dlq-store.ts';
import { createTotals } from '#storage/totals.ts';
import { createWorkflowDlqStore } from '#storage/workflow-dlq-store.ts';
import { heldBack } from '../support/held-back.ts';
import { memoryStore } from '../support/memory-store.ts';
import { storedCounters } from '../support/stored-totals.ts';

const ACCOUNT = 'production';

async function world() {
  const store = memoryStore();
  const { port: database, waiting, release } = heldBack(store.database, 'transaction');
  const opened = { ...store, database };
  const dlq = createWorkflowDlqStore(opened, createTotals(opened));
  const run = { dlqId: 'd', workflowRunId: 'run-d', workflow: 'w', createdAt: 1 };
  const change = { account: ACCOUNT, increments: [], histograms: [], changed: [run], forgotten: [] };
  const known = dlq.commitWorkflowDlq(ACCOUNT, () => change);
  while (waiting.length === 0) await Promise.resolve();
  waiting.shift()!.proceed();
  await known;
  const depart = (memory: WorkflowDlqMemory) =>
    aggregateOwnDepartures({ account: ACCOUNT, dlqIds: ['d'] }, memory, {
      actedOn: new Map([['d', 'resumed']]),
      at: 2,
    });
  const left = () => storedCounters(store, ACCOUNT).find(({ labels }) => labels.join() === 'w,resumed')?.value;
  return { store, dlq, waiting, release, depart, left };
}

test('a run that two readers find gone at the same time is counted out once', async () => {
  const { dlq, release, depart, left } = await world();
  const both = [dlq.commitWorkflowDlq(ACCOUNT, depart), dlq.commitWorkflowDlq(ACCOUNT, depart)];
  release();
  expect(await Promise.all(both)).toEqual([true, false]);
  expect(left()).toBe(1);
});

test('after a failed commit the next one decides on the state before it', async () => {
  const { dlq, waiting, release, depart, left } = await world();
  const failed = dlq.commitWorkflowDlq(ACCOUNT, depart);
  const next = dlq.commitWorkflowDlq(ACCOUNT, depart);
  while (waiting.length === 0) await Promise.resolve();
  waiting.shift()!.fail(new Error('disk full'));
  await expect(failed).rejects.toThrow('disk full');
  release();
  expect(await next).toBe(true);
  expect(left()).toBe(1);
});

test('a state that could not be loaded is loaded by the next reader', async () => {
  const store = memoryStore();
  const { port: database, waiting, release } = heldBack(store.database, 'read');
  const opened = { ...store, database };
  const dlq = createWorkflowDlqStore(opened, createTotals(opened));
  const first = dlq.memory(ACCOUNT);
  waiting.shift()!.fail(new Error('disk I/O error'));
  await expect(first).rejects.toThrow('disk I/O error');
  release();
  expect((await dlq.memory(ACCOUNT)).runs.size).toBe(0);
  expect(await dlq.memory(ACCOUNT)).toBe(await dlq.memory(ACCOUNT));
});

test('the time of a listing is stored for the runs of an account, and at the first listing', async () => {
  const store = memoryStore();
  const open = () => createWorkflowDlqStore(store, createTotals(store));
  const dlq = open();
  const stored = async () => (await open().memory(ACCOUNT)).listedAt;
  const list = (listedAt: number, changed: readonly KnownRun[] = []) =>
    dlq.commitWorkflowDlq(ACCOUNT, () => {
      return { account: ACCOUNT, listedAt, increments: [], histograms: [], changed, forgotten: [] };
    });
  expect([await list(1), await stored()]).toEqual([true, 1]);
  expect([await list(2), await stored()]).toEqual([false, 1]);
  expect((await dlq.memory(ACCOUNT)).listedAt).toBe(2);
  const run = { dlqId: 'd', workflowRunId: 'run-d', workflow: 'w', createdAt: 1 };
  expect([await list(3, [run]), await stored()]).toEqual([true, 3]);
  expect([await list(4), await stored()]).toEqual([true, 4]);
});
