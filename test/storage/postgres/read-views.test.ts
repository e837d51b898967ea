/** Views of the database: one moment, one connection, a limited number, and an early end. */
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { all, get, run, type Database, type Work } from '#storage/database.ts';
import { openPostgres } from '#storage/postgres/postgres-database.ts';
import { cuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { emptyDatabase } from '../../support/postgres/test-databases.ts';
import { until } from '../../support/until.ts';

/** The real server, if it is installed: several connections at the same time. */
const server = SERVERS.at(-1)!;

async function world() {
  const proxy = await cuttingProxy(await emptyDatabase(server));
  const database = openPostgres({ url: Secret.of(proxy.url), name: 'test', poolSize: 4, clock: systemClock });
  onTestFinished(() => database[Symbol.asyncDispose]());
  await database.transaction(run('CREATE TABLE rows (id INTEGER)'));
  // All connections are open.
  await Promise.all([1, 2, 3, 4].map(() => count(database)));
  proxy.statements.length = 0;
  const sent = (part: string) => proxy.statements.filter((text) => text.includes(part)).length;
  return { proxy, database, begun: () => sent('READ ONLY'), counted: () => sent('count(*)') };
}

const count = async (database: Database) => Number((await database.read(get('SELECT count(*) AS n FROM rows')))?.['n']);
const INSERT = 'INSERT INTO rows (id) VALUES (1)';

test('the reads of a view share one transaction and see one moment', async () => {
  const { database, begun } = await world();
  const seen = await database.view(async (view) => {
    const [first, again] = await Promise.all([count(view), view.view(count)]);
    await database.transaction(run(INSERT));
    return [first, again, await count(view)];
  });
  expect(seen).toEqual([0, 0, 0]);
  expect(begun()).toBe(1);
  expect(await count(database)).toBe(1);
});

test('a read without statements needs no connection', async () => {
  const { database, begun } = await world();
  // oxlint-disable-next-line require-yield -- as the reads of no ids
  const nothing = function* (): Work<number> {
    return 7;
  };
  expect([await database.read(nothing), begun()]).toEqual([7, 0]);
});

test('reads that begin together are sent before the first response', async () => {
  const { proxy, database, counted } = await world();
  proxy.isHeld = true;
  const read = database.view(async (view) => Promise.all([1, 2, 3].map(() => count(view))));
  await until({ what: 'all three statements are sent' }, () => counted() === 3);
  proxy.release();
  expect(await read).toEqual([0, 0, 0]);
});

test('a failed statement fails its view, and nothing after it', async () => {
  const { database } = await world();
  const failed = database.view(async (view) => {
    await view.read(all('SELECT * FROM nothing')).catch(() => undefined);
    return 'read';
  });
  await expect(failed).rejects.toThrow(/rolled back/);
  expect(await database.view(count)).toBe(0);
});

test('a view that has ended reads no more', async () => {
  const { database } = await world();
  let kept: Database | undefined;
  await database.view(async (view) => void (kept = view));
  await expect(count(kept!)).rejects.toThrow('the view of the store has ended');
});

test('an early end rejects at once with the reason, sends nothing more, and limits what remains', async () => {
  const { proxy, database, begun, counted } = await world();
  proxy.isHeld = true;
  const deadline = new AbortController();
  let continued = 0;
  const views = Array.from({ length: 5 }, () =>
    database.view(async (view) => {
      await count(view);
      await count(view).finally(() => (continued += 1));
    }, deadline.signal),
  );
  const ends = Promise.allSettled(views);
  await until({ what: 'half of the connections are in use' }, () => counted() === 2);
  deadline.abort(new DOMException('late', 'TimeoutError'));
  for (const end of await ends) {
    const reason = /^\S+:\d+\/\S+: the PostgreSQL store has responded slowly since 20/;
    expect(end).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(reason) as string } });
  }
  // The two that wait for the server keep their places. A view of the daemon itself needs none.
  const next = database.view(count, new AbortController().signal);
  const own = database.view(count);
  await until({ what: 'the view of the daemon has begun' }, () => counted() === 3);
  expect(begun()).toBe(3);
  proxy.release();
  expect([await next, await own]).toEqual([0, 0]);
  await until({ what: 'the two have ended' }, () => continued === 2);
  expect([begun(), counted()]).toEqual([4, 4]);
});

test('a reason other than a deadline is the error', async () => {
  const { proxy, database } = await world();
  proxy.isHeld = true;
  const gone = new AbortController();
  const view = database.view(count, gone.signal);
  gone.abort(new Error('the client disconnected'));
  await expect(view).rejects.toThrow('the client disconnected');
  proxy.release();
});
