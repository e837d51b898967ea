/** Scheduled copies of a store. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createBackupFolder, readStoreFiles, type BackupFolder } from '#storage/backup-folder.ts';
import { backupStore, createCopies, type Copies } from '#storage/backup.ts';
import { openStore, type Store } from '#storage/sqlite.ts';
import { StoreError } from '#storage/store-error.ts';
import { filledStore } from '../support/store-damage.ts';
import { storedCounters } from '../support/stored-totals.ts';
import { tempDir } from '../support/temp-dir.ts';

const NOON = Date.UTC(2026, 10, 22, 12);
const DAY_MS = 86_400_000;
const NEVER = new AbortController().signal;

interface World {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly dir: string;
  readonly copies: Copies;
  readonly folder: BackupFolder;
  readonly names: () => string[];
}

async function world(keep = 3, copiesOf: (store: Store) => Copies = createCopies): Promise<World> {
  const home = tempDir();
  const store = await filledStore(join(home, 'opsd.db'));
  onTestFinished(() => store[Symbol.dispose]());
  const clock = new ManualClock(NOON);
  const dir = join(home, 'backups/deep');
  const copies = copiesOf(store);
  const folder = createBackupFolder({ every: DAY_MS, dir, keep }, { store, copies, clock });
  return { store, clock, dir, copies, folder, names: () => readdirSync(dir).toSorted() };
}

test('each copy has the time in its name, is a whole store, and belongs to its owner alone', async () => {
  const { store, dir, folder, names } = await world();
  expect(folder.newest).toBeUndefined();
  const made = await folder.add(NEVER);
  expect(names()).toEqual([`opsd-${store.instance}-20261122T120000Z.db`]);
  expect(made).toEqual({ file: join(dir, names()[0]!), at: NOON, bytes: statSync(made.file).size });
  expect(folder.newest).toEqual(made);
  expect(statSync(made.file).mode & 0o777).toBe(0o600);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  using copy = openStore(made.file);
  expect(storedCounters(copy, 'production')).toEqual(storedCounters(store, 'production'));
});

test('the oldest copies are removed after a new one is complete, and nothing else is', async () => {
  const { dir, clock, folder, names } = await world(2);
  await folder.add(NEVER);
  const others = ['notes.txt', 'opsd-0000000000-20250101T000000Z.db', 'opsd.db'];
  for (const name of others) writeFileSync(join(dir, name), 'mine');
  for (let day = 0; day < 3; day++) {
    await clock.advance(DAY_MS);
    await folder.add(NEVER);
  }
  const own = names().filter((name) => !others.includes(name));
  expect(own.map((name) => name.slice(-19))).toEqual(['20261124T120000Z.db', '20261125T120000Z.db']);
  expect(names()).toEqual(expect.arrayContaining(others));
});

test('a failed copy removes no other copy', async () => {
  let isFull = false;
  const { clock, folder, names } = await world(1, (store) => ({
    ...createCopies(store),
    write: async (file, signal) => {
      if (isFull) throw new StoreError('no space left on device');
      return createCopies(store).write(file, signal);
    },
  }));
  const good = await folder.add(NEVER);
  isFull = true;
  await clock.advance(DAY_MS);
  await expect(folder.add(NEVER)).rejects.toThrow('no space left on device');
  expect(names()).toEqual([basename(good.file)]);
  expect(folder.newest).toEqual(good);
});

test('a store whose pages were damaged while it is open gets no copy', async () => {
  const { store, folder, names } = await world();
  store.db.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA shrink_memory');
  const bytes = readFileSync(store.path);
  bytes.write('crm.vendor.example-8', bytes.lastIndexOf('crm.vendor.example-7'));
  writeFileSync(store.path, bytes, { flag: 'r+' });
  await expect(folder.add(NEVER)).rejects.toThrow(/it is damaged: .*restart the daemon to check the store/);
  expect(names()).toEqual([]);
});

test('an aborted copy leaves nothing, and the store can be opened again at once', async () => {
  const home = tempDir();
  const store = await filledStore(join(home, 'opsd.db'));
  const copies = createCopies(store);
  const dir = join(home, 'backups');
  const folder = createBackupFolder({ every: DAY_MS, dir, keep: 1 }, { store, copies, clock: new ManualClock(NOON) });
  const insert = store.db.prepare(`INSERT INTO log_keys VALUES ('production', 'ended', ?, ?)`);
  store.db.exec('BEGIN');
  for (let slice = 0; slice < 2_000; slice++) insert.run(slice, Buffer.alloc(4_000));
  store.db.exec('COMMIT');
  const broken = folder.add(NEVER).catch((error: unknown) => error);
  await copies[Symbol.asyncDispose]();
  expect(await broken).toHaveProperty('message', expect.stringContaining('the daemon stops'));
  expect(readdirSync(dir)).toEqual([]);
  await expect(copies.write(join(home, 'late.db'))).rejects.toThrow('the daemon stops');
  store[Symbol.dispose]();
  using again = openStore(store.path);
  expect(again.restored).toBe(true);
});

test('two copies of one name are one copy and one error', async () => {
  const { copies } = await world();
  const file = join(tempDir(), 'copy.db');
  const results = await Promise.allSettled([copies.write(file), copies.write(file)]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  openStore(file)[Symbol.dispose]();
});

test('parts that a killed process left are removed', async () => {
  const { store, dir, folder, names } = await world();
  await folder.add(NEVER);
  const left = ['.part', '.part-journal'].map((suffix) => `opsd-${store.instance}-20261121T120000Z.db${suffix}`);
  for (const name of left) writeFileSync(join(dir, name), 'half');
  folder.look();
  expect(folder.newest?.at).toBe(NOON);
  const other = createBackupFolder(
    { every: DAY_MS, dir, keep: 3 },
    { store, copies: createCopies(store), clock: new ManualClock(NOON + 1_000) },
  );
  await other.add(NEVER);
  expect(names().map((name) => name.slice(-6))).toEqual(['00Z.db', '01Z.db']);
});

test('an unusable folder is named', async () => {
  const home = tempDir();
  using store = await filledStore(join(home, 'opsd.db'));
  writeFileSync(join(home, 'file'), '');
  const deps = { store, copies: createCopies(store), clock: new ManualClock(NOON) };
  const folder = createBackupFolder({ every: DAY_MS, dir: join(home, 'file'), keep: 1 }, deps);
  await expect(folder.add(NEVER)).rejects.toThrow(/file: the backup folder is unusable: ENOTDIR/);
});

test('a disk that becomes full during a copy leaves no copy', async () => {
  const home = tempDir();
  const path = join(home, 'opsd.db');
  (await filledStore(path))[Symbol.dispose]();
  const file = join(home, 'copy.db');
  const program = join(import.meta.dirname, 'programs/copy-to-a-full-disk.ts');
  // The limit allows the write-ahead log of the opening, but no copy of the store.
  const limited = `ulimit -f ${Math.floor(statSync(path).size / 1_024 / 2)}; exec "$0" "$@"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', limited, process.execPath, program, path, file]);
  expect(stdout).toMatch(/copy\.db: the copy could not be written: /);
  expect(readdirSync(home).filter((name) => name.startsWith('copy'))).toEqual([]);
  expect(existsSync(path)).toBe(true);
});

test('sizes are those of the store with its write-ahead log, and unknown without the store', async () => {
  const { store } = await world();
  const sizes = ['', '-wal'].map((suffix) => statSync(store.path + suffix).size);
  const { sizeBytes, freeBytes } = readStoreFiles(store.path);
  expect(sizeBytes).toBe(sizes[0]! + sizes[1]!);
  expect(freeBytes).toBeGreaterThan(0);
  expect(readStoreFiles('/nowhere/opsd.db')).toEqual({ sizeBytes: undefined, freeBytes: undefined });
  await backupStore(store, join(tempDir(), 'copy.db'));
});
