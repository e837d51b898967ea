/** Stores whose file was damaged, changed, moved or removed: none runs with invented numbers. */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { memoryAudit } from '#storage/memory-audit.ts';
import { backupStore, restoreStore } from '#storage/backup.ts';
import { markClosed } from '#storage/clean-mark.ts';
import { returnToSqlite } from '#storage/copy/return-store.ts';
import { openSqliteSource } from '#storage/copy/sqlite-source.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore, type Store } from '#storage/sqlite.ts';
import { StoreError } from '#storage/store-error.ts';
import { intentFor } from '../support/ledger-facts.ts';
import { damagesFound, filledStore } from '../support/store-damage.ts';
import { storedCounters } from '../support/stored-totals.ts';
import { tempDir } from '../support/temp-dir.ts';

const METRIC = 'msgsvc_log_events_total';

/** Changes the file with a connection without checksums, as another program would. */
function changeBehind(path: string, sql: string): void {
  using db = new DatabaseSync(path);
  db.exec(sql);
}

async function closedStore(): Promise<string> {
  const path = join(tempDir(), 'opsd.db');
  (await filledStore(path))[Symbol.dispose]();
  return path;
}

test('random damage of data pages is found, or has changed nothing', async () => {
  expect(await damagesFound({ runs: 40, seed: 20_261_122 })).toBeGreaterThan(15);
});

describe('changes while no daemon ran', () => {
  test.each([
    ['a counter', `UPDATE counters SET value = value + 1 WHERE rowid_is_first`, 'counters'],
    ['a lost row', `DELETE FROM histograms WHERE rowid_is_first`, 'histograms'],
    ['a claim that was released', `UPDATE intents SET active = 0 WHERE id = 1`, 'intents'],
    ['a schema', `DROP INDEX intents_claim`, 'sqlite_schema'],
    ['the checksums themselves', `DROP TABLE table_digests`, 'table_digests'],
    ['a row that nobody wrote', `INSERT INTO triggers (policy, key, at) VALUES ('p', 'k', 1)`, 'triggers'],
  ])('%s is named, and the store is rejected', async (_what, sql, table) => {
    const path = await closedStore();
    changeBehind(path, sql.replace('WHERE rowid_is_first', `WHERE labels = (SELECT min(labels) FROM ${table})`));
    expect(() => openStore(path)).toThrow(
      `${path}: the store is damaged: the content of table ${table} differs from its checksum. ` +
        'The daemon neither shows its counters nor acts on it. Restore a backup with "opsd state restore FILE", ' +
        'or move the file away to start with an empty store.',
    );
  });

  test('a changed digit in a page that stays valid is found', async () => {
    const path = await closedStore();
    const bytes = readFileSync(path);
    const at = bytes.lastIndexOf('crm.vendor.example-7');
    bytes.write('crm.vendor.example-8', at);
    writeFileSync(path, bytes);
    expect(() => openStore(path)).toThrow(/the store is damaged: /);
  });

  test('an unchanged store is not checked again', async () => {
    const path = await closedStore();
    changeBehind(path, `UPDATE counters SET value = value + 1`);
    markClosed(path);
    expect(() => openStore(path)[Symbol.dispose]()).not.toThrow();
  });

  test('a store that a crash left is checked, and has its commits', async () => {
    const path = join(tempDir(), 'opsd.db');
    const crashed = join(tempDir(), 'opsd.db');
    using store = await filledStore(path);
    await createTotals(store).add('production', [{ metric: METRIC, labels: ['LAST'], by: 3 }]);
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, crashed + suffix);
    expect(existsSync(`${path}.clean`)).toBe(false);
    using again = openStore(crashed);
    expect(storedCounters(again, 'production')).toContainEqual({ metric: METRIC, labels: ['LAST'], value: 3 });
  });

  test('an index that does not match its table is found', async () => {
    const path = await closedStore();
    const bytes = readFileSync(path);
    // Account and target are adjacent only in the index of claims.
    bytes.write('productiondlq-18', bytes.indexOf('productiondlq-17'));
    writeFileSync(path, bytes);
    expect(() => openStore(path)).toThrow(/the store is damaged: .*intents_claim/);
  });
});

describe('while the daemon runs', () => {
  async function opened(): Promise<{
    path: string;
    store: Store;
    add: () => Promise<void>;
    leaseLost: () => Promise<string | undefined>;
  }> {
    const path = join(tempDir(), 'opsd.db');
    const store = await filledStore(path);
    const totals = createTotals(store);
    const ledger = await openLedger(store, memoryAudit());
    const add = () => totals.add('production', [{ metric: METRIC, labels: ['x'], by: 1 }]);
    return { path, store, add, leaseLost: () => ledger.leaseLost('production') };
  }

  test('an unreadable page stops everything, and the next start', async () => {
    const { path, store, add, leaseLost } = await opened();
    expect(await leaseLost()).toBeUndefined();
    store.db.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA cache_size = 1; PRAGMA shrink_memory');
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xa5, 2 * 4_096), { flag: 'r+' });
    expect(() => storedCounters(store, 'production')).toThrow('database disk image is malformed');
    expect(await leaseLost()).toMatch(
      /^damage of the store was found while the daemon is running: database disk image is malformed/,
    );
    await expect(add()).rejects.toThrow(StoreError);
    store[Symbol.dispose]();
    expect(() => openStore(path)).toThrow(/the store is damaged/);
  });

  test.each(['', '-wal'])('a file opsd.db%s that is moved away stops everything until it is back', async (suffix) => {
    const { path, store, add, leaseLost } = await opened();
    await add();
    renameSync(path + suffix, `${path}.away`);
    expect(await leaseLost()).toBe(
      `${path}${suffix} was moved, removed or replaced while the daemon is running: put it back, or restart the daemon`,
    );
    expect(store.problem).toBe(await leaseLost());
    await expect(add()).rejects.toThrow(StoreError);
    renameSync(`${path}.away`, path + suffix);
    expect(await leaseLost()).toBeUndefined();
    await add();
    store[Symbol.dispose]();
  });

  test('a file that was replaced is not written to, and not trusted afterwards', async () => {
    const { path, store, add, leaseLost } = await opened();
    renameSync(path, `${path}.away`);
    copyFileSync(`${path}.away`, path);
    const before = readFileSync(path);
    expect(await leaseLost()).toMatch(/was moved, removed or replaced/);
    await expect(add()).rejects.toThrow(StoreError);
    store[Symbol.dispose]();
    expect(readFileSync(path)).toEqual(before);
    expect(existsSync(`${path}.clean`)).toBe(false);
  });
});

describe('the owner of a file', () => {
  test('a database of another program is rejected and left unchanged', () => {
    const path = join(tempDir(), 'places.sqlite');
    changeBehind(path, 'PRAGMA user_version = 3; CREATE TABLE places (a)');
    const before = readFileSync(path);
    expect(() => openStore(path)).toThrow(
      `${path}: an SQLite database of another program, not a store of opsd. Set another file in storage.sqlite.path.`,
    );
    changeBehind(path, 'PRAGMA user_version = 0');
    expect(() => openStore(path)).toThrow(/another program/);
    changeBehind(path, 'PRAGMA user_version = 3');
    expect(readFileSync(path).subarray(100)).toEqual(before.subarray(100));
  });

  test('a store with the mark of another program is rejected', async () => {
    const path = await closedStore();
    changeBehind(path, 'PRAGMA application_id = 252006673');
    expect(() => openStore(path)).toThrow(/another program/);
  });

  test.each([0, -1])('a store whose schema version another program set to %i is rejected', async (version) => {
    const path = await closedStore();
    changeBehind(path, `PRAGMA user_version = ${version}`);
    expect(() => openStore(path)).toThrow(
      `${path}: the store has tables, but its schema version (user_version) is ${version}: another program changed it. Restore a backup`,
    );
  });

  test('an empty file is no store to restore, to move, or to return to', async () => {
    const [path, empty] = [await closedStore(), join(tempDir(), 'empty.db')];
    writeFileSync(empty, '');
    const message = `${empty}: the file is empty, so it is not a store. Name the file of a store.`;
    expect(() => restoreStore(empty, path, { label: 'x' })).toThrow(message);
    expect(() => returnToSqlite(empty)).toThrow(message);
    await expect(openSqliteSource(empty)).rejects.toThrow(message);
    openStore(path)[Symbol.dispose]();
  });
});

describe('backup and restore', () => {
  test('a damaged copy is rejected, and the store stays', async () => {
    const path = join(tempDir(), 'opsd.db');
    const copy = `${path}.copy`;
    const store = await filledStore(path);
    await backupStore(store, copy);
    store[Symbol.dispose]();
    changeBehind(copy, 'UPDATE counters SET value = value + 1');
    const before = readFileSync(path);
    expect(() => restoreStore(copy, path, { label: 'x' })).toThrow(
      `${copy}: the copy is damaged: the content of table counters differs from its checksum.`,
    );
    expect(readFileSync(path)).toEqual(before);
    changeBehind(copy, 'PRAGMA application_id = 7');
    expect(() => restoreStore(copy, path, { label: 'x' })).toThrow(/another program/);
    openStore(path)[Symbol.dispose]();
  });

  test.each([
    ['is damaged', (bytes: Buffer) => bytes.fill(0xa5, 2 * 4_096)],
    ['has lost its header', (bytes: Buffer) => bytes.fill(0xa5)],
  ])('a valid copy replaces a store that %s', async (_what, damage) => {
    const path = join(tempDir(), 'opsd.db');
    const copy = `${path}.copy`;
    const store = await filledStore(path);
    await backupStore(store, copy);
    await intentFor(await openLedger(store, memoryAudit()), 'dlq-after');
    store[Symbol.dispose]();
    writeFileSync(path, damage(readFileSync(path)));
    const kept = restoreStore(copy, path, { label: 'x' });
    expect(existsSync(kept!)).toBe(true);
    using restored = openStore(path);
    expect((await openLedger(restored, memoryAudit())).mustBeAdopted).toMatch(/restored from a copy/);
  });

  test('the mark of the replaced store does not apply to the new one', async () => {
    const path = join(tempDir(), 'opsd.db');
    const store = await filledStore(path);
    await backupStore(store, `${path}.copy`);
    store[Symbol.dispose]();
    restoreStore(`${path}.copy`, path, { label: 'x' });
    expect(existsSync(`${path}.clean`)).toBe(false);
    rmSync(path);
  });
});
