/** Stores of several replicas over one database: each one reads and writes the rows of its scope. */
import { describe, expect, test } from 'vitest';
import type { Incident } from '#foundation/domain/incident.ts';
import type { RoundRecord, StateRecord } from '#observe/canary/store.ts';
import type { KeptNotification } from '#operate/notifications/notification-store.ts';
import { createCanaryStore } from '#storage/canary-store.ts';
import type { Database } from '#storage/database.ts';
import { createDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { createNotificationStore } from '#storage/notification-store.ts';
import { createRequestUseStore } from '#storage/request-use.ts';
import type { RowScope } from '#storage/scope.ts';
import { createSpanOutbox } from '#storage/span-outbox.ts';
import { LeaseLostError } from '#storage/store-error.ts';
import { createTotals } from '#storage/totals.ts';
import { NOTIFICATION } from '../operate/notifications/world.ts';
import { STORES } from '../support/postgres/test-stores.ts';

/** Three configured accounts. No replica configures `old` any more. */
const FIRST: RowScope = { accounts: ['a', 'b'], replica: 'one' };
const LEADER: RowScope = { accounts: ['c'], others: ['a', 'b'], replica: 'two' };
const ACCOUNTS = ['a', 'b', 'c', 'old'];

/** Database whose transactions fail without the lease on their account. */
function leased(database: Database) {
  const lost = new Set<string>();
  /** Accounts of the transactions. */
  const fenced: (string | readonly string[] | undefined)[] = [];
  const transaction: Database['transaction'] = (work, account) => {
    fenced.push(account);
    if (typeof account === 'string' && lost.has(account)) throw new LeaseLostError(account, 1, 2);
    return database.transaction(work);
  };
  return { lost, fenced, database: { ...database, transaction } };
}

async function write(database: Database, outbox: { begin(account: string): { readonly work: unknown } }) {
  for (const account of ACCOUNTS) {
    const { work } = outbox.begin(account) as { work: Parameters<Database['transaction']>[0] };
    await database.transaction(work);
  }
}

const batch = { protocol: 'http/json', head: '{}', body: new Uint8Array(1), spans: 10 } as const;

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  const world = async () => leased((await open()).database);

  describe('spans', () => {
    async function spanWorld() {
      const opened = await world();
      const all = await createSpanOutbox(opened);
      await write(opened.database, {
        begin: (account) => all.begin(account, [{ ...batch, madeAt: ACCOUNTS.indexOf(account) }]),
      });
      const drained = async (scope: RowScope) => {
        const outbox = await createSpanOutbox(opened, scope);
        const found: string[] = [];
        for (let next = await outbox.next(); next !== undefined; next = await outbox.next(next.id)) {
          found.push(next.account);
        }
        return found;
      };
      opened.fenced.length = 0;
      return { ...opened, all, drained };
    }

    test('belong to the owner of their account, and without one to the leader', async () => {
      const { all, drained, ...opened } = await spanWorld();
      expect([await drained(FIRST), await drained(LEADER)]).toEqual([
        ['a', 'b'],
        ['c', 'old'],
      ]);
      expect((await createSpanOutbox(opened, FIRST)).queued()).toEqual({ spans: 20, oldestAt: 0 });
      expect((await createSpanOutbox(opened, LEADER)).queued()).toEqual({ spans: 20, oldestAt: 2 });
      expect(all.queued()).toEqual({ spans: 40 });
    });

    test('are settled under the lease of their account', async () => {
      const { fenced, ...opened } = await spanWorld();
      for (const scope of [FIRST, LEADER]) {
        const outbox = await createSpanOutbox(opened, scope);
        const first = await outbox.next();
        const second = await outbox.next(first!.id);
        await outbox.settle([first!.id, second!.id]);
        expect(outbox.queued()).toEqual({ spans: 0 });
      }
      expect(fenced).toEqual(['a', 'b', 'c', '']);
    });

    test('of a lost lease stay in the store, and the others are settled', async () => {
      const { lost, drained, ...opened } = await spanWorld();
      lost.add('a');
      const outbox = await createSpanOutbox(opened, FIRST);
      await outbox.settle([1, 2]);
      expect([await drained(FIRST), outbox.queued().spans, await outbox.next()]).toEqual([['a'], 10, undefined]);
      lost.add('');
      const leader = await createSpanOutbox(opened, LEADER);
      await leader.settle([4]);
      expect([(await leader.next())!.account, await leader.next(3)]).toEqual(['c', undefined]);
    });

    test('are settled in one transaction without replicas', async () => {
      const { all, fenced } = await spanWorld();
      await all.settle([1, 2, 3, 4]);
      expect([fenced, await all.next()]).toEqual([[undefined], undefined]);
    });
  });

  describe('lines about deliveries', () => {
    const options = { onDropped: () => expect.unreachable() };

    async function lineWorld() {
      const opened = await world();
      const all = await createDeliveryOutbox(opened, options);
      await write(opened.database, { begin: (account) => all.begin(account, [`line of ${account}`]) });
      opened.fenced.length = 0;
      return opened;
    }

    test('belong to the owner of their account, and without one to the leader', async () => {
      const opened = await lineWorld();
      const first = await createDeliveryOutbox(opened, options, FIRST);
      const leader = await createDeliveryOutbox(opened, options, LEADER);
      expect([first.queued, leader.queued]).toEqual([2, 2]);
      const lines = await leader.next();
      expect([(await first.next())?.text, lines?.text]).toEqual(['line of a\nline of b\n', 'line of c\nline of old\n']);
      await leader.settle(lines!.ids);
      expect([leader.queued, await leader.next(), opened.fenced]).toEqual([0, undefined, ['c', '']]);
    });

    test('of a lost lease are not returned again, and the others are settled', async () => {
      const opened = await lineWorld();
      opened.lost.add('a');
      const first = await createDeliveryOutbox(opened, options, FIRST);
      await first.settle([1, 2]);
      expect([first.queued, await first.next()]).toEqual([1, undefined]);
      expect((await (await createDeliveryOutbox(opened, options, FIRST)).next())?.text).toBe('line of a\n');
    });
  });

  test('label values are loaded and saved for own accounts, and a lost lease affects only its own', async () => {
    const opened = await world();
    const { lost, fenced } = opened;
    const values = ACCOUNTS.map((account) => ({ account, label: 'destination', value: 'x', idleMs: 0 }));
    const totals = createTotals(opened);
    await createLabelStore(opened, totals).save(values);
    expect(fenced.splice(0)).toEqual([undefined]);
    const store = createLabelStore(opened, totals, FIRST);
    expect(await store.load()).toEqual(values.slice(0, 2));
    lost.add('a');
    const later = values.slice(0, 2).map((value) => ({ ...value, idleMs: 5 }));
    await store.save(later);
    expect(fenced.splice(0)).toEqual(['a', 'b']);
    expect((await store.load()).map(({ idleMs }) => idleMs)).toEqual([0, 5]);
    const own = { account: '', label: 'level', value: 'info', idleMs: 0 };
    for (const scope of [FIRST, LEADER]) await createLabelStore(opened, totals, scope).save([own]);
    expect(fenced).toEqual([]);
  });

  test('counts of requests are those of own accounts, and continue what another replica reserved', async () => {
    const opened = await world();
    const before = createRequestUseStore(opened, { accounts: ['a', 'b'], replica: 'one' });
    await before.save({ account: 'b', api: 'message', day: 5, used: 40 });
    await before.save({ account: 'a', api: 'message', day: 5, used: 7 });
    const after = createRequestUseStore(opened, { accounts: ['b', 'c'], replica: 'two' });
    expect(await after.load()).toEqual([{ account: 'b', api: 'message', day: 5, used: 40 }]);
    expect(opened.fenced).toEqual(['b', 'a']);
  });

  test('canaries are loaded with their account, and without one by the leader', async () => {
    const opened = await world();
    const store = createCanaryStore(opened, FIRST);
    const round = (account: string) => ({ id: `round of ${account}`, account }) as RoundRecord;
    const state = (account: string) => ({ account, canary: 'c' }) as StateRecord;
    for (const account of ACCOUNTS) await store.save({ rounds: [round(account)], state: state(account) });
    expect(opened.fenced).toEqual(['a', 'b', '', '']);
    const read = (accounts: readonly string[]) => ({ rounds: accounts.map(round), states: accounts.map(state) });
    expect(await store.load()).toEqual(read(['a', 'b']));
    expect(await createCanaryStore(opened, LEADER).load()).toEqual(read(['c', 'old']));
    expect(await createCanaryStore(opened).load()).toEqual(read(ACCOUNTS));
  });

  describe('incidents', () => {
    const incident = (account: string) => ({ id: `incident of ${account}`, account }) as Incident;
    const none = { changed: [], added: [], removed: [], merged: [], forgotten: [] };

    async function incidentWorld() {
      const opened = await world();
      const store = createIncidentStore(opened, LEADER);
      for (const account of ACCOUNTS) {
        const member = { queue: 'workflow', dlqId: 'd', incident: incident(account).id, at: 1 } as const;
        await store.commit({ ...none, account, changed: [incident(account)], added: [member] });
      }
      return opened;
    }

    test('belong with their members to the owner of their account, and without one to the leader', async () => {
      const opened = await incidentWorld();
      expect(opened.fenced).toEqual(['', '', 'c', '']);
      const read = async (scope?: RowScope) => {
        const store = createIncidentStore(opened, scope);
        const members: string[] = [];
        await store.readMembers(({ account }) => void members.push(account));
        const incidents = await store.load();
        expect(members).toEqual(incidents.map(({ account }) => account));
        return members;
      };
      expect([await read(FIRST), await read(LEADER), await read()]).toEqual([['a', 'b'], ['c', 'old'], ACCOUNTS]);
    });

    test('marks of replicas that start at the same time are one', async () => {
      const { database } = await open();
      const [one, two] = [FIRST, LEADER].map((scope) => createIncidentStore({ database }, scope));
      for (const detail of ['1.0.0', '1.0.1', '1.0.2']) {
        await Promise.all([one, two, one, two].map((store, at) => store!.mark({ at, kind: 'version', detail })));
      }
      expect((await one!.marks()).map(({ detail }) => detail)).toEqual(['1.0.0', '1.0.1', '1.0.2']);
    });
  });

  describe('conditions', () => {
    const kept = (key: string, more: object): KeptNotification => {
      const { account: _account, ...rest } = NOTIFICATION;
      return { notification: { ...rest, key, ...more }, startedAt: 1 };
    };
    const CONDITIONS = [
      kept('held/a', { account: 'a' }),
      kept('held/c', { account: 'c' }),
      kept('held/old', { account: 'old' }),
      kept('paused/engine', {}),
      kept('store/one', { replica: 'one' }),
      kept('store/two', { replica: 'two' }),
    ];
    const QUEUE = CONDITIONS.map((one, n) => ({ id: `${9 - n}`, receiver: 'webhook', kept: one }));
    const none = { kept: [], removed: [], queued: [], settled: [] };
    const keys = ({
      notifications,
      queue,
    }: Awaited<ReturnType<ReturnType<typeof createNotificationStore>['load']>>) => {
      expect(queue.map((one) => one.kept)).toEqual(notifications);
      return notifications.map(({ notification }) => notification.key);
    };

    async function conditionWorld() {
      const opened = await world();
      await createNotificationStore(opened).save({ ...none, kept: CONDITIONS, queued: QUEUE });
      expect(opened.fenced.splice(0)).toEqual([undefined]);
      return opened;
    }

    test('belong to the owner of their account, to their replica, or to the leader', async () => {
      const opened = await conditionWorld();
      expect(keys(await createNotificationStore(opened, FIRST).load())).toEqual(['held/a', 'store/one']);
      expect(keys(await createNotificationStore(opened, LEADER).load())).toEqual([
        'held/c',
        'held/old',
        'paused/engine',
        'store/two',
      ]);
    });

    test('are written under the lease of their account, those of a replica without one', async () => {
      const opened = await conditionWorld();
      const store = createNotificationStore(opened, { ...FIRST, accounts: ['a', 'c'] });
      opened.lost.add('a');
      const save = store.save({ ...none, removed: CONDITIONS, settled: QUEUE });
      await expect(save).rejects.toThrow(LeaseLostError);
      expect(new Set(opened.fenced)).toEqual(new Set(['a', 'c', '', undefined]));
      expect(keys(await createNotificationStore(opened).load())).toEqual(['held/a']);
    });
  });
});
