/** The stores of incidents and of notifications, over each database. */
import { describe, expect, test } from 'vitest';
import type { Incident } from '#foundation/domain/incident.ts';
import type { IncidentCommit, IncidentMember } from '#observe/incidents/incident-store.ts';
import type { KeptNotification } from '#operate/notifications/notification-store.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { createNotificationStore } from '#storage/notification-store.ts';
import { NOTIFICATION } from '../operate/notifications/world.ts';
import { STORES } from '../support/postgres/test-stores.ts';

const incident = (id: string, place = 'w'): Incident => ({ id, place }) as Incident;

const member = (dlqId: string, of: string): IncidentMember => ({
  account: 'production',
  queue: 'workflow',
  dlqId,
  incident: of,
  at: 5,
});

const NOTHING: IncidentCommit = {
  account: 'production',
  changed: [],
  added: [],
  removed: [],
  merged: [],
  forgotten: [],
};

const kept = (key: string, startedAt: number): KeptNotification => ({
  notification: { ...NOTIFICATION, key },
  startedAt,
});

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  async function incidents() {
    const store = createIncidentStore(await open());
    return {
      store,
      members: async () => {
        const found: IncidentMember[] = [];
        await store.readMembers((one) => void found.push(one));
        return found;
      },
    };
  }

  test('incidents and their members change together', async () => {
    const { store, members } = await incidents();
    const added = ['c', 'a', 'b'].map((dlqId) => member(dlqId, 'one'));
    await store.commit({ ...NOTHING, changed: [incident('two'), incident('one')], added });
    expect(await store.load()).toEqual([incident('one'), incident('two')]);
    expect((await members()).map(({ dlqId }) => dlqId)).toEqual(['a', 'b', 'c']);
    await store.commit({
      ...NOTHING,
      changed: [incident('two', 'x')],
      added: [member('d', 'two'), member('b', 'two')],
      removed: [member('a', 'one')],
      merged: [['one', 'two']],
    });
    expect(await store.load()).toEqual([incident('two', 'x')]);
    expect(await members()).toEqual([member('b', 'two'), member('c', 'two'), member('d', 'two')]);
    await store.commit({ ...NOTHING, forgotten: ['two'] });
    expect([await store.load(), await members()]).toEqual([[], []]);
  });

  test('all members are read, in parts', async () => {
    const { store, members } = await incidents();
    const many = Array.from({ length: 12_000 }, (_, n) => member(`dlq-${n}`, 'one'));
    await store.commit({ ...NOTHING, changed: [incident('one')], added: many });
    const found = await members();
    expect(new Set(found.map(({ dlqId }) => dlqId)).size).toBe(12_000);
    expect(found).toHaveLength(12_000);
    await store.commit({ ...NOTHING, removed: many });
    expect(await members()).toEqual([]);
  });

  test('a repeated mark is one, and old ones are dropped', async () => {
    const { store } = await incidents();
    const mark = (at: number, detail: string) => store.mark({ at, kind: 'version', detail });
    await mark(1, '1.0.0');
    await mark(2, '1.0.0');
    await store.mark({ at: 3, kind: 'configuration', detail: '1.0.0' });
    await mark(4, '1.0.1');
    expect((await store.marks()).map(({ at }) => at)).toEqual([1, 3, 4]);
    for (let at = 5; at < 210; at += 1) await mark(at, `1.0.${at}`);
    expect((await store.marks()).length).toBe(200);
  });

  test('notifications and their queue are saved together', async () => {
    const store = createNotificationStore(await open());
    const queued = (id: string, key: string) => ({ id, receiver: 'webhook', kept: kept(key, 1) });
    const none = { kept: [], removed: [], queued: [], settled: [] };
    const waiting = [queued('z', 'a'), queued('y', 'a'), queued('x', 'a')];
    await store.save({ ...none, kept: [kept('b', 1), kept('a', 1)], queued: waiting });
    const added = queued('a', 'c');
    await store.save({
      ...none,
      kept: [kept('a', 2)],
      removed: [kept('b', 1)],
      queued: [added],
      settled: [waiting[0]!],
    });
    expect(await store.load()).toEqual({
      notifications: [kept('a', 2)],
      queue: [waiting[1]!, waiting[2]!, added],
    });
  });
});
