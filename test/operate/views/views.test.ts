/** What another replica shows of an account is what its owner shows, with the right age. */
import { expect, test } from 'vitest';
import { deadLetterList } from '#operate/api/dead-letter-views.ts';
import { readCanaries } from '#operate/api/canaries.ts';
import { readFlowControl } from '#operate/api/flow-control.ts';
import { incidentDetail, incidentList } from '#operate/api/incident-views.ts';
import { readSpend } from '#operate/api/spend.ts';
import { readStatus } from '#operate/api/status.ts';
import type { ServerDeps } from '#operate/server.ts';
import type { ViewStore } from '#operate/views/view-store.ts';
import { RemoteViews } from '#operate/views/remote-views.ts';
import { ViewWriter } from '#operate/views/view-writer.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { NOW, RESUME_BILLING } from '../http/world.ts';
import {
  failedRun,
  MAX_STALENESS_MS,
  memoryViews,
  owner,
  replicas,
  visitor,
  writerTo,
} from '../../support/view-worlds.ts';

const MINUTE = 60_000;

/** Everything that the pages and the API show from the memory of an owner. */
async function everything(deps: ServerDeps) {
  const query = { limit: 50 };
  const incidents = incidentList(deps, query);
  return {
    status: await readStatus(deps, 0),
    incidents,
    details: await Promise.all(deps.incidents.all().map((incident) => incidentDetail(deps, incident))),
    deadLetters: deadLetterList(deps, query),
    flowControl: readFlowControl(deps),
    spend: await readSpend(deps),
    canaries: readCanaries(deps),
    labels: deps.labels?.(),
  };
}

async function busyReplicas(skewMs = 0) {
  const conditions = [
    {
      key: 'held/resume-billing',
      account: 'production',
      severity: 'warning' as const,
      summary: 'held',
      detail: 'arrivals',
      since: NOW,
    },
    { key: 'paused/engine', severity: 'warning' as const, summary: 'paused', detail: 'of another account', since: NOW },
  ];
  const deadLetters = [
    {
      account: 'production',
      dlqId: 'm-1',
      messageId: 'msg-1',
      learnedAt: NOW,
      url: 'https://crm.example/',
      labels: [],
    },
  ];
  const both = await replicas({ conditions, deadLetters }, skewMs);
  const { publish, attempts, review, board } = both.owner;
  attempts.take('production', {
    from: NOW - 7 * 60 * MINUTE,
    watermark: NOW,
    attempts: [20, 10, 1].map((ago) => ({
      host: 'crm.example',
      minute: NOW - ago * MINUTE,
      delivered: 0,
      failed: 40,
      failedFrom: NOW - ago * MINUTE,
      lost: 4,
      reasons: new Map([['HTTP 503', 40]]),
    })),
    resumeEnds: [],
    failures: [],
  });
  board.logLag.take('production', NOW - 2_000);
  await publish({
    collector: 'logs',
    rows: [{ watermark: NOW - 2_000, inFlight: [{ destination: 'a', messages: 2 }] }],
  });
  await publish({
    collector: 'accountStats',
    rows: [{ spend: { monthUsd: 12 }, dailyBillings: [{ at: NOW, value: 1 }] }],
  });
  await publish({ collector: 'flowControl', rows: [{ flowControlKey: 'vendor', waitListSize: 7, isPaused: true }] });
  await publish({
    collector: 'workflowDlq',
    rows: Array.from({ length: 700 }, (_, index) => failedRun(`d-${index}`, { createdAt: NOW - MINUTE + index })),
  });
  await review();
  return both;
}

test('another replica shows what the owner shows', async () => {
  const { owner: own, visitor: other, write, refresh } = await busyReplicas();
  await write();
  await refresh();
  const shown = await everything(own.shown);
  expect(shown.incidents.total).toBe(3);
  expect(shown.status.outages).toHaveLength(1);
  expect(shown.details.some(({ destination }) => destination?.attempts === 80)).toBe(true);
  const engineWide = shown.status.conditions.find(({ account }) => account === undefined)!;
  const conditions = shown.status.conditions.filter((condition) => condition !== engineWide);
  const { status, ...rest } = await everything(other.shown);
  expect(rest).toEqual((({ status: _status, ...all }) => all)(shown));
  expect(status).toEqual({ ...shown.status, conditions, verdict: status.verdict });
  expect(status.verdict.problems).toEqual(
    shown.status.verdict.problems.filter(({ detail }) => detail !== 'of another account'),
  );
  expect(other.readings.map(({ collector }) => collector)).toEqual([
    'logs',
    'accountStats',
    'flowControl',
    'workflowDlq',
  ]);
});

test.each([0, -90_000, 90_000])('a reading ages as on its owner, with a clock that is %i ms ahead', async (skewMs) => {
  const { owner: own, visitor: other, write, refresh, pass } = await busyReplicas(skewMs);
  await pass(MINUTE);
  await write();
  await refresh();
  const staleOn = ({ board }: ServerDeps) => board.isStale('production', 'workflowDlq');
  await pass(MAX_STALENESS_MS - MINUTE);
  expect([staleOn(own.shown), staleOn(other.shown)]).toEqual([false, false]);
  expect(other.shown.board.fresh('production', 'workflowDlq')).toBeDefined();
  await pass(1);
  expect([staleOn(own.shown), staleOn(other.shown)]).toEqual([true, true]);
  expect(other.shown.board.fresh('production', 'workflowDlq')).toBeUndefined();
  expect(other.shown.board.latest('production', 'workflowDlq')).toBeDefined();
  const { sources } = await readStatus(other.shown, 0);
  expect(sources.find(({ collector }) => collector === 'workflowDlq')!.state).toBe('stale');
});

test('the outages of a log that is not counted further are unknown', async () => {
  const { visitor: other, write, refresh, pass } = await busyReplicas();
  await write();
  await refresh();
  expect(other.shown.outages('production')).toHaveLength(1);
  expect(other.shown.incidents.attempts('production', 'silent.example')).toEqual({ delivered: 0, all: 0 });
  await pass(5 * MINUTE + 1);
  expect(other.shown.outages('production')).toBeUndefined();
  expect(other.shown.incidents.attempts('production', 'crm.example')).toBeUndefined();
});

test('only what changed is written and read', async () => {
  const { owner: own, write, refresh, written, read, visitor: other } = await busyReplicas();
  await write();
  await refresh();
  const [first] = written;
  expect(first!.added.size).toBeGreaterThan(5);
  expect(new Set(read)).toEqual(new Set(first!.slices));
  const incidents = other.shown.incidents.all();
  await write();
  expect(written).toHaveLength(1);
  // A failed poll changes facts, and no list.
  own.board.fail('production', 'logs', { reason: 'timeout', message: 'no response', durationMs: 9 });
  await write();
  await refresh();
  expect(written).toHaveLength(2);
  expect([written[1]!.added.size, written[1]!.slices]).toEqual([0, undefined]);
  expect(read).toHaveLength(first!.added.size);
  expect(other.shown.board.statuses().find(({ collector }) => collector === 'logs')!.failures).toBe(1);
  expect(other.shown.incidents.all()).toEqual(incidents);
  expect(other.readings).toHaveLength(4);
  // One more failed run: the slices around it, of the rows and of the members, and the list of incidents.
  const rows = own.board.latest('production', 'workflowDlq')!.rows;
  await own.publish({ collector: 'workflowDlq', rows: [...rows, failedRun('new', { createdAt: NOW })] });
  await own.review();
  await write();
  await refresh();
  expect(written[2]!.added.size).toBeLessThanOrEqual(5);
  expect(read.slice(first!.added.size).toSorted()).toEqual([...written[2]!.added.keys()].toSorted());
  expect(deadLetterList(other.shown, { limit: 50, dlqId: ['new'] }).total).toBe(1);
});

test('a view is written whole after a failure, and by the next owner what the store does not have', async () => {
  const { owner: own, store, state, views, written, write, refresh, visitor: other } = await busyReplicas();
  state.isAway = true;
  await expect(write()).rejects.toThrow('away');
  state.isAway = false;
  await write();
  await refresh();
  expect(deadLetterList(other.shown, { limit: 50 }).total).toBe(701);
  const stored = views.get('production')!;
  const next = await owner(new ManualClock(NOW + 5 * MINUTE));
  await next.publish({ collector: 'workflowDlq', rows: own.board.latest('production', 'workflowDlq')!.rows });
  await writerTo(store)(next.view());
  // The incidents have other times.
  const added = [...written.at(-1)!.added.keys()];
  expect(added.filter((id) => stored.slices.has(id))).toEqual([]);
  expect(added.length).toBeLessThan(stored.slices.size / 2);
  await refresh();
  expect(deadLetterList(other.shown, { limit: 50 }).total).toBe(700);
});

test('an account whose view cannot be written does not stop the others', async () => {
  const { store } = memoryViews(() => NOW);
  const written: string[] = [];
  const failures: unknown[] = [];
  const write: ViewStore['write'] = async (views) => {
    if (views.some(({ account }) => account === 'lost')) throw new Error('another replica owns lost');
    written.push(...views.map(({ account }) => account));
  };
  const writer = new ViewWriter({ ...store, write }, (error) => failures.push(error));
  const view = (await owner(new ManualClock(NOW))).view();
  const round = async () => {
    for (const account of ['production', 'lost', 'staging']) await writer.add(account, view);
    await writer.flush();
  };
  await round();
  expect(written).toEqual(['production', 'staging']);
  await round();
  // The views that were written are not written again. The lost one is tried again.
  expect(written).toHaveLength(2);
  expect(failures).toEqual([new Error('another replica owns lost'), new Error('another replica owns lost')]);
});

test('a damaged view does not hide the other accounts, and the view before it stays', async () => {
  const { views, write, refresh, visitor: other } = await busyReplicas();
  await write();
  await refresh();
  const stored = views.get('production')!;
  views.set('production', { ...stored, at: stored.at + 1, body: new Uint8Array([1, 2]) });
  await expect(refresh()).rejects.toThrow('view of production');
  expect(deadLetterList(other.shown, { limit: 50 }).total).toBe(701);
});

test('the views of many accounts are read in parts, those that changed since, and each unreadable one once', async () => {
  const { store, views, write } = await busyReplicas();
  await write();
  const names = Array.from({ length: 120 }, (_, index) => `account ${index}`);
  for (const name of names) views.set(name, views.get('production')!);
  views.set('account 7', { ...views.get('production')!, body: new Uint8Array([1, 2]) });
  const parts: number[] = [];
  const counting: ViewStore = {
    ...store,
    async read(choose, wanted) {
      const found = await store.read(choose, wanted);
      parts.push(found.size);
      return found;
    },
  };
  const clock = new ManualClock(NOW);
  const remote = new RemoteViews({ store: counting, clock, accounts: () => names, onReading: () => undefined });
  await expect(remote.refresh()).rejects.toThrow(/^view of account 7: [^;]+$/);
  expect(names.filter((name) => remote.of(name) === undefined)).toEqual(['account 7']);
  expect(parts).toEqual([50, 50, 20]);
  views.set('account 7', { ...views.get('production')!, at: NOW + 1 });
  await remote.refresh();
  await remote.refresh();
  expect(parts.slice(3)).toEqual([1, 0]);
});

test('the policies of an account that nobody has shown are those of the configuration', async () => {
  const { store } = memoryViews(() => NOW);
  const { shown } = visitor(store, new ManualClock(NOW), [RESUME_BILLING]);
  expect((await shown.policies()).map(({ name }) => name)).toEqual(['resume-billing']);
  expect(shown.board.statuses()).toEqual([]);
  expect(shown.outages('production')).toBeUndefined();
});

test('the policies of an account without an owner are off, whatever its last owner showed', async () => {
  const { store, owner: own, visitor: other, write } = await replicas();
  await write();
  const { shown, views } = visitor(store, other.shown.clock as ManualClock, [], true);
  await views.refresh();
  expect(await own.shown.policies()).toMatchObject([{ effectiveMode: 'enforce' }]);
  expect(await shown.policies()).toMatchObject([
    { mode: 'enforce', effectiveMode: 'off', reducedBy: 'no replica owns account production' },
  ]);
});

test('the owner of an account sends the requests of the other replica', async () => {
  const { visitor: other, write, refresh } = await busyReplicas();
  await write();
  await refresh();
  const { liveReads, incidents } = other.shown;
  const { signal } = new AbortController();
  expect([liveReads.canRead('production'), liveReads.canRead('unknown')]).toEqual([true, false]);
  await liveReads.read('production', 1, (api) => api.listLogs({ messageId: 'msg-1' }, { signal }));
  expect(await incidents.readRow('production', { dlqId: 'd-1', workflowRunId: 'wfr-1' }, signal)).toEqual({
    dlqId: 'd-1',
  });
  const [incident] = incidents.all();
  await incidents.acknowledge(incident!, { by: 'ann', note: 'known' });
  expect(other.sent).toEqual([
    'production listLogs msg-1',
    'production readRow d-1',
    `production acknowledge ${incident!.id} ann`,
  ]);
});
