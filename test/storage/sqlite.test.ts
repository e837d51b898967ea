import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { backupStore } from '#storage/backup.ts';
import { MIGRATIONS } from '#storage/schema.ts';
import { transaction } from '#storage/sqlite-transaction.ts';
import { openStore } from '#storage/sqlite.ts';
import { StoreError } from '#storage/store-error.ts';
import { tempDir } from '../support/temp-dir.ts';

const SQLITE = join(import.meta.dirname, '../../src/storage/sqlite.ts');

/** Opens the store in another process, runs `then`, and returns its output. */
async function inAnotherProcess(path: string, then: string): Promise<string> {
  const program = `
    const { openStore } = await import(${JSON.stringify(SQLITE)});
    try { const store = openStore(${JSON.stringify(path)}); ${then} } catch (error) { console.log(error.name + ': ' + error.message); }
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]).catch(
    (error: { stdout: string }) => error,
  );
  return stdout.trim();
}

test('creates the file and its folder, for its owner alone', () => {
  const path = join(tempDir(), 'deep/er/opsd.db');
  using store = openStore(path);
  expect(store.restored).toBe(false);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a second daemon on the same file is rejected with a clear message, until the first has closed it', async () => {
  const path = join(tempDir(), 'opsd.db');
  const store = openStore(path);
  expect(await inAnotherProcess(path, `console.log('opened')`)).toMatch(
    /^StoreError: .*opsd\.db: another process uses this store\. Only one daemon can run on a store: stop the other one/,
  );
  expect(() => openStore(path)).toThrow(StoreError);
  store[Symbol.dispose]();
  expect(await inAnotherProcess(path, `console.log('opened')`)).toBe('opened');
});

test('a killed process leaves its commits and no lock', async () => {
  const path = join(tempDir(), 'opsd.db');
  await inAnotherProcess(
    path,
    `store.db.exec("INSERT INTO meta VALUES ('a', 'committed')");
     store.db.exec('BEGIN'); store.db.exec("INSERT INTO meta VALUES ('b', 'not committed')");
     process.kill(process.pid, 'SIGKILL');`,
  );
  using store = openStore(path);
  expect(store.restored).toBe(true);
  expect(store.db.prepare(`SELECT key FROM meta WHERE key IN ('a', 'b')`).all()).toEqual([{ key: 'a' }]);
});

test('keeps its identity from one opening to the next', () => {
  const path = join(tempDir(), 'opsd.db');
  const first = openStore(path);
  first[Symbol.dispose]();
  using again = openStore(path);
  using other = openStore(join(tempDir(), 'opsd.db'));
  expect(again.instance).toBe(first.instance);
  expect(again.instance).toMatch(/^[0-9a-f]{10}$/);
  expect(other.instance).not.toBe(first.instance);
});

test('a newer schema is rejected with both versions named, and left unchanged', () => {
  const path = join(tempDir(), 'opsd.db');
  openStore(path)[Symbol.dispose]();
  const newer = MIGRATIONS.length + 3;
  using db = new DatabaseSync(path);
  db.exec(`PRAGMA user_version = ${newer}`);
  db.close();
  expect(() => openStore(path)).toThrow(
    `the store has schema ${newer}, but this program supports schemas only up to ${MIGRATIONS.length}.`,
  );
});

test('a store is copied before its schema changes, and the copy is one of the old schema', () => {
  const path = join(tempDir(), 'opsd.db');
  const first = openStore(path);
  first.db.exec(`INSERT INTO meta VALUES ('kept', 'before')`);
  first[Symbol.dispose]();
  const copy = `${path}.schema-${MIGRATIONS.length}`;
  expect(existsSync(copy)).toBe(false);
  openStore(path, [...MIGRATIONS, `UPDATE meta SET value = 'after' WHERE key = 'kept'`])[Symbol.dispose]();
  const kept = (file: string): unknown => {
    using db = new DatabaseSync(file);
    return [
      db.prepare('PRAGMA user_version').get()!['user_version'],
      db.prepare(`SELECT value FROM meta WHERE key = 'kept'`).get()!['value'],
    ];
  };
  expect(kept(path)).toEqual([MIGRATIONS.length + 1, 'after']);
  expect(kept(copy)).toEqual([MIGRATIONS.length, 'before']);
  expect(statSync(copy).mode & 0o777).toBe(0o600);
});

test('a schema whose copy cannot be written stays unchanged', () => {
  const path = join(tempDir(), 'opsd.db');
  openStore(path)[Symbol.dispose]();
  mkdirSync(`${path}.schema-${MIGRATIONS.length}`);
  const steps = [...MIGRATIONS, 'CREATE TABLE newer (x)'];
  expect(() => openStore(path, steps)).toThrow(/the copy of the store before its schema update failed/);
  using store = openStore(path);
  expect(store.db.prepare(`SELECT name FROM sqlite_schema WHERE name = 'newer'`).all()).toEqual([]);
});

test('a copy made during writes is consistent', async () => {
  const folder = tempDir();
  const steps = [...MIGRATIONS, 'CREATE TABLE pairs (a INTEGER, b INTEGER, pad TEXT)'];
  using store = openStore(join(folder, 'opsd.db'), steps);
  const insert = store.db.prepare('INSERT INTO pairs VALUES (?, ?, ?)');
  const write = (n: number): void =>
    transaction(store.db, () => {
      insert.run(n, 0, 'x'.repeat(2_000));
      insert.run(0, n, 'x'.repeat(2_000));
    });
  for (let n = 1; n <= 500; n++) write(n);
  const copied = new AbortController();
  const copy = backupStore(store, join(folder, 'copy.db')).finally(() => copied.abort());
  let n = 500;
  for (; !copied.signal.aborted && n < 5_000; n++) {
    write(n + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await copy;
  expect(n).toBeGreaterThan(500);
  using db = new DatabaseSync(join(folder, 'copy.db'));
  const sums = db.prepare('SELECT sum(a) AS a, sum(b) AS b, max(a) AS last FROM pairs').get()!;
  expect(sums['a']).toBe(sums['b']);
  expect(sums['last']).toBeGreaterThanOrEqual(500);
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
});

// The first step of the copy runs in a thread, so some of several copies overlap the transaction.
test('a copy that begins in a transaction has all of it', { repeats: 19 }, async () => {
  const folder = tempDir();
  using store = openStore(join(folder, 'opsd.db'), [...MIGRATIONS, 'CREATE TABLE one (a INTEGER)']);
  store.db.exec('BEGIN IMMEDIATE; INSERT INTO one VALUES (1)');
  const copy = backupStore(store, join(folder, 'copy.db'));
  await new Promise((resolve) => setImmediate(resolve));
  store.db.exec('COMMIT');
  await copy;
  using db = new DatabaseSync(join(folder, 'copy.db'));
  expect(db.prepare('SELECT a FROM one').all()).toEqual([{ a: 1 }]);
});

test('a file that is not a store is rejected and not overwritten', () => {
  const path = join(tempDir(), 'opsd.db');
  const text = 'this is a letter to my aunt, and it is longer than a page header of a database file would be '.repeat(
    20,
  );
  writeFileSync(path, text);
  expect(() => openStore(path)).toThrow(/not a usable store .* Move the file away/);
  expect(statSync(path).size).toBe(text.length);
});

test('a folder that cannot be created is named with the remedy', () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'file'), '');
  chmodSync(join(dir, 'file'), 0o400);
  expect(() => openStore(join(dir, 'file', 'opsd.db'))).toThrow(
    /opsd\.db: the store cannot be opened \(E\w+: .*must be able to write this file and its folder/,
  );
});

// Node's own recursive creation of a folder never returns there.
test('a folder that cannot be created anywhere is an error, without a hang', () => {
  expect(() => openStore('/proc/none/deeper/opsd.db')).toThrow(
    '/proc/none/deeper/opsd.db: the store cannot be opened (ENOENT: no folder can be created in /proc). ' +
      'The daemon must be able to write this file and its folder.',
  );
});

test('a transaction that throws leaves nothing', () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const { db } = store;
  expect(() =>
    transaction(db, () => {
      db.exec(`INSERT INTO meta VALUES ('x', 'y')`);
      throw new Error('halfway');
    }),
  ).toThrow('halfway');
  expect(db.prepare(`SELECT * FROM meta WHERE key = 'x'`).all()).toEqual([]);
});

/** Returns the number of commits in the write-ahead log. The frame that ends one has the size of the file, others 0. */
function commitsIn(wal: Buffer): number {
  const frameBytes = 24 + wal.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at < wal.length; at += frameBytes) if (wal.readUInt32BE(at + 4) !== 0) commits += 1;
  return commits;
}

test('a new store has its schema and its identity after one commit, an opened one its epoch', () => {
  const path = join(tempDir(), 'opsd.db');
  const first = openStore(path);
  expect(commitsIn(readFileSync(`${path}-wal`))).toBe(1);
  first[Symbol.dispose]();
  using again = openStore(path);
  expect(again.epoch).toBe(2);
  expect(commitsIn(readFileSync(`${path}-wal`))).toBe(1);
});

test('a store that cannot be completed stays empty', () => {
  const path = join(tempDir(), 'opsd.db');
  expect(() => openStore(path, [...MIGRATIONS, 'DROP TABLE meta'])).toThrow('no such table: meta');
  using store = openStore(path);
  expect(store).toMatchObject({ restored: false, epoch: 1 });
});

test('a statement is prepared at its first use', () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const statement = store.db.prepare('SELECT n FROM numbers');
  expect(() => statement.all()).toThrow('no such table: numbers');
  store.db.exec('CREATE TABLE numbers (n INTEGER); INSERT INTO numbers VALUES (1)');
  expect(statement.all()).toEqual([{ n: 1 }]);
  expect([...statement.iterate()]).toEqual([{ n: 1 }]);
  expect(statement.get()).toEqual({ n: 1 });
});
