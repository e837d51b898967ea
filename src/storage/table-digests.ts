/**
 * Checksums of the content of each table. SQLite detects malformed pages, but not changed values in a valid page.
 * Triggers of the connection maintain the sum of the checksums of a table's rows, in the transaction that writes the
 * rows. The sum shows changed, lost and stale rows, in any order.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { isMarked } from './store-identity.ts';

/** Mask that keeps sums within the exact integers of JavaScript. */
const MASK = 2 ** 52 - 1;

/** Table of the schema. The positions of pages are not part of its checksum. */
const SCHEMA = 'sqlite_schema';
const SCHEMA_COLUMNS = ['type', 'name', 'tbl_name', 'sql'];

/** Keeps the checksums, if the store has them, up to date with all later writes of this connection. */
export function keepDigests(db: DatabaseSync): void {
  if (!hasDigests(db)) return;
  // Otherwise, rows that a REPLACE removes fire no trigger.
  db.exec('PRAGMA recursive_triggers = ON');
  const triggers = tables(db).map((table) => {
    const [old, now] = [rowDigest(columns(db, table), 'OLD.'), rowDigest(columns(db, table), 'NEW.')];
    const add = (change: string): string =>
      `UPDATE table_digests SET digest = (digest ${change}) & ${MASK} WHERE name = '${table}'; END`;
    return `
      CREATE TEMP TRIGGER inserted_${table} AFTER INSERT ON main.${table} BEGIN ${add(`+ ${now}`)};
      CREATE TEMP TRIGGER deleted_${table} AFTER DELETE ON main.${table} BEGIN ${add(`- ${old}`)};
      CREATE TEMP TRIGGER updated_${table} AFTER UPDATE ON main.${table} BEGIN ${add(`- ${old} + ${now}`)};`;
  });
  registerFunction(db);
  db.exec(triggers.join(''));
}

/** Sets the checksums to the current content, within the caller's transaction. */
export function resetDigests(db: DatabaseSync): void {
  registerFunction(db);
  db.exec('DROP TABLE IF EXISTS table_digests');
  db.exec('CREATE TABLE table_digests (name TEXT PRIMARY KEY, digest INTEGER NOT NULL) STRICT, WITHOUT ROWID');
  const insert = db.prepare('INSERT INTO table_digests (name, digest) VALUES (?, ?)');
  for (const table of [SCHEMA, ...tables(db)]) insert.run(table, digestOf(db, table));
}

/** Returns the tables whose content differs from their checksum; empty for a store without checksums. */
export function changedTables(db: DatabaseSync): readonly string[] {
  // A store with the mark of this program got its checksums in the same transaction.
  if (!hasDigests(db)) return isMarked(db) ? ['table_digests'] : [];
  registerFunction(db);
  const rows = db.prepare('SELECT name, digest FROM table_digests').all();
  const known = new Map(rows.map((row) => [String(row['name']), Number(row['digest'])]));
  const changed = [SCHEMA, ...tables(db)].filter((table) => known.get(table) !== digestOrNone(db, table));
  return hasSequences(db) ? changed : [...changed, 'sqlite_sequence'];
}

/**
 * Returns true if the last ids of tables are valid. No trigger can observe them. A higher one is harmless; a lower one
 * would assign an id twice.
 */
function hasSequences(db: DatabaseSync): boolean {
  const own = db.prepare(`SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'`).all();
  const ids = own.map(({ name }) => `SELECT '${String(name)}' AS name, max(id) AS id FROM main.${String(name)}`);
  const wrong = db.prepare(
    `WITH ids AS (${ids.join(' UNION ALL ')})
     SELECT 1 FROM ids WHERE id > coalesce((SELECT seq FROM sqlite_sequence s WHERE s.name = ids.name), 0)
     UNION ALL SELECT 1 FROM sqlite_sequence WHERE typeof(seq) <> 'integer' OR name NOT IN (SELECT name FROM ids)`,
  );
  return wrong.get() === undefined;
}

/** Returns true if the store has checksums. Stores of 0.1.0 have none. */
export function hasDigests(db: DatabaseSync): boolean {
  return db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'table_digests'`).get() !== undefined;
}

/** Returns the checksum; undefined for a table that cannot be read. */
function digestOrNone(db: DatabaseSync, table: string): number | undefined {
  try {
    return digestOf(db, table);
  } catch {
    return undefined;
  }
}

function digestOf(db: DatabaseSync, table: string): number {
  const names = table === SCHEMA ? SCHEMA_COLUMNS : columns(db, table);
  const row = db.prepare(`SELECT coalesce(sum(${rowDigest(names)}), 0) & ${MASK} AS digest FROM main.${table}`).get();
  return Number(row?.['digest']);
}

function rowDigest(names: readonly string[], prefix = ''): string {
  return `row_digest(${names.map((name) => prefix + name).join(', ')})`;
}

function registerFunction(db: DatabaseSync): void {
  db.function('row_digest', { varargs: true, deterministic: true }, (...values) => crc32(encoded(values)));
}

/** Returns a text that is unique to these values. */
function encoded(values: readonly SQLOutputValue[]): string {
  let text = '';
  for (const value of values) {
    if (typeof value === 'string') text += `${value.length}:${value}`;
    else if (value instanceof Uint8Array) text += `x${crc32(value)};`;
    else text += `${value};`;
  }
  return text;
}

function tables(db: DatabaseSync): readonly string[] {
  return db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
    .all()
    .map((row) => String(row['name']))
    .filter((name) => name !== 'table_digests' && !name.startsWith('sqlite_'));
}

function columns(db: DatabaseSync, table: string): readonly string[] {
  return db
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map((row) => String(row['name']));
}
