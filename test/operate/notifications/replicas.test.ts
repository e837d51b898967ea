/** Conditions of replicas over one store: each is notified once, when it begins and when it is resolved. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { Conditions } from '#automate/engine/guard/conditions.ts';
import type { ConditionKey } from '#foundation/domain/notification.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createNotifier } from '#operate/notifications/notifier.ts';
import { notificationSettings } from '#operate/notifications/settings.ts';
import { all, run } from '#storage/database.ts';
import { createNotificationStore } from '#storage/notification-store.ts';
import type { RowScope } from '#storage/scope.ts';
import { httpSink } from '../../support/http-sink.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { STORES, type TestStore } from '../../support/postgres/test-stores.ts';
import { until } from '../../support/until.ts';
import { NOW } from './world.ts';

type Sent = Readonly<Record<string, unknown>>;

async function replicaWorld(store: TestStore) {
  const clock = new ManualClock(NOW);
  const sink = await httpSink();

  /** Starts the notifications of a generation. */
  async function start({ replica: name, ...rows }: RowScope, receiver = sink.url) {
    const scope = { replica: name, ...rows };
    const events = new EventBus();
    const stored = createNotificationStore(store, scope);
    const notifier = createNotifier({
      settings: notificationSettings.parse({ webhook: { url: receiver } }),
      store: stored,
      stored: await stored.load(),
      clock,
      events,
      replica: { name, isLeader: scope.others !== undefined, owns: () => true },
    });
    const conditions = new Conditions({ clock, events });
    conditions.restore(notifier.activeConditions().map(({ at, isResolved: _is, ...told }) => ({ ...told, since: at })));
    const stop = () => notifier[Symbol.asyncDispose]();
    onTestFinished(stop);
    return {
      stop,
      keys: () => conditions.active().map(({ key }) => key),
      raise: (key: ConditionKey, account?: string) =>
        conditions.raise({ key, severity: 'warning', ...(account && { account }), summary: key, detail: 'why' }),
      resolve: (key: string) => conditions.resolve(key),
    };
  }

  return {
    clock,
    sink,
    start,
    /** Waits until a replica that starts has stored the end that others send if it is killed. */
    willIsStored: () =>
      until({ what: 'a stored will' }, async () => {
        const rows = await store.database.read(all('SELECT record FROM notification_queue'));
        return rows.some(({ record }) => String(record).includes('"isWill":true'));
      }),
    /** Returns the notifications, once there are so many. One that was repeated counts once. */
    sent: async (count: number): Promise<readonly string[]> => {
      const different = () => {
        const bodies = sink.requests.map(({ body }) => JSON.parse(body.toString('utf8')) as Sent);
        return [...new Map(bodies.map((body) => [body['id'], body])).values()];
      };
      await until({ what: `${count} notifications` }, () => different().length >= count || undefined);
      return different().map(({ status, key, replica }) => [status, key, replica].filter(Boolean).join(' '));
    },
    /** Lets the leader look for stopped replicas. */
    look: async (): Promise<void> => {
      await until({ what: 'the wait of the leader' }, () => clock.nextIn === 60_000 || undefined);
      await clock.advance(60_000);
      await until({ what: 'the next wait of the leader' }, () => clock.nextIn === 60_000 || undefined);
    },
  };
}

const FIRST: RowScope = { accounts: ['a'], replica: 'one' };
const LEADER: RowScope = { accounts: ['b'], others: ['a'], replica: 'two' };

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  test('the new owner of an account continues its conditions, and sends what the old one did not', async () => {
    const { start, sent, clock } = await replicaWorld(await open());
    const before = await start(FIRST);
    before.raise('held/p', 'a');
    before.raise('store');
    await sent(2);
    await before.stop();
    // The receiver is away when another condition begins.
    const away = await start(FIRST, 'http://127.0.0.1:1/nobody');
    away.raise('held/q', 'a');
    await clock.advance(0);
    await away.stop();
    const after = await start({ accounts: ['a'], replica: 'three' });
    expect(after.keys()).toEqual(['held/p', 'held/q']);
    after.raise('held/p', 'a');
    after.resolve('held/p');
    expect(await sent(4)).toEqual(['firing held/p', 'firing store/one one', 'firing held/q', 'resolved held/p']);
  });

  test('a replica continues its own conditions after a restart, and not those of others', async () => {
    const { start, sent, clock } = await replicaWorld(await open());
    const one = await start(FIRST);
    const two = await start(LEADER);
    for (const replica of [one, two]) replica.raise('store');
    expect((await sent(2)).toSorted()).toEqual(['firing store/one one', 'firing store/two two']);
    await one.stop();
    const again = await start(FIRST);
    expect(again.keys()).toEqual(['store']);
    again.raise('store');
    again.resolve('store');
    expect((await sent(3))[2]).toBe('resolved store/one one');
    await clock.advance(0);
    expect(two.keys()).toEqual(['store']);
  });

  test('a replica ends what its predecessor may have notified without the store', async () => {
    const { start, sent, willIsStored } = await replicaWorld(await open());
    // It never stops.
    await start(FIRST);
    await willIsStored();
    await start(FIRST);
    expect(await sent(1)).toEqual(['resolved store/one one']);
  });

  test('only the leader notifies what belongs to no account and no process, and the next leader continues it', async () => {
    const { start, sent } = await replicaWorld(await open());
    const one = await start(FIRST);
    const two = await start(LEADER);
    for (const replica of [one, two]) replica.raise('paused/engine');
    one.raise('held/p', 'a');
    expect((await sent(2)).toSorted()).toEqual(['firing held/p', 'firing paused/engine']);
    await two.stop();
    await one.stop();
    const next = await start({ ...FIRST, others: ['b'] });
    expect(next.keys()).toEqual(['held/p', 'paused/engine']);
    next.resolve('paused/engine');
    expect((await sent(3))[2]).toBe('resolved paused/engine');
  });
});

describe.each(SERVERS)('%s', (server) => {
  async function stopped() {
    const store = await STORES[server]!();
    const world = await replicaWorld(store);
    const join = (name: string) =>
      store.database.transaction(
        run(`INSERT INTO replicas (id, name, draining, started_at, expires_at) VALUES (?1, ?1, 0, 0, 0)`, name),
      );
    await join('two');
    const one = await world.start(FIRST);
    one.raise('store');
    await world.sent(1);
    await one.stop();
    const late = await world.start(FIRST, 'http://127.0.0.1:1/nobody');
    late.raise('reload');
    await world.clock.advance(0);
    await late.stop();
    return { ...world, store, join };
  }

  test('the leader resolves the conditions of a replica that does not come back', async () => {
    const { start, sent, look, store } = await stopped();
    const leader = await start(LEADER);
    await look();
    await look();
    expect((await sent(4)).toSorted()).toEqual([
      'firing reload/one one',
      'firing store/one one',
      'resolved reload/one one',
      'resolved store/one one',
    ]);
    await look();
    await leader.stop();
    const rows = 'SELECT record FROM notifications UNION ALL SELECT record FROM notification_queue';
    expect(await store.database.read(all(rows))).toEqual([]);
    expect((await sent(4)).length).toBe(4);
  });

  test('the leader ends what a killed replica may have notified without the store', async () => {
    const { start, sent, look, willIsStored } = await stopped();
    await start(FIRST);
    await willIsStored();
    await start(LEADER);
    await look();
    await look();
    expect(await sent(4)).toContain('resolved store/one one');
  });

  test('the leader sends the end of a condition after its reload, although the replica is back', async () => {
    const { start, sent, clock, store, join } = await stopped();
    const leader = await start(LEADER, 'http://127.0.0.1:1/nobody');
    await until({ what: 'the ends are in the store' }, async () => {
      await clock.advance(60_000);
      const rows = await store.database.read(all('SELECT record FROM notifications'));
      return rows.length === 0 || undefined;
    });
    await join('one');
    await leader.stop();
    await start(LEADER);
    expect(await sent(3)).toEqual(expect.arrayContaining(['resolved store/one one', 'resolved reload/one one']));
  });

  test('nobody resolves the conditions of a replica that comes back', async () => {
    const { start, sent, look, join } = await stopped();
    await start(LEADER);
    await look();
    await join('one');
    await look();
    await look();
    const one = await start(FIRST);
    expect(one.keys()).toEqual(['reload', 'store']);
    expect(await sent(2)).toEqual(['firing store/one one', 'firing reload/one one']);
  });
});
