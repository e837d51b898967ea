/**
 * New store on SQLite, under another name until it is complete: `PATH.copying` and its audit log. A process that is
 * killed leaves these files, which the next copy removes.
 */
import { closeSync, existsSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { dirname } from 'node:path';
import { auditPathOf, segmentsOf } from '#automate/ledger/audit-reader.ts';
import { makeFolder } from '#foundation/platform/make-folder.ts';
import { MIGRATIONS, SCHEMA } from '../schema.ts';
import { damageOf } from '../store-check.ts';
import { StoreError } from '../store-error.ts';
import { removeStore, sync } from '../store-files.ts';
import { markOwnStore } from '../store-identity.ts';
import { resetDigests } from '../table-digests.ts';
import { sqliteRows } from './sqlite-rows.ts';
import { AUDIT, type CopiedTable, type Values } from './tables.ts';

export interface SqlitePart extends Disposable {
  write(table: CopiedTable, rows: readonly Values[]): void;
  /** Commits the content; `rows` then reads the files. */
  commit(meta: ReadonlyMap<string, string>, lastIds: ReadonlyMap<string, number>): void;
  rows(table: CopiedTable): Iterable<Values>;
  /** Checks the file, and makes it durable. @throws {StoreError} */
  seal(): void;
  /** Gives the store its name. */
  publish(): void;
}

/** @throws {StoreError} if the path or its audit log is in use */
export function createSqlitePart(path: string): SqlitePart {
  const part = `${path}.copying`;
  const [auditPath, auditPart] = [auditPathOf(path), auditPathOf(part)];
  makeFolder(dirname(path), 0o750);
  assertFree(path, auditPath);
  removeLeftovers(part);
  closeSync(openSync(part, 'wx', 0o600));
  const db = new DatabaseSync(part);
  const audit = openSync(auditPart, 'wx', 0o600);
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    db.close();
    closeSync(audit);
  };
  // The file is useless until it is complete, so nothing has to be durable before.
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN EXCLUSIVE');
  db.exec(SCHEMA);
  return {
    write(table, rows) {
      if (table === AUDIT) return writeWhole(audit, Buffer.from(rows.map(([line]) => `${String(line)}\n`).join('')));
      const insert = db.prepare(table.insert);
      for (const values of rows) insert.run(...values);
    },
    commit(meta, lastIds) {
      for (const [key, value] of meta) db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)').run(key, value);
      for (const [table, id] of lastIds) keepLastId(db, table, id);
      db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
      markOwnStore(db);
      resetDigests(db);
      db.exec('COMMIT');
    },
    rows: (table) => sqliteRows(db, part, table),
    seal() {
      const damage = damageOf(db);
      if (damage !== undefined) throw new StoreError(`${part}: the copy is damaged: ${damage}. Check the disk.`);
      close();
      for (const file of [part, auditPart]) sync(file);
    },
    publish() {
      assertFree(path, auditPath);
      // The log first: without the store, it is the log of no store.
      renameSync(auditPart, auditPath);
      renameSync(part, path);
      sync(dirname(path));
    },
    [Symbol.dispose]() {
      close();
      removePart(part);
    },
  };
}

function assertFree(path: string, auditPath: string): void {
  const found = [path, auditPath, ...segmentsOf(auditPath)].find((file) => existsSync(file));
  if (found === undefined) return;
  throw new StoreError(`${found} already exists: choose another path, or move this file away.`);
}

function removeLeftovers(part: string): void {
  if (existsSync(part)) assertUnused(part);
  removePart(part);
}

/** @throws {StoreError} if another copy is writing the file */
function assertUnused(part: string): void {
  using db = new DatabaseSync(part);
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    const isBusy = (error as { readonly errcode?: number }).errcode === 5;
    if (isBusy) throw new StoreError(`${part}: another copy is writing this file.`, { cause: error });
  }
}

function removePart(part: string): void {
  removeStore(part);
  rmSync(auditPathOf(part), { force: true });
}

/** Continues the ids of a table after the last one that was assigned, also if its row is gone. */
function keepLastId(db: DatabaseSync, table: string, id: number): void {
  const { changes } = db
    .prepare('UPDATE sqlite_sequence SET seq = max(seq, CAST(? AS INTEGER)) WHERE name = ?')
    .run(id, table);
  if (changes > 0 || id === 0) return;
  const hasIds = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'`).get(table);
  if (hasIds !== undefined)
    db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(table, id);
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}
