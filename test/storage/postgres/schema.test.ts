/** The schemas of both databases have the same tables, columns, keys and indexes. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { all, run, type Row } from '#storage/database.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { POSTGRES_MIGRATIONS } from '#storage/postgres/schema.ts';
import { SCHEMA } from '#storage/schema.ts';
import { ALL_SERVERS } from '../../support/postgres/servers.ts';
import { emptyDatabase, opened, postgresStore } from '../../support/postgres/test-databases.ts';

/** Tables that only PostgreSQL has. */
const OWN = ['audit', 'canary_arrivals', 'command_keys', 'commands', 'leases', 'replicas', 'view_slices', 'views'];

const TYPES: Readonly<Record<string, string>> = {
  bigint: 'INTEGER',
  text: 'TEXT',
  'double precision': 'REAL',
  bytea: 'BLOB',
};

const COLUMNS = `SELECT table_name AS "table", column_name AS "column", data_type AS type, is_nullable AS nullable
  FROM information_schema.columns WHERE table_schema = current_schema()`;

const sorted = (lines: readonly string[]): readonly string[] => lines.toSorted();
const isShared = ({ table }: Row): boolean => !OWN.includes(String(table));

describe.each(ALL_SERVERS)('%s', (server) => {
  test('tables and columns are those of SQLite', async () => {
    using sqlite = new DatabaseSync(':memory:');
    sqlite.exec(SCHEMA);
    const expected = sqlite
      .prepare(
        `SELECT t.name AS "table", c.name AS "column", c.type AS type, c."notnull" OR c.pk > 0 AS required
         FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
      )
      .all()
      .map(({ table, column, type, required }) => [table, column, type, required === 1].join(' '));
    const database = await postgresStore(server);
    const found = await database.read(all(COLUMNS));
    const lines = found
      .filter(isShared)
      .map(({ table, column, type, nullable }) => [table, column, TYPES[String(type)], nullable === 'NO'].join(' '));
    expect(lines.length).toBeGreaterThan(100);
    expect(sorted(lines)).toEqual(sorted(expected));
    const tables = new Set(found.map(({ table }) => table));
    expect(OWN.filter((table) => !tables.has(table))).toEqual([]);
  });

  test.each([
    ['CREATE TABLE meta (name TEXT)', 'the table meta belongs to another program: it lacks the column key or value'],
    ['CREATE TABLE runs (id BIGINT)', 'the database has a table runs, but the table meta has no schema version'],
    [
      `CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); INSERT INTO meta VALUES ('schema', 'v2')`,
      'the schema version in the table meta is not a number: v2',
    ],
  ])('a database of another program is rejected and left unchanged: %s', async (content, reason) => {
    const database = opened(await emptyDatabase(server));
    await database.transaction(run(content));
    const before = await database.read(all(COLUMNS));
    await expect(migrate(database)).rejects.toThrow(
      `${database.place}: ${reason}. It belongs to another program, or was restored only in part: set another database in storage.postgres.url, or restore the whole backup.`,
    );
    expect(await database.read(all(COLUMNS))).toEqual(before);
  });

  test('a process updates the schema once, and finds the same store again', async () => {
    const url = await emptyDatabase(server);
    const steps = ['CREATE TABLE one (a BIGINT)', 'CREATE TABLE two (b BIGINT); INSERT INTO two VALUES (7)'];
    const opening = await migrate(opened(url), steps.slice(0, 1));
    expect(opening).toMatchObject({ epoch: 1, restored: false });
    const both = await Promise.all([migrate(opened(url), steps), migrate(opened(url), steps)]);
    expect(new Set(both.map(({ epoch }) => epoch))).toEqual(new Set([2, 3]));
    expect(both).toMatchObject(both.map(() => ({ instance: opening.instance, restored: true })));
    expect(await opened(url).read(all('SELECT b FROM two'))).toEqual([{ b: 7 }]);
  });

  test('a failed step changes nothing', async () => {
    const url = await emptyDatabase(server);
    await expect(migrate(opened(url), ['CREATE TABLE one (a BIGINT); SELECT nothing'])).rejects.toThrow('nothing');
    await migrate(opened(url), ['CREATE TABLE one (a BIGINT)']);
  });

  test('a newer schema is refused with both versions', async () => {
    const database = opened(await emptyDatabase(server));
    await migrate(database, [...POSTGRES_MIGRATIONS, 'CREATE TABLE later (a BIGINT)']);
    const newest = POSTGRES_MIGRATIONS.length;
    await expect(migrate(database)).rejects.toThrow(
      `${database.place}: the store has schema ${newest + 1}, but this program supports schemas only up to ${newest}.`,
    );
    await database.transaction(run('SELECT 1'));
  });
});
