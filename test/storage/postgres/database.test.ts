/** Both databases run the same statements with the same results. */
import { describe, expect, test } from 'vitest';
import { all, each, get, put, run, type Database } from '#storage/database.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { ALL_SERVERS } from '../../support/postgres/servers.ts';
import { postgresStore } from '../../support/postgres/test-databases.ts';

const OPEN: Readonly<Record<string, () => Promise<Database>>> = {
  SQLite: async () => openMemoryStore().database,
  ...Object.fromEntries(ALL_SERVERS.map((server) => [server, () => postgresStore(server)])),
};

const INSERT = `INSERT INTO counters (account, metric, labels, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, metric, labels) DO UPDATE SET value = counters.value + excluded.value`;

describe.each(Object.keys(OPEN))('%s', (name) => {
  const open = OPEN[name]!;

  test('a transaction is durable as a whole, or not at all', async () => {
    const database = await open();
    const failing = database.transaction(
      (function* () {
        yield* run(INSERT, 'a', 'm', '[]', 1);
        throw new Error('stop');
      })(),
    );
    await expect(failing).rejects.toThrow('stop');
    expect(await database.read(all('SELECT * FROM counters'))).toEqual([]);
    const row = await database.transaction(
      (function* () {
        yield* run(INSERT, 'a', 'm', '[]', 1);
        return yield* get('SELECT value FROM counters WHERE metric = ?', 'm');
      })(),
    );
    expect(row).toEqual({ value: 1 });
    expect(await database.read(all('SELECT * FROM counters'))).toEqual([
      { account: 'a', metric: 'm', labels: '[]', value: 1 },
    ]);
  });

  test('values return as they were written', async () => {
    const database = await open();
    const texts = ['', 'é😀', "o'clock ?1 $1", 'NUL \0 and \uFDD0 and \uFDD00', '{"a":"\\u0000"}', 'x'.repeat(100_000)];
    const insert = 'INSERT INTO delivery_lines (line) VALUES (?)';
    await database.transaction(each(insert, texts, (text) => [text]));
    const lines = await database.read(all('SELECT line FROM delivery_lines ORDER BY id'));
    expect(lines.map(({ line }) => line)).toEqual(texts);
    for (const text of texts) {
      const found = await database.read(all('SELECT count(*) AS n FROM delivery_lines WHERE line = ?', text));
      expect(found).toEqual([{ n: 1 }]);
    }
    const keys = Uint8Array.of(0, 1, 255);
    await database.transaction(
      run('INSERT INTO log_keys (account, kind, slice, keys) VALUES (?, ?, ?, ?)', 'a', 'k', 2 ** 53 - 1, keys),
    );
    const [row] = await database.read(all('SELECT slice, keys, NULL AS none FROM log_keys'));
    expect(row).toEqual({ slice: 2 ** 53 - 1, keys, none: null });
    await database.transaction(run(INSERT, 'a', 'm', '[]', 0.1));
    await database.transaction(run(INSERT, 'a', 'm', '[]', 0.2));
    expect(await database.read(get('SELECT value, sum(value) AS total FROM counters GROUP BY value'))).toEqual({
      value: 0.1 + 0.2,
      total: 0.1 + 0.2,
    });
  });

  test('many rows are one change, in their order', async () => {
    const database = await open();
    const rows = Array.from({ length: 2_500 }, (_, n) => [`line ${n}`]);
    expect(await database.transaction(each('INSERT INTO delivery_lines (line) VALUES (?)', rows, (row) => row))).toBe(
      2_500,
    );
    const lines = await database.read(all('SELECT line FROM delivery_lines ORDER BY id'));
    expect(lines.map(({ line }) => [line])).toEqual(rows);
    const deleted = await database.transaction(
      each('DELETE FROM delivery_lines WHERE line = ?1', ['line 1', 'line 2', 'line 2'], (line) => [line]),
    );
    expect(deleted).toBe(2);
    expect(await database.transaction(each('DELETE FROM delivery_lines WHERE line = ?', [], () => []))).toBe(0);
  });

  test('statements whose outcome nothing reads take effect in their order', async () => {
    const database = await open();
    const rows = Array.from({ length: 2_500 }, (_, n) => [`line ${n}`]);
    const insert = 'INSERT INTO delivery_lines (line) VALUES (?)';
    await database.transaction(function* () {
      yield* put(insert, rows);
      yield* put('DELETE FROM delivery_lines WHERE line = ?', rows.slice(0, 250));
      // The last ones that were deleted: these deletes must not come after it.
      yield* put(insert, rows.slice(248, 250));
      yield* put(insert, []);
    });
    const lines = await database.read(all('SELECT line FROM delivery_lines ORDER BY id'));
    expect(lines.map(({ line }) => [line])).toEqual([...rows.slice(250), ...rows.slice(248, 250)]);
  });

  test.each([
    ['the end', function* () {}],
    ['a later query', () => all('SELECT 1 AS one')],
  ])('the error of such a statement is that of its transaction, found at %s', async (_what, later) => {
    const database = await open();
    const failing = database.transaction(function* () {
      yield* put(INSERT, [['a', null, '[]', 1]]);
      yield* put(INSERT, [['a', 'm', '[]', 1]]);
      yield* later();
    });
    await expect(failing).rejects.toThrow(/not.null/i);
    expect(await database.read(all('SELECT * FROM counters'))).toEqual([]);
  });

  test('a set of texts selects its members', async () => {
    const database = await open();
    const texts = ['a', 'b\0', 'c"', '\\u0000'];
    await database.transaction(each('INSERT INTO delivery_lines (line) VALUES (?)', texts, (text) => [text]));
    const { dialect } = database;
    const found = await database.read(
      all(
        `SELECT line FROM delivery_lines WHERE line IN ${dialect.members('?1')} ORDER BY id`,
        JSON.stringify(texts.slice(1)),
      ),
    );
    expect(found.map(({ line }) => line)).toEqual(texts.slice(1));
    const positions = await database.read(
      all(`SELECT ${dialect.position('line', '?1')} AS at FROM delivery_lines ORDER BY id`, 'u'),
    );
    expect(positions.map(({ at }) => at)).toEqual([0, 0, 0, 2]);
    const kept = await database.read(
      get(`SELECT count(*) AS n FROM alerts WHERE ?1 IN ${dialect.members('accounts')}`, 'production'),
    );
    expect(kept).toEqual({ n: 0 });
  });

  test('texts have the order of their bytes', async () => {
    const database = await open();
    const texts = ['b', 'B', 'a', 'ä', '_', '-a', '1', '10', '2'];
    await database.transaction(each('INSERT INTO delivery_lines (line) VALUES (?)', texts, (text) => [text]));
    const lines = await database.read(all('SELECT line FROM delivery_lines ORDER BY line'));
    expect(lines.map(({ line }) => line)).toEqual(['-a', '1', '10', '2', 'B', '_', 'a', 'b', 'ä']);
  });

  test('statements of two transactions do not mix', async () => {
    const database = await open();
    const add = function* (metric: string) {
      const row = yield* get('SELECT count(*) AS n FROM counters WHERE metric = ?', metric);
      yield* run(INSERT, 'a', metric, '[]', Number(row?.['n']) + 1);
      return Number(row?.['n']);
    };
    const metrics = Array.from({ length: 20 }, (_, n) => `m${n}`);
    expect(await Promise.all(metrics.map((metric) => database.transaction(add(metric))))).toEqual(metrics.map(() => 0));
    expect(await database.read(get('SELECT sum(value) AS total FROM counters'))).toEqual({ total: 20 });
  });
});
