/** Stores that are not copied, each with the reason, and unchanged. */
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { auditPathOf, segmentsOf } from '#automate/ledger/audit-reader.ts';
import { moveToPostgres, moveToSqlite } from '#storage/copy/store-copy.ts';
import { run } from '#storage/database.ts';
import { MIGRATIONS } from '#storage/schema.ts';
import { createLeaseTable } from '#storage/postgres/lease-table.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { POSTGRES_MIGRATIONS } from '#storage/postgres/schema.ts';
import { openStore } from '#storage/sqlite.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../../support/postgres/test-databases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { storeWithActions, WATCH } from './world.ts';

const server = SERVERS.at(-1)!;
const newest = MIGRATIONS.length;

function change(path: string, sql: string): void {
  using db = new DatabaseSync(path);
  db.exec(sql);
}

describe('a store on SQLite', () => {
  const cases: readonly (readonly [string, string, (path: string) => void])[] = [
    ['without a file', 'opsd.db does not exist.', (path) => rmSync(path)],
    [
      'in use',
      'another process uses this store',
      (path) => {
        const store = openStore(path);
        onTestFinished(() => store[Symbol.dispose]());
      },
    ],
    [
      'of another program',
      'an SQLite database of another program',
      (path) => change(path, 'PRAGMA application_id = 7'),
    ],
    [
      'with a newer schema',
      `the store has schema ${newest + 1}, but this program supports schemas only up to ${newest}`,
      (path) => change(path, `PRAGMA user_version = ${newest + 1}`),
    ],
    [
      'with a changed value',
      'the content of table intents differs from its checksum',
      (path) => change(path, 'UPDATE intents SET items = 7 WHERE id = 1'),
    ],
    [
      'with a changed record of its audit log',
      'was changed: its hash does not match its content',
      (path) => {
        const [segment] = segmentsOf(auditPathOf(path));
        writeFileSync(segment!, readFileSync(segment!, 'utf8').replace('store.opened', 'store.closed'));
      },
    ],
    [
      'without a segment of its audit log',
      'the earlier records are missing',
      (path) => rmSync(segmentsOf(auditPathOf(path))[0]!),
    ],
    [
      'without its audit log',
      'is missing, and the store has 7 records of it',
      (path) => {
        for (const file of [...segmentsOf(auditPathOf(path)), auditPathOf(path)]) renameSync(file, `${file}.away`);
      },
    ],
    [
      'with a cut audit log',
      'but record 7 existed: the end of the log was cut off',
      (path) => writeFileSync(auditPathOf(path), ''),
    ],
    [
      'of a daemon that was killed while it wrote a record',
      'ends with an incomplete record, and the store has 7 records: the daemon was killed',
      (path) => appendFileSync(auditPathOf(path), '{"account":'),
    ],
  ];

  test.each(cases)('%s', async (_name, message, prepare) => {
    const path = await storeWithActions();
    prepare(path);
    const database = opened(await emptyDatabase(server));
    await expect(moveToPostgres(path, database, WATCH)).rejects.toThrow(message);
    expect((await migrate(database)).restored).toBe(false);
  });
});

describe('a database', () => {
  test('with tables of another program', async () => {
    const database = opened(await emptyDatabase(server));
    await database.transaction(run('CREATE TABLE customers (id BIGINT)'));
    const message = `${database.place}: the database is not a store of opsd: it has the tables customers`;
    await expect(moveToPostgres(await storeWithActions(), database, WATCH)).rejects.toThrow(message);
    await expect(moveToSqlite(database, join(tempDir(), 'new.db'), WATCH)).rejects.toThrow(message);
  });

  test('with a store in it', async () => {
    const database = opened(await emptyDatabase(server));
    await moveToPostgres(await storeWithActions(), database, WATCH);
    const path = await storeWithActions();
    await expect(moveToPostgres(path, database, WATCH)).rejects.toThrow(
      'the database is not empty: table audit has rows. Create an empty database.',
    );
    openStore(path)[Symbol.dispose]();
  });

  test('without tables', async () => {
    const database = opened(await emptyDatabase(server));
    await expect(moveToSqlite(database, join(tempDir(), 'new.db'), WATCH)).rejects.toThrow('it has no tables');
  });

  test('with a newer schema', async () => {
    const database = opened(await emptyDatabase(server));
    await migrate(database, [...POSTGRES_MIGRATIONS, 'CREATE TABLE later (a BIGINT)']);
    const message = `the store has schema ${POSTGRES_MIGRATIONS.length + 1}, and this program copies only schema ${POSTGRES_MIGRATIONS.length}`;
    await expect(moveToSqlite(database, join(tempDir(), 'new.db'), WATCH)).rejects.toThrow(message);
    await expect(moveToPostgres(await storeWithActions(), database, WATCH)).rejects.toThrow(message);
  });

  test('with a live replica', async () => {
    const database = opened(await emptyDatabase(server));
    await migrate(database);
    const table = createLeaseTable();
    await database.transaction(table.join({ id: 'one', name: 'opsd-1', accounts: [] }, 60_000));
    await expect(moveToSqlite(database, join(tempDir(), 'new.db'), WATCH)).rejects.toThrow(
      `${database.place}: the store is in use by opsd-1. Stop all daemons first.`,
    );
    await expect(moveToPostgres(await storeWithActions(), database, WATCH)).rejects.toThrow('table replicas has rows');
    await database.transaction(run('UPDATE replicas SET expires_at = 1'));
    await moveToSqlite(database, join(tempDir(), 'new.db'), WATCH);
  });

  test('with a changed record of its audit log', async () => {
    const database = opened(await emptyDatabase(server));
    await moveToPostgres(await storeWithActions(), database, WATCH);
    await database.transaction(run(`UPDATE audit SET type = 'other' WHERE sequence = 2`));
    await expect(moveToSqlite(database, join(tempDir(), 'new.db'), WATCH)).rejects.toThrow(
      'the audit log is damaged: column type of record 2 was changed',
    );
  });

  test('with an integer that JavaScript cannot represent', async () => {
    const database = opened(await emptyDatabase(server));
    await migrate(database);
    await database.transaction(run(`INSERT INTO pauses (scope, reason, at, by) VALUES ('', '', 9007199254740993, '')`));
    await expect(moveToSqlite(database, join(tempDir(), 'new.db'), WATCH)).rejects.toThrow(
      'column at of table pauses has 9007199254740992',
    );
  });
});

test.each([
  ['a store', ''],
  ['an audit log', '.audit.jsonl'],
  ['a segment of an audit log', '.audit.000000000007.jsonl'],
])('a path with %s is left alone', async (_name, suffix) => {
  const database = opened(await emptyDatabase(server));
  await moveToPostgres(await storeWithActions(), database, WATCH);
  const path = join(tempDir(), 'new.db');
  writeFileSync(`${path}${suffix}`, 'evidence');
  await expect(moveToSqlite(database, path, WATCH)).rejects.toThrow(`${path}${suffix} already exists`);
  expect(readFileSync(`${path}${suffix}`, 'utf8')).toBe('evidence');
  await migrate(database);
});
