/** Store on SQLite that is copied elsewhere. It is locked, so that no daemon uses it in the meantime. */
import { existsSync } from 'node:fs';
import { auditPathOf, verifyAudit } from '#automate/ledger/audit-reader.ts';
import { readHead } from '../audit-head.ts';
import type { Work } from '../database.ts';
import { MIGRATIONS } from '../schema.ts';
import { assertNotMoved, markMoved, unmarkMoved } from '../moved-store.ts';
import { createSqliteDatabase } from '../sqlite-database.ts';
import { transaction } from '../sqlite-transaction.ts';
import { assertFilled, checkVersion, lockStore } from '../sqlite.ts';
import { damageOf } from '../store-check.ts';
import { StoreError } from '../store-error.ts';
import { keepDigests } from '../table-digests.ts';
import { sqliteRows } from './sqlite-rows.ts';
import type { CopiedTable, Values } from './tables.ts';

export interface SqliteSource extends Disposable {
  readonly meta: ReadonlyMap<string, string>;
  /** Last assigned ids by the table. */
  readonly lastIds: ReadonlyMap<string, number>;
  rows(table: CopiedTable): Iterable<Values>;
  mark(to: string): void;
  unmark(): void;
}

/**
 * Opens the store and checks all of it: pages, content, and audit log.
 *
 * @throws {StoreError} if the store is in use, damaged, was moved, or has another schema
 */
export async function openSqliteSource(path: string): Promise<SqliteSource> {
  if (!existsSync(path)) throw new StoreError(`${path} does not exist.`);
  const lock = lockStore(path);
  try {
    const { db } = lock;
    const database = createSqliteDatabase(db);
    assertFilled(db, path);
    assertSchema(checkVersion(db, path), path);
    database.now(assertNotMoved(path));
    const damage = damageOf(db);
    if (damage !== undefined) {
      throw new StoreError(
        `${path}: the store is damaged: ${damage}. Restore a backup with "opsd state restore FILE".`,
      );
    }
    await assertAudited(path, readHead(db));
    db.exec('PRAGMA synchronous = FULL');
    keepDigests(db);
    const change = (work: Work<unknown>): void => void transaction(db, () => database.now(work));
    const pairs = (sql: string): [string, unknown][] =>
      db
        .prepare(sql)
        .all()
        .map((row) => [String(row['key']), row['value']]);
    return {
      meta: new Map(pairs('SELECT key, value FROM meta').map(([key, value]) => [key, String(value)])),
      lastIds: new Map(
        pairs('SELECT name AS key, seq AS value FROM sqlite_sequence').map(([name, id]) => [name, Number(id)]),
      ),
      rows: (table) => sqliteRows(db, path, table),
      mark: (to) => change(markMoved(to)),
      unmark: () => change(unmarkMoved()),
      [Symbol.dispose]: () => lock[Symbol.dispose](),
    };
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

/** @throws {StoreError} */
export function assertSchema(version: number, place: string, newest = MIGRATIONS.length): void {
  if (version === newest) return;
  throw new StoreError(
    `${place}: the store has schema ${version}, and this program copies only schema ${newest}. ` +
      'Start and stop the daemon of this version once, which updates the store.',
  );
}

/** @throws {StoreError} if the chain is broken, or does not end with the record that the store knows */
async function assertAudited(path: string, known: ReturnType<typeof readHead>): Promise<void> {
  const log = auditPathOf(path);
  const verdict = await verifyAudit(log, { known }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const { finding, head, isTorn } = verdict ?? { finding: undefined, head: undefined, isTorn: false };
  if (verdict === undefined && known !== undefined) {
    throw new StoreError(`${log} is missing, and the store has ${known.sequence} records of it. Put it back.`);
  }
  if (finding !== undefined) {
    throw new StoreError(
      `${finding.file}:${finding.line}: ${finding.problem}. A store is copied only with its whole audit log. ` +
        'Put the original files and all segments back.',
    );
  }
  if (isTorn || head?.sequence !== known?.sequence) {
    throw new StoreError(
      `${log} ends with ${isTorn ? 'an incomplete record' : `record ${head?.sequence}`}, and the store has ` +
        `${known?.sequence ?? 0} records: the daemon was killed. Start it and stop it once, which completes the log.`,
    );
  }
}
