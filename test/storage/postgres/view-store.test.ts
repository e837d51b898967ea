/** Views of accounts in PostgreSQL, and their fence. */
import { describe, expect, test } from 'vitest';
import type { Choose, ViewStore } from '#operate/views/view-store.ts';
import { run } from '#storage/database.ts';
import { LeaseLostError } from '#storage/postgres/postgres-error.ts';
import { createViewStore } from '#storage/postgres/view-store.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../../support/postgres/test-databases.ts';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const view = (body: string, ...ids: readonly string[]) => ({
  account: 'production',
  body: bytes(body),
  added: new Map(ids.map((id) => [id, bytes(`rows ${id}`)])),
});

const viewIn = async (views: ViewStore, wanted: (body: Uint8Array) => readonly string[]) =>
  (
    await views.read(
      () => ['production'],
      (_account, body) => wanted(body),
    )
  ).get('production');

/** Returns the present time of the store, and the time of each view. */
async function timesIn(views: ViewStore) {
  let times: Parameters<Choose>[0];
  const choose: Choose = (found) => {
    times = found;
    return [];
  };
  await views.read(choose, () => []);
  return times!;
}

describe.each(SERVERS)('%s', (server) => {
  async function store() {
    const database = opened(await emptyDatabase(server));
    await migrate(database);
    return createViewStore(database);
  }

  test('a view is read with the slices that are asked for, and slices of its past are gone', async () => {
    const views = await store();
    expect(
      await views.read(
        () => ['production'],
        () => [],
      ),
    ).toEqual(new Map());
    await views.write([{ ...view('one', 'a', 'b'), slices: ['a', 'b'] }]);
    expect((await views.slices('production')).toSorted()).toEqual(['a', 'b']);
    const read = await viewIn(views, (body) => {
      expect(body).toEqual(bytes('one'));
      return ['b', 'unknown'];
    });
    expect([...read!.slices]).toEqual([['b', bytes('rows b')]]);
    await views.write([{ ...view('two', 'c'), slices: ['b', 'c'] }]);
    expect((await views.slices('production')).toSorted()).toEqual(['b', 'c']);
    await views.write([view('three')]);
    expect((await views.slices('production')).toSorted()).toEqual(['b', 'c']);
    expect((await viewIn(views, () => []))!.body).toEqual(bytes('three'));
    expect(await views.slices('staging')).toEqual([]);
  });

  test('each write has another time, by the clock of the server', async () => {
    const views = await store();
    expect((await timesIn(views)).views).toEqual(new Map());
    const times: number[] = [];
    for (const text of ['one', 'two', 'three']) {
      await views.write([view(text)]);
      const { now, views: found } = await timesIn(views);
      times.push(found.get('production')!);
      expect(Math.abs(now - found.get('production')!)).toBeLessThan(60_000);
    }
    expect(new Set(times).size).toBe(3);
    expect((await viewIn(views, () => []))!.at).toBe(times.at(-1));
  });

  test('only the owner of an account writes its view', async () => {
    const url = await emptyDatabase(server);
    const migrated = opened(url);
    await migrate(migrated);
    let epoch: number | undefined = 1;
    const views = createViewStore(opened(url, { epochOf: () => epoch }));
    const own = (current: number) =>
      migrated.transaction(
        run(
          'INSERT INTO leases (account, epoch) VALUES (?1, ?2) ON CONFLICT (account) DO UPDATE SET epoch = ?2',
          'production',
          current,
        ),
      );
    await own(1);
    await views.write([view('one', 'a')]);
    await expect(views.write([view('two'), { ...view('two'), account: 'staging' }])).rejects.toThrow(LeaseLostError);
    await own(2);
    await expect(views.write([view('stale', 'b')])).rejects.toThrow(LeaseLostError);
    epoch = undefined;
    await expect(views.write([view('stale')])).rejects.toThrow(LeaseLostError);
    expect((await viewIn(views, () => ['a', 'b']))!).toMatchObject({ body: bytes('one') });
    expect(await views.slices('production')).toEqual(['a']);
  });

  test('the views of several accounts are written and read together, each with its own slices', async () => {
    const views = await store();
    const staging = { ...view('other', 'a', 'd'), account: 'staging' };
    await views.write([
      { ...view('one', 'a', 'b'), slices: ['a', 'b'] },
      { ...staging, slices: ['a', 'd'] },
    ]);
    await views.write([
      { ...view('two'), slices: ['a'] },
      { ...staging, added: new Map(), slices: ['d'] },
    ]);
    const read = await views.read(
      () => ['production', 'staging', 'unknown'],
      () => ['a', 'b', 'd'],
    );
    expect(new Map([...read].map(([account, { body, slices }]) => [account, [body, ...slices.keys()]]))).toEqual(
      new Map([
        ['production', [bytes('two'), 'a']],
        ['staging', [bytes('other'), 'd']],
      ]),
    );
  });
});
