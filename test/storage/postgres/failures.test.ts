/** Failures of PostgreSQL: what the operator reads, and what a transaction has done. */
import { describe, expect, test } from 'vitest';
import { all, get, run } from '#storage/database.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { LeaseLostError } from '#storage/postgres/postgres-error.ts';
import { StoreError } from '#storage/store-error.ts';
import { freePort } from '../../support/free-port.ts';
import { cuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { until } from '../../support/until.ts';
import { emptyDatabase, opened, postgresStore } from '../../support/postgres/test-databases.ts';

const insert = () => run(`INSERT INTO delivery_lines (line) VALUES ('a')`);
const LINES = 'SELECT line FROM delivery_lines';

async function failureOf(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error as Error,
  );
  expect(outcome).toBeInstanceOf(Error);
  return outcome!;
}

test('an unreachable server is explained without the password', async () => {
  const port = await freePort();
  const database = opened(`postgres://anna:hunter2@127.0.0.1:${port}/opsd?sslmode=disable`);
  const error = await failureOf(database.read(all('SELECT 1')));
  expect(error).toBeInstanceOf(StoreError);
  expect(error.message).toContain(`127.0.0.1:${port}/opsd: the PostgreSQL store is unavailable: nothing listens there`);
  expect(JSON.stringify([error.message, error.stack, error.cause])).not.toContain('hunter2');
});

test.each(['hunter2', 'mysql://anna:hunter2@db/opsd', 'postgres://anna:hunter2@[db/opsd'])(
  'a URL that is none is refused without its text',
  (url) => {
    let thrown: unknown;
    try {
      opened(url);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(StoreError);
    expect(String(thrown)).toContain('postgres://user:password@host:5432/opsd');
    expect(String((thrown as Error).stack)).not.toContain('hunter2');
  },
);

describe.each(SERVERS)('%s', (server) => {
  test('an error of a statement names the place', async () => {
    const database = await postgresStore(server);
    const error = await failureOf(database.read(all('SELECT nothing')));
    expect(error.message).toContain(`${database.place}: `);
    expect(error.message).toContain('"nothing" does not exist');
    expect(await database.read(all('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
  });

  test('a transaction whose statement failed is never reported as committed', async () => {
    const database = await postgresStore(server);
    const work = function* () {
      yield* insert();
      try {
        yield* run('SELECT nothing');
      } catch {
        // The work continues.
      }
    };
    await expect(database.transaction(work())).rejects.toThrow('rolled back');
    expect(await database.read(all(LINES))).toEqual([]);
  });

  test('a read changes nothing', async () => {
    const database = await postgresStore(server);
    await expect(database.read(insert())).rejects.toThrow('read-only');
  });

  test('a commit without a response counts if the server has it', async () => {
    const url = await emptyDatabase(server);
    const proxy = await cuttingProxy(url);
    const database = opened(proxy.url);
    await migrate(database);
    proxy.cut('COMMIT', 'after');
    await database.transaction(insert());
    expect(await database.read(all(LINES))).toEqual([{ line: 'a' }]);
  });

  test('a commit that the server never got is an error', async () => {
    const url = await emptyDatabase(server);
    const proxy = await cuttingProxy(url);
    const database = opened(proxy.url);
    await migrate(database);
    proxy.cut('COMMIT', 'before');
    await expect(database.transaction(insert())).rejects.toThrow('unavailable');
    expect(await database.read(all(LINES))).toEqual([]);
  });

  test('a lost connection is replaced', async () => {
    const url = await emptyDatabase(server);
    const proxy = await cuttingProxy(url);
    const database = opened(proxy.url);
    proxy.cut('SELECT 7', 'before');
    await expect(database.read(all('SELECT 7'))).rejects.toThrow('unavailable');
    expect(await database.read(all('SELECT 7 AS n'))).toEqual([{ n: 7 }]);
  });

  test('after a black hole, renewed connections work at once, and no statement waits for the dead ones', async () => {
    const proxy = await cuttingProxy(await emptyDatabase(server));
    const database = opened(proxy.url, { poolSize: 2 });
    const one = () => database.read(all('SELECT 7 AS n'));
    await Promise.all([one(), one()]);
    proxy.isSilent = true;
    // Two have a connection that lost their statement, and the third waits for one.
    const waiting = [one(), one(), one()].map((work) => work.catch((error: Error) => error.message));
    await until({ what: 'the statements are lost' }, () => proxy.lost >= 2);
    proxy.isSilent = false;
    database.renew();
    const [first, second, third] = await Promise.all(waiting);
    expect([first, second]).toEqual([expect.stringContaining('cut'), expect.stringContaining('cut')]);
    expect(third).toEqual([{ n: 7 }]);
    // Unused connections are replaced as well.
    database.renew();
    expect(await one()).toEqual([{ n: 7 }]);
  });

  test('a change of an account fails once another replica owns it', async () => {
    const url = await emptyDatabase(server);
    const held = new Map([['production', 3]]);
    const database = opened(url, { epochOf: (account) => held.get(account) });
    await migrate(database);
    const own = (epoch: number) =>
      database.transaction(
        run(
          `INSERT INTO leases (account, owner, epoch) VALUES ('production', 'a', ?)
           ON CONFLICT (account) DO UPDATE SET epoch = excluded.epoch`,
          epoch,
        ),
      );
    await own(3);
    await database.transaction(insert(), 'production');
    await own(4);
    const error = await failureOf(database.transaction(insert(), 'production'));
    expect(error).toBeInstanceOf(LeaseLostError);
    expect(error.message).toBe(
      'account production was not changed: this replica had epoch 3, and the current epoch is 4',
    );
    await expect(database.transaction(insert(), 'staging')).rejects.toThrow('this replica has no lease on it');
    expect(await database.read(get('SELECT count(*) AS n FROM delivery_lines'))).toEqual({ n: 1 });
  });
});
