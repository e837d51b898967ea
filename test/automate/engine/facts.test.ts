import { expect, test } from 'vitest';
import type { AccountReading } from '#foundation/domain/statistics.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { Authority } from '#automate/engine/guard/authority.ts';
import type { EngineDeps } from '#automate/engine/facts/engine-deps.ts';
import { createFacts, type FactsDeps } from '#automate/engine/facts/facts.ts';
import { ResumeEnds } from '#observe/observations/resume-ends.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { VerifiedClock } from '#foundation/events/verified-clock.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { pageOf, planOf, raiseTo, resumeOf } from '../../support/ledger-facts.ts';
import { policyOf } from '../../support/policies.ts';
import { REQUEST } from './world.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ACCOUNT = 'production';
const BUDGET = { knownUsd: 100, assertedOn: Date.UTC(2026, 10, 1), maxAge: 45 * DAY };

async function world(
  more: { readonly budget?: typeof BUDGET; readonly dlqMessages?: number } = {},
  canaries?: FactsDeps['canaries'],
) {
  const clock = new ManualClock(NOW);
  const board = new ObservationBoard(clock);
  for (const collector of ['accountStats', 'flowControl', 'workflowDlq'] as const) {
    board.register({ account: ACCOUNT, collector, schedule: '', intervalMs: MINUTE, maxStalenessMs: 5 * MINUTE });
  }
  const attempts = new RecentAttempts(clock);
  const resumeEnds = new ResumeEnds();
  const ledger = memoryLedger();
  await ledger.noteAccounts([{ account: ACCOUNT, id: 'acc-1' }], 0);
  const events = new EventBus();
  const { budget, dlqMessages } = more;
  const accounts = [{ name: ACCOUNT, limits: { dlqMessages }, budget }];
  const verified = new VerifiedClock(clock, events);
  const facts = createFacts({ board, attempts, resumeEnds, ledger, events, canaries, clock: verified, accounts });
  const publish = board.publish.bind(board);
  return {
    clock,
    board,
    attempts,
    resumeEnds,
    ledger,
    events,
    facts,
    verified,
    asked: () => facts.preconditions(ACCOUNT),
    stats: (reading: AccountReading) =>
      publish({ account: ACCOUNT, collector: 'accountStats', at: clock.now(), rows: [reading], dropped: 0 }, 1),
  };
}

test('deliveries and their share come from recent log entries', async () => {
  const { attempts, facts, asked } = await world();
  expect(facts.deliveries(ACCOUNT, 'a.example', 15 * MINUTE)).toBeUndefined();
  expect((await asked()).successRatio('a.example', 15 * MINUTE)).toBeUndefined();
  expect((await asked()).sampleSize('a.example', 15 * MINUTE)).toBeUndefined();
  const counts = { delivered: 3, failed: 1, lost: 0 };
  attempts.take(ACCOUNT, {
    from: NOW - HOUR,
    watermark: NOW,
    attempts: [{ host: 'a.example', minute: NOW - MINUTE, ...counts, failedFrom: NOW, reasons: new Map() }],
    resumeEnds: [],
    failures: [],
  });
  expect(facts.deliveries(ACCOUNT, 'a.example', 15 * MINUTE)).toMatchObject({ delivered: 3, all: 4 });
  expect((await asked()).successRatio('a.example', 15 * MINUTE)).toBe(0.75);
  expect((await asked()).sampleSize('a.example', 15 * MINUTE)).toBe(4);
  expect((await asked()).sampleSize('b.example', 15 * MINUTE)).toBe(0);
  expect((await asked()).successRatio('b.example', 15 * MINUTE)).toBeUndefined();
});

test('before the daemon has watched for the whole window, policies know only some of the deliveries', async () => {
  const { attempts, facts, asked } = await world();
  const failed = { host: 'a.example', minute: NOW - MINUTE, delivered: 0, failed: 240, failedFrom: NOW, lost: 240 };
  attempts.take(ACCOUNT, {
    from: NOW - 5 * MINUTE,
    watermark: NOW,
    attempts: [{ ...failed, reasons: new Map() }],
    resumeEnds: [],
    failures: [],
  });
  expect(facts.deliveries(ACCOUNT, 'a.example', 15 * MINUTE)).toEqual({ delivered: 0, all: 240, isPartial: true });
  expect(facts.deliveries(ACCOUNT, 'a.example', 4 * MINUTE)).toMatchObject({ delivered: 0, all: 240 });
  expect((await asked()).sampleSize('a.example', 15 * MINUTE)).toBeUndefined();
});

test('a message of a resumed run has the outcome in the log of its stamp and its workflow', async () => {
  const { resumeEnds, facts } = await world();
  const message = { instance: 'here', lineage: 'l1', attempt: 2, url: 'https://a.example/w' };
  expect(facts.resumeEnded(ACCOUNT, message, 'failed')).toBe(false);
  resumeEnds.take(ACCOUNT, { resumeEnds: [{ ...message, end: 'failed' }] });
  expect(facts.resumeEnded(ACCOUNT, message, 'failed')).toBe(true);
  expect(facts.resumeEnded(ACCOUNT, message, 'delivered')).toBe(false);
  expect(facts.resumeEnded('other', message, 'failed')).toBe(false);
  const others = [{ attempt: 1 }, { attempt: 3 }, { lineage: 'l2' }, { instance: 'elsewhere' }, { url: 'x' }];
  for (const other of others) expect(facts.resumeEnded(ACCOUNT, { ...message, ...other }, 'failed')).toBe(false);
});

test('of too many ends of resumed runs the oldest are dropped, and deliveries displace no failure', async () => {
  const { resumeEnds, facts } = await world();
  const messages = Array.from({ length: 10_001 }, (_, n) => {
    return { instance: 'here', lineage: `l${n}`, attempt: 1, url: 'https://a.example/w' };
  });
  resumeEnds.take(ACCOUNT, { resumeEnds: [{ ...messages[0]!, end: 'failed' }] });
  resumeEnds.take(ACCOUNT, { resumeEnds: messages.map((message) => ({ ...message, end: 'delivered' })) });
  const delivered = messages.slice(0, 2).map((message) => facts.resumeEnded(ACCOUNT, message, 'delivered'));
  expect(delivered).toEqual([false, true]);
  expect(facts.resumeEnded(ACCOUNT, messages[0]!, 'failed')).toBe(true);
});

test('a hold after a 429 lasts through a jump of the local clock that the service confirms', async () => {
  const { clock, events, facts, verified } = await world();
  events.emit({ ...REQUEST, code: 429 });
  clock.jump(HOUR);
  events.emit({ ...REQUEST, code: 200, clockSkewMs: 0 });
  await clock.advance(MINUTE);
  expect(verified.now() - facts.refusedAt(ACCOUNT)!).toBe(MINUTE);
});

test('an account was rejected when it returned 429, and not when the daemon waited or another request failed', async () => {
  const { clock, events, facts } = await world();
  events.emit({ ...REQUEST, code: 503, failure: 'server_error' });
  events.emit({ ...REQUEST, code: 'error', failure: 'timeout' });
  events.emit({ type: 'api.throttled', account: ACCOUNT, api: 'message', waitMs: 500 });
  expect(facts.refusedAt(ACCOUNT)).toBeUndefined();
  events.emit({ ...REQUEST, code: 429, failure: 'rate_limited' });
  await clock.advance(MINUTE);
  events.emit({ ...REQUEST, code: 200 });
  expect(facts.refusedAt(ACCOUNT)).toBe(NOW);
  expect(facts.refusedAt('other')).toBeUndefined();
});

test('arrivals are the runs with a label that failed in the window, while the listing is fresh', async () => {
  const { clock, board, asked } = await world();
  const entry = (dlqId: string, ago: number, ...labels: string[]): WorkflowDlqEntry => ({
    dlqId,
    workflowRunId: dlqId,
    workflowUrl: 'https://a.example',
    createdAt: NOW - ago,
    labels,
  });
  expect((await asked()).arrivals('billing', HOUR)).toBeUndefined();
  const rows = [
    entry('a', HOUR, 'billing'),
    entry('b', HOUR + 1, 'billing'),
    entry('c', 0, 'x', 'billing'),
    entry('d', 0),
  ];
  board.publish({ account: ACCOUNT, collector: 'workflowDlq', at: NOW, rows, dropped: 0 }, 1);
  expect((await asked()).arrivals('billing', HOUR)).toBe(2);
  expect((await asked()).arrivals('none', HOUR)).toBe(0);
  // A run that the daemon resumed in the meantime has still failed.
  board.depart(ACCOUNT, new Set(['c']));
  expect((await asked()).arrivals('billing', HOUR)).toBe(2);
  await clock.advance(5 * MINUTE + 1);
  expect((await asked()).arrivals('billing', HOUR)).toBeUndefined();
});

test('flow control is known of watched keys', async () => {
  const { clock, board, asked } = await world();
  const rows = [
    { flowControlKey: 'k', waitListSize: 7, isPaused: true },
    { flowControlKey: 'bare', waitListSize: 0 },
  ];
  board.publish({ account: ACCOUNT, collector: 'flowControl', at: NOW, rows, dropped: 0 }, 1);
  const flowWaiting = async (key: string) => (await asked()).flowWaiting(key);
  const flowPaused = async (key: string) => (await asked()).flowPaused(key);
  expect([await flowWaiting('k'), await flowPaused('k')]).toEqual([7, true]);
  expect([await flowWaiting('bare'), await flowPaused('bare')]).toEqual([0, undefined]);
  expect([await flowWaiting('other'), await flowPaused('other')]).toEqual([undefined, undefined]);
  await clock.advance(5 * MINUTE + 1);
  expect([await flowWaiting('k'), await flowPaused('k')]).toEqual([undefined, undefined]);
});

test('the fill of the DLQ follows from the statistics and the configured limit', async () => {
  const { clock, facts, asked, stats } = await world({ dlqMessages: 200 });
  expect([(await asked()).dlqMessages(), (await asked()).dlqFillRatio()]).toEqual([undefined, undefined]);
  stats({ dlqMessages: 50 });
  expect([(await asked()).dlqMessages(), (await asked()).dlqFillRatio(), facts.dlqMessages(ACCOUNT)]).toEqual([
    50, 0.25, 50,
  ]);
  await clock.advance(5 * MINUTE + 1);
  expect([(await asked()).dlqMessages(), (await asked()).dlqFillRatio()]).toEqual([undefined, undefined]);
  expect(facts.dlqMessages(ACCOUNT)).toBeUndefined();
  const unlimited = await world();
  unlimited.stats({ dlqMessages: 50 });
  expect((await unlimited.asked()).dlqFillRatio()).toBeUndefined();
});

test('an alert fires when one is known to, and is unknown before any arrived', async () => {
  const { ledger, asked } = await world();
  expect((await asked()).alertFiring('Down')).toBeUndefined();
  await ledger.noteAlert({ receiver: 'r', name: 'Down', key: 'k', accounts: [ACCOUNT], isFiring: true, at: NOW });
  expect([(await asked()).alertFiring('Down'), (await asked()).alertFiring('Other')]).toEqual([true, false]);
});

test('the verdict of a canary is that of the account, and unknown without this canary', async () => {
  const canaries = () => [
    { account: 'other', canary: 'home', verdict: 'ok' as const },
    { account: ACCOUNT, canary: 'home', verdict: 'network' as const },
  ];
  const { asked } = await world({}, canaries);
  expect([(await asked()).canary('home'), (await asked()).canary('away')]).toEqual(['network', undefined]);
  expect((await (await world()).asked()).canary('home')).toBeUndefined();
});

test('a policy was tripped when its tripwire stopped a run within the window', async () => {
  const { ledger, asked } = await world();
  const finish = async (policy: string, at: number, stoppedBy: string): Promise<void> => {
    const run = await ledger.beginRun(planOf({ policy }), at);
    await ledger.finishRun(run, 'production', { at, outcome: 'aborted', matched: 0, acted: 0, backlog: 0, stoppedBy });
  };
  await finish('delete-old', NOW - HOUR + 1, 'tripwire');
  await finish('resume-x', NOW - 1, 'caps');
  expect((await asked()).policyTripped('delete-*', HOUR)).toBe(true);
  expect((await asked()).policyTripped('delete-*', HOUR - 1)).toBe(false);
  expect((await asked()).policyTripped('resume-*', HOUR)).toBe(false);
});

const SPEND = { monthUsd: 80, last24hUsd: 6, medianDayUsd: 4, paceUsd: 5, forecastUsd: 120, requestsLastDay: 900 };

test('spend is known while the statistics are fresh, and with the budget also the remaining hours', async () => {
  const { clock, facts, stats } = await world({ budget: BUDGET });
  expect((await facts.budget(ACCOUNT)).spend).toEqual({ fresh: false });
  stats({ spend: SPEND });
  expect(await facts.budget(ACCOUNT)).toEqual({
    changes: [],
    spend: {
      fresh: true,
      at: NOW,
      monthUsd: 80,
      last24hUsd: 6,
      medianDayUsd: 4,
      forecastMonthUsd: 120,
      // At the rate of the last day, which is higher than the usual one.
      hoursLeft: 80,
      messagesLastDay: 900,
      ownMessagesLastDay: 0,
    },
    known: { knownUsd: 100, origin: 'configuration', assertedAt: Date.UTC(2026, 10, 1), maxAgeMs: 45 * DAY },
    asserted: BUDGET,
    doubt: { verdict: 'approve', reason: 'the assertion is more than 7 days old, with no raise since' },
  });
  await clock.advance(5 * MINUTE);
  expect((await facts.budget(ACCOUNT)).spend.hoursLeft).toBeCloseTo(80 - 1 / 12, 6);
  await clock.advance(1);
  expect((await facts.budget(ACCOUNT)).spend).toEqual({ fresh: false });
});

test('a jump of the local clock neither ages a reading nor reduces the remaining hours', async () => {
  const { clock, events, facts, stats } = await world({ budget: BUDGET });
  stats({ spend: SPEND });
  const { hoursLeft, at } = (await facts.budget(ACCOUNT)).spend;
  clock.jump(3 * HOUR);
  events.emit({ ...REQUEST, code: 200, clockSkewMs: 0 });
  expect((await facts.budget(ACCOUNT)).spend).toMatchObject({ hoursLeft, at: at! + 3 * HOUR });
});

test('the remaining hours are none when the budget is spent, and infinite when nothing is spent', async () => {
  const { facts, stats } = await world({ budget: BUDGET });
  stats({ spend: { monthUsd: 101, paceUsd: 5 } });
  expect((await facts.budget(ACCOUNT)).spend.hoursLeft).toBe(0);
  stats({ spend: { monthUsd: 10, paceUsd: 0 } });
  expect((await facts.budget(ACCOUNT)).spend.hoursLeft).toBe(Infinity);
  stats({ spend: { monthUsd: 10 } });
  expect((await facts.budget(ACCOUNT)).spend.hoursLeft).toBeUndefined();
});

test('a reading before the turn of the month is not fresh after it', async () => {
  const { clock, facts, stats } = await world({ budget: BUDGET });
  await clock.advance(Date.UTC(2026, 11, 1) - NOW - 1);
  stats({ spend: SPEND });
  expect((await facts.budget(ACCOUNT)).spend.fresh).toBe(true);
  await clock.advance(1);
  expect((await facts.budget(ACCOUNT)).spend.fresh).toBe(false);
});

test('a raise by the daemon applies at once to the known budget and the remaining hours', async () => {
  const { ledger, facts, stats } = await world({ budget: BUDGET });
  stats({ spend: SPEND });
  const run = await ledger.beginRun(planOf(), NOW);
  const reserved = await ledger.reserve(run, { ...raiseTo(120), account: ACCOUNT }, NOW, []);
  if (!reserved.ok) throw new Error(reserved.reason);
  expect((await facts.budget(ACCOUNT)).known).toBeUndefined();
  await ledger.recordOutcome(reserved.intent.id, 'production', { at: NOW, outcome: 'accepted' });
  expect((await facts.budget(ACCOUNT)).known).toMatchObject({ knownUsd: 120, origin: 'ledger', assertedAt: NOW });
  expect((await facts.budget(ACCOUNT)).spend.hoursLeft).toBe(160);
});

test.each([{ ...BUDGET, knownUsd: 0 }, { knownUsd: 100, maxAge: DAY } as typeof BUDGET])(
  'a budget without limit, or of unknown age, is not known: %o',
  async (budget) => {
    expect(await (await world({ budget })).facts.budget(ACCOUNT)).toEqual({
      changes: [],
      spend: { fresh: false },
      asserted: budget,
    });
  },
);

test('own messages of a day are the resumed runs, each with its maximum number of attempts', async () => {
  const { ledger, facts, stats } = await world();
  stats({ spend: SPEND });
  const run = await ledger.beginRun(planOf(), NOW);
  const resume = async (
    dlqId: string,
    ago: number,
    retries: number | undefined,
    account = ACCOUNT,
  ): Promise<number> => {
    const reserved = await ledger.reserve(run, { ...resumeOf(dlqId), account, retries }, NOW - ago, []);
    if (!reserved.ok) throw new Error(reserved.reason);
    return reserved.intent.id;
  };
  await resume('a', 0, 0);
  await resume('b', DAY - 1, 1);
  // The run's own number of retries is unknown, so the service's default counts.
  await resume('c', 0, undefined);
  await resume('late', DAY, 9);
  await resume('elsewhere', 0, 9, 'other');
  await ledger.recordOutcome(await resume('refused', 0, 9), 'production', { at: NOW, outcome: 'rejected' });
  expect((await facts.budget(ACCOUNT)).spend.ownMessagesLastDay).toBe(1 + 2 + 4);
});

test('a prune with an unknown outcome is a fact of the next run', async () => {
  const { ledger, clock, facts } = await world();
  const policy = policyOf('message-dlq.prune', { name: 'prune', account: ACCOUNT });
  const authority = new Authority({ ledger, clock, facts, killSwitch: () => undefined } as unknown as EngineDeps);
  const run = await ledger.beginRun(planOf({ policy: 'prune' }), NOW);
  const reserved = await ledger.reserve(run, pageOf('prune/1/1'), NOW - 5, []);
  if (!reserved.ok) throw new Error(reserved.reason);
  expect(await authority.runFacts(policy, { first: true })).not.toHaveProperty('lastUnknownAt', expect.anything());
  for (const outcome of ['unknown', 'unresolvable'] as const) {
    await ledger.recordOutcome(reserved.intent.id, 'production', { at: NOW, outcome });
    expect((await authority.runFacts(policy, { first: true })).lastUnknownAt).toBe(NOW - 5);
    expect((await authority.runFacts(policy, { first: false })).lastUnknownAt).toBe(NOW - 5);
  }
});
