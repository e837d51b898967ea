/** Incidents from the board, the ledger and the log: states, reports, and restarts. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DestinationStatus, Outage } from '#foundation/domain/destination-state.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { Deploy } from '#foundation/domain/deploy.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Conditions } from '#automate/engine/guard/conditions.ts';
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import { IncidentWatch, type OpenResume } from '#observe/incidents/incident-watch.ts';
import type { AttemptCounts } from '#observe/observations/host-attempts.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { createNotificationStore } from '#storage/notification-store.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { NotificationBook } from '#operate/notifications/notification-book.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { deadLetter, run, START } from './planted.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

interface Facts {
  destination: DestinationStatus | undefined;
  attempts: AttemptCounts | undefined;
  deadLetters: readonly DeadLetter[];
  outages: readonly Outage[] | undefined;
  openResumes: readonly OpenResume[];
  deploys: readonly Deploy[];
}

/** A daemon as far as incidents need it. `start` may be called again: that is a restart on the same store. */
function world() {
  const store = openMemoryStore('here');
  const clock = new ManualClock(START);
  const facts: Facts = {
    destination: undefined,
    attempts: undefined,
    deadLetters: [],
    outages: [],
    openResumes: [],
    deploys: [],
  };
  const told: string[] = [];

  async function start(account = 'production') {
    const events = new EventBus();
    const board = new ObservationBoard(clock);
    board.register({
      account: 'production',
      collector: 'workflowDlq',
      schedule: 'every 1m',
      intervalMs: MINUTE,
      maxStalenessMs: 5 * MINUTE,
    });
    const conditions = new Conditions({ clock, events });
    const notifications = createNotificationStore(store);
    const book = new NotificationBook({
      store: notifications,
      stored: await notifications.load(),
      now: clock.now(),
      receivers: ['webhook'],
      events,
      keepsEnded: false,
      infoAfterMs: 0,
      receiverOf: () => 'webhook',
    });
    conditions.restore(book.kept().map(({ notification, startedAt }) => ({ ...notification, since: startedAt })));
    events.subscribe((event) => {
      if (event.type !== 'notification') return;
      const { type: _type, ...notification } = event;
      told.push(
        `${notification.key} ${notification.isSnoozed ? 'snoozed' : notification.isResolved ? 'resolved' : 'active'}`,
      );
      book.hear(notification);
    });
    const watch = new IncidentWatch({
      book: await IncidentBook.open(createIncidentStore(store)),
      board,
      attempts: { outages: () => facts.outages, of: () => facts.attempts, destination: () => facts.destination },
      clock,
      events,
      accounts: [{ name: account, dlqRetentionMs: DAY }],
      deadLetters: async () => facts.deadLetters,
      deploys: async (_accounts, since) => facts.deploys.filter(({ at }) => at >= since),
      openResumes: async () => new Map([[account, facts.openResumes]]),
      conditions: {
        active: () => conditions.active(),
        raise: (condition) => conditions.raise(condition),
        resolve: (key, isSnoozed) => conditions.resolve(key, isSnoozed),
      },
      link: (path) => `https://opsd.example${path}`,
    });
    onTestFinished(() => watch[Symbol.asyncDispose]());
    return {
      watch,
      events,
      conditions,
      /** Stores the notifications that were told so far, as the daemon does one turn later. */
      save: () => book.save(),
      publish: async (rows: readonly WorkflowDlqEntry[]): Promise<void> => {
        board.publish({ account: 'production', collector: 'workflowDlq', at: clock.now(), rows, dropped: 0 }, 1);
        await watch.settled();
      },
      /** Reviews the incidents, after these facts have changed. */
      review: async (changed: Partial<Facts> = {}): Promise<void> => {
        Object.assign(facts, changed);
        watch.refresh();
        await watch.settled();
      },
    };
  }

  return { clock, facts, told, start, store };
}

async function started() {
  const w = world();
  return { ...w, ...(await w.start()) };
}

const hosts = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    run({ dlqId: `d${n}`, workflowUrl: `https://h${String.fromCharCode(97 + n)}.example/` }),
  );

describe('reports', () => {
  test('one condition when it opens, with count, expiry and link, and one when it is resolved', async () => {
    const { told, publish, watch, conditions } = await started();
    await publish([run({ dlqId: 'a' }), run({ dlqId: 'b' })]);
    const { id } = watch.all()[0]!;
    expect(conditions.active()).toEqual([
      {
        key: `incident/${id}`,
        severity: 'warning',
        account: 'production',
        summary: 'Incident in production: 2 runs of shop.example/flows/checkout failed: HTTP 503',
        detail: `since 2026-11-20 02:00Z; the first dead letter expires 2026-11-21 02:00Z; see https://opsd.example/incidents/${id}`,
        since: START,
      },
    ]);
    await publish([run({ dlqId: 'a' }), run({ dlqId: 'b' }), run({ dlqId: 'c' })]);
    expect(conditions.active()[0]!.summary).toContain('3 runs');
    await publish([]);
    expect(told).toEqual([`incident/${id} active`, `incident/${id} resolved`]);
  });

  test('runs of canaries are no incident', async () => {
    const { publish, watch } = await started();
    await publish([run({ dlqId: 'a', labels: ['opsd-canary'] })]);
    expect(watch.all()).toEqual([]);
    await publish([run({ dlqId: 'a', labels: ['opsd-canary'] }), run({ dlqId: 'b' })]);
    expect(watch.all()).toMatchObject([{ ever: 1 }]);
  });

  test('the text of the service is not in the notification', async () => {
    const { publish, conditions } = await started();
    await publish([run({ dlqId: 'a', responseText: 'card of Anna Smith declined' })]);
    expect(JSON.stringify(conditions.active())).not.toContain('Smith');
  });

  test('the store has the text of the endpoint masked, and its start only', async () => {
    const { store, publish } = await started();
    const text = `card 4111111111111111 of "Anna Smith" declined, token=hunter2-hunter2 for a@example.com ${'and so on '.repeat(9)}`;
    await publish([run({ dlqId: 'a', responseStatus: 422, responseText: text })]);
    const [row] = store.db.prepare('SELECT record FROM incidents').all();
    const { reason } = JSON.parse(String(row?.['record'])) as { readonly reason: string };
    expect(reason).toMatch(/^HTTP 422: card # of … declined, token=\[secret\] for # and so on/);
    expect(reason.length).toBeLessThanOrEqual('HTTP 422: '.length + 80);
    expect(String(row?.['record'])).not.toMatch(/4111|Anna|hunter2|example\.com/);
  });

  test('a full DLQ at the start is one notification', async () => {
    const { told, publish, watch, conditions } = await started();
    await publish(hosts(20));
    expect(watch.all()).toHaveLength(20);
    expect(told).toHaveLength(1);
    expect(conditions.active()[0]).toMatchObject({ summary: '20 incidents opened in production at the same time' });
    await publish([]);
    expect(told).toHaveLength(2);
  });

  test('five at the same time are reported individually, and more than ten in an hour together', async () => {
    const { told, clock, publish } = await started();
    for (const count of [5, 10, 12]) await publish(hosts(count));
    expect(told.map((line) => line.split('/').length)).toEqual([...Array.from({ length: 10 }, () => 2), 3]);
    // The next ones wait until 10 minutes have passed.
    await publish(hosts(14));
    expect(told).toHaveLength(11);
    await clock.advance(10 * MINUTE);
    await publish(hosts(14));
    expect(told).toHaveLength(12);
  });

  test('a restart notifies of nothing again, and resolves what ended in between', async () => {
    const { start, told } = world();
    const before = await start();
    await before.publish(hosts(3));
    await before.save();
    await before.watch[Symbol.asyncDispose]();
    expect(told).toHaveLength(3);
    const after = await start();
    await after.publish(hosts(2));
    expect(told.slice(3)).toEqual([expect.stringMatching(/^incident\/\w+ resolved$/)]);
    expect(after.watch.all()).toHaveLength(3);
  });

  test('a removed account has no incidents, and its conditions end', async () => {
    const { start, told } = world();
    const before = await start();
    await before.publish(hosts(1));
    await before.save();
    await before.watch[Symbol.asyncDispose]();
    const after = await start('staging');
    await after.review();
    expect(after.watch.all()).toEqual([]);
    expect(told[1]).toMatch(/resolved$/);
  });

  test('a resolved incident that opens again is reported again', async () => {
    const { told, publish } = await started();
    for (const rows of [hosts(1), [], hosts(1)]) await publish(rows);
    expect(told.map((line) => line.split(' ')[1])).toEqual(['active', 'resolved', 'active']);
  });

  test('after a crash before the notification was stored, the next start notifies', async () => {
    const { start, told } = world();
    const before = await start();
    await before.publish(hosts(1));
    await before.watch[Symbol.asyncDispose]();
    const [first] = told.splice(0);
    await (await start()).review();
    expect(told).toEqual([first]);
  });
});

describe('states', () => {
  const resume = { workflowUrl: 'https://shop.example/flows/checkout', failedAt: START, status: 503 };

  test('recovering while resumed runs are not verified, then resolved', async () => {
    const { facts, publish, review, watch } = await started();
    await publish([run({ dlqId: 'a' })]);
    facts.openResumes = [{ ...resume, campaign: 'resume-billing/1' }];
    await publish([]);
    expect(watch.all()[0]).toMatchObject({ state: 'recovering', campaigns: ['resume-billing/1'] });
    await review({ openResumes: [] });
    expect(watch.all()[0]!.state).toBe('resolved');
    expect(watch.counts().get('production')).toEqual({ open: 0, acknowledged: 0, recovering: 0, resolved: 1 });
  });

  test.each([
    ['another workflow', { workflowUrl: 'https://shop.example/flows/invoice' }],
    ['another status', { status: 500 }],
    ['another time', { failedAt: START - 1 }],
  ])('a resume of %s does not concern it', async (_what, other) => {
    const { facts, publish, watch } = await started();
    await publish([run({ dlqId: 'a' })]);
    facts.openResumes = [{ ...resume, ...other }];
    await publish([]);
    expect(watch.all()[0]!.state).toBe('resolved');
  });
});

describe('sources', () => {
  const outage: Outage = {
    host: 'crm.vendor.example',
    since: START,
    isSinceKnown: true,
    lastAt: START,
    failed: 50,
    delivered: 0,
    lost: 4,
    reasons: [{ reason: 'HTTP 500', count: 50 }],
  };

  test('an outage and the dead letters of its destination are one incident', async () => {
    const { review, watch, events } = await started();
    await review({ outages: [outage] });
    expect(watch.all()).toMatchObject([{ kind: 'destination', place: 'crm.vendor.example', reason: 'HTTP 500' }]);
    await review({ deadLetters: [deadLetter({ dlqId: 'm1', learnedAt: START + MINUTE })] });
    expect(watch.all()[0]!.ever).toBe(0);
    events.emit({ type: 'callback.received', account: 'production', kind: 'failure_callback', codeClass: '5xx' });
    await review();
    expect(watch.all()).toMatchObject([{ ever: 1, deliveries: { failed: 50, lost: 4, isFailing: true } }]);
  });

  test('an outage that may be older than the known attempts is so as an incident, later too', async () => {
    const { review, conditions } = await started();
    await review({ outages: [{ ...outage, isSinceKnown: false }] });
    await review({ outages: [{ ...outage, failed: 90, since: START + MINUTE, lastAt: START + MINUTE }] });
    expect(conditions.active()).toMatchObject([{ detail: expect.stringMatching(/^since \S+ \S+Z or earlier; /) }]);
  });

  test('unknown attempts resolve nothing', async () => {
    const { review, watch } = await started();
    await review({ outages: [outage] });
    await review({ outages: undefined });
    expect(watch.all()[0]!.state).toBe('open');
    await review({
      outages: [],
      destination: { state: 'unknown', delivered: 1, all: 3, since: START },
      attempts: { delivered: 1, all: 3 },
    });
    expect(watch.all()[0]!.state).toBe('open');
    await review({ attempts: { delivered: 0, all: 0 } });
    expect(watch.all()[0]!.state).toBe('resolved');
  });

  test('recovering from the first delivery until the destination is healthy, also after a restart', async () => {
    const { start } = world();
    const { review, watch } = await start();
    await review({ outages: [outage] });
    await review({
      outages: [],
      destination: { state: 'recovering', delivered: 1, all: 1, since: START + 9 * MINUTE },
    });
    expect(watch.all()).toMatchObject([
      { state: 'recovering', deliveries: { isFailing: false, recoveringSince: START + 9 * MINUTE } },
    ]);
    await watch[Symbol.asyncDispose]();
    const again = await start();
    await again.review({ destination: { state: 'degraded', delivered: 5, all: 9, since: START + 12 * MINUTE } });
    expect(again.watch.all()).toMatchObject([
      { state: 'recovering', deliveries: { recoveringSince: START + 9 * MINUTE } },
    ]);
    await again.review({ destination: { state: 'healthy', delivered: 9, all: 9, since: START + 12 * MINUTE } });
    expect(again.watch.all()[0]!.state).toBe('resolved');
    expect(again.watch.all()[0]!.deliveries).toEqual({
      failed: 50,
      lost: 4,
      since: START,
      isSinceKnown: true,
      lastAt: START,
      isFailing: false,
    });
  });

  test('the counts of a destination that fails again are added, and never fall', async () => {
    const { review, watch } = await started();
    await review({ outages: [outage] });
    await review({ outages: [{ ...outage, failed: 10, since: START + MINUTE }] });
    expect(watch.all()).toMatchObject([{ deliveries: { failed: 50, lost: 4, since: START } }]);
    await review({
      outages: [],
      destination: { state: 'recovering', delivered: 1, all: 1, since: START + 9 * MINUTE },
    });
    const later = { since: START + 20 * MINUTE, lastAt: START + 21 * MINUTE };
    await review({ outages: [{ ...outage, ...later, failed: 10, lost: 2 }] });
    await review({ outages: [{ ...outage, ...later, failed: 12, lost: 2 }] });
    expect(watch.all()).toMatchObject([
      { state: 'open', deliveries: { failed: 62, lost: 6, since: START, isFailing: true } },
    ]);
  });

  test('a dead letter expires without an event', async () => {
    const { clock, review, watch } = await started();
    await review({ deadLetters: [deadLetter({ dlqId: 'm1' })] });
    expect(watch.firstExpiresAt(watch.all()[0]!)).toBe(START + DAY);
    await clock.advance(DAY);
    await review();
    expect(watch.all()[0]).toMatchObject({ state: 'resolved', expired: 1 });
  });

  test('an incident is found by a prefix that only it has', async () => {
    const { publish, watch } = await started();
    await publish([run({ dlqId: 'a' })]);
    const { id } = watch.all()[0]!;
    expect([watch.find(id)?.id, watch.find(id.slice(0, 4))?.id, watch.find(id.slice(0, 3))]).toEqual([
      id,
      id,
      undefined,
    ]);
    expect(watch.memberIds({ id, account: 'production' }, 'workflow')).toEqual(['a']);
  });
});

describe('snoozed', () => {
  const deployAt = (at: number, of = 'shop.example', account = 'production'): Deploy => {
    return { id: 1, account, of: [of], version: 'v42', at, isRollback: false };
  };
  const by = { by: 'anna', note: 'ticket 4711', at: START } as const;

  async function snoozed(end: { readonly until?: number; readonly untilDeploy?: boolean }) {
    const w = await started();
    await w.publish([run({ dlqId: 'a' })]);
    const { id } = w.watch.all()[0]!;
    await w.watch.acknowledge(id, { ...by, ...end });
    await w.watch.settled();
    return { ...w, id, key: `incident/${id}`, state: () => w.watch.all()[0]!.state };
  }

  test('until a time: the condition ends without a notification, and is active again after it', async () => {
    const { told, key, state, conditions, clock, review } = await snoozed({ until: START + MINUTE });
    expect(told).toEqual([`${key} active`, `${key} snoozed`]);
    await clock.advance(MINUTE - 1);
    await review();
    expect([state(), conditions.active()]).toEqual(['acknowledged', []]);
    await clock.advance(1);
    await review();
    expect(state()).toBe('open');
    expect(told).toEqual([`${key} active`, `${key} snoozed`, `${key} active`]);
  });

  test('it ends without a notification when no member is left', async () => {
    const { told, key, state, publish } = await snoozed({ untilDeploy: true });
    await publish([]);
    expect([state(), told]).toEqual(['resolved', [`${key} active`, `${key} snoozed`]]);
  });

  test.each([
    ['of the host', [deployAt(START)], true],
    ['a roll-back', [{ ...deployAt(START), isRollback: true }], true],
    ['before the snooze', [deployAt(START - 1)], false],
    ['of another part', [deployAt(START, 'shop.example/other')], false],
    ['of another scheme', [deployAt(START, 'http://shop.example')], false],
    ['in another account', [deployAt(START, 'shop.example', 'staging')], false],
  ])('until a deploy: %s', async (_what, deploys, isOver) => {
    const { told, key, state, review } = await snoozed({ untilDeploy: true });
    await review({ deploys });
    expect(state()).toBe(isOver ? 'open' : 'acknowledged');
    expect(told.slice(2)).toEqual(isOver ? [`${key} active`] : []);
  });

  test('a deploy ends no snooze that has a time', async () => {
    const { state, review } = await snoozed({ until: START + DAY });
    await review({ deploys: [deployAt(START)] });
    expect(state()).toBe('acknowledged');
  });

  test('only a deploy since its own snooze ends one of several', async () => {
    const { publish, watch, clock, review } = await started();
    const rows = ['a', 'b', 'c'].map((name) => run({ dlqId: name, workflowUrl: `https://shop.example/${name}` }));
    await publish(rows);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => watch.all().find(({ place }) => place.endsWith(name))!);
    await watch.acknowledge(a!.id, { ...by, untilDeploy: true });
    await watch.acknowledge(b!.id, { ...by, until: START + DAY / 2 });
    await clock.advance(MINUTE);
    await watch.acknowledge(c!.id, { ...by, at: START + MINUTE, untilDeploy: true });
    await review({ deploys: [deployAt(START + 1)] });
    expect([a, b, c].map((one) => watch.find(one!.id)!.state)).toEqual(['open', 'acknowledged', 'acknowledged']);
  });

  test('the URLs of other incidents do not count', async () => {
    const { publish, watch, review } = await started();
    const urls = ['https://shop.example/a', 'https://shop.example/b', 'https://crm.example/a'];
    await publish(urls.map((workflowUrl, index) => run({ dlqId: `d${index}`, workflowUrl })));
    const a = watch.all().find(({ place }) => place === 'shop.example/a')!;
    await watch.acknowledge(a.id, { ...by, untilDeploy: true });
    await review({ deploys: [deployAt(START, 'shop.example/b'), deployAt(START, 'crm.example')] });
    expect(watch.find(a.id)!.state).toBe('acknowledged');
  });

  test('the URLs of messages count as well', async () => {
    const { facts, watch, review } = await started();
    await review({ deadLetters: [deadLetter({ dlqId: 'm', learnedAt: START, url: 'https://crm.example/hooks/a' })] });
    await watch.acknowledge(watch.all()[0]!.id, { ...by, untilDeploy: true });
    await review({ deploys: [deployAt(START, 'crm.example/other')] });
    expect(watch.all()[0]!.state).toBe('acknowledged');
    await review({ deploys: [...facts.deploys, deployAt(START, 'crm.example/hooks')] });
    expect(watch.all()[0]!.state).toBe('open');
  });

  test('a report of a deploy reviews it at once', async () => {
    const { facts, watch, events, state } = await snoozed({ untilDeploy: true });
    facts.deploys = [deployAt(START)];
    events.emit({ type: 'deploy.reported', account: 'production', version: 'v42', isRollback: false });
    await watch.settled();
    expect(state()).toBe('open');
  });

  test('a restart in between notifies of nothing, and one after the end notifies', async () => {
    const { told, key, clock, save, start, watch } = await snoozed({ until: START + MINUTE });
    await save();
    await watch[Symbol.asyncDispose]();
    const second = await start();
    await second.publish([run({ dlqId: 'a' })]);
    expect(told).toHaveLength(2);
    await second.watch[Symbol.asyncDispose]();
    await clock.advance(MINUTE);
    const third = await start();
    await third.review();
    expect(told.slice(2)).toEqual([`${key} active`]);
    await third.review();
    expect(told).toHaveLength(3);
  });

  test('a deploy while the daemon did not run is found at the start', async () => {
    const { told, key, facts, save, start, watch } = await snoozed({ untilDeploy: true });
    await save();
    await watch[Symbol.asyncDispose]();
    facts.deploys = [deployAt(START)];
    const second = await start();
    await second.review();
    expect(told.slice(2)).toEqual([`${key} active`]);
  });

  test('one of several that one condition reports is left out, and has its own afterwards', async () => {
    const { told, publish, watch, conditions, clock, review } = await started();
    await publish(hosts(6));
    const [{ id } = { id: '' }] = watch.all();
    expect(conditions.active()[0]!.summary).toContain('6 incidents');
    await watch.acknowledge(id, { ...by, until: START + MINUTE });
    await review();
    expect(conditions.active()[0]!.summary).toContain('5 incidents');
    await clock.advance(MINUTE);
    await review();
    expect(told.slice(1)).toEqual([`incident/${id} active`]);
  });

  test('one that was not reported yet is not reported', async () => {
    const { told, publish, watch, conditions, clock, review } = await started();
    await publish(hosts(6));
    await publish(hosts(13));
    const [unreported] = watch.all().filter(({ reportedAs }) => reportedAs === undefined);
    await watch.acknowledge(unreported!.id, { ...by, until: START + DAY / 2 });
    await clock.advance(10 * MINUTE);
    await review();
    expect(told).toHaveLength(2);
    expect(conditions.active()[1]!.summary).toContain('6 incidents');
  });

  test('an acknowledgment ends it, and its condition is active', async () => {
    const { told, key, id, watch, review } = await snoozed({ untilDeploy: true });
    await watch.acknowledge(id, by);
    await review();
    expect(told).toEqual([`${key} active`, `${key} snoozed`, `${key} active`]);
  });
});
