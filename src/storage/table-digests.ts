/**
 * Checksums of the content of each table. SQLite detects malformed pages, but not changed values in a valid page.
 * Triggers of the connection maintain the sum of the checksums of a table's rows, in the transaction that writes the
 * rows. The sum shows changed, lost and stale rows, in any order.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';

/** Mask that keeps sums within the exact integers of JavaScript. */
const MASK = 2 ** 52 - 1;

/** Table of the schema. The positions of pages are not part of its checksum. */
const SCHEMA = 'sqlite_schema';
const SCHEMA_COLUMNS = ['type', 'name', 'tbl_name', 'sql'];

/** Keeps the checksums up to date with all later writes of this connection. */
export function keepDigests(db: DatabaseSync): void {
  // Otherwise, rows that a REPLACE removes fire no trigger.
  db.exec('PRAGMA recursive_triggers = ON');
  const triggers = [...tables(db)].map(([table, columns]) => {
    const [old, now] = [rowDigest(columns, 'OLD.'), rowDigest(columns, 'NEW.')];
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
  // One statement, because a new store has 40 tables.
  const digests = [...digested(db)].map(
    ([table, columns]) => `SELECT '${table}', ${digestOfAll(columns)} FROM main.${table}`,
  );
  db.exec(`INSERT INTO table_digests (name, digest) ${digests.join(' UNION ALL ')}`);
}

/** Returns the tables whose content differs from their checksum. */
export function changedTables(db: DatabaseSync): readonly string[] {
  if (db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'table_digests'`).get() === undefined)
    return ['table_digests'];
  registerFunction(db);
  const rows = db.prepare('SELECT name, digest FROM table_digests').all();
  const known = new Map(rows.map((row) => [String(row['name']), Number(row['digest'])]));
  const changed = [...digested(db)]
    .filter(([table, columns]) => known.get(table) !== digestOf(db, table, columns))
    .map(([table]) => table);
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

/** Returns the checksum; undefined for a table that cannot be read. */
function digestOf(db: DatabaseSync, table: string, columns: readonly string[]): number | undefined {
  try {
    return Number(db.prepare(`SELECT ${digestOfAll(columns)} AS digest FROM main.${table}`).get()?.['digest']);
  } catch {
    return undefined;
  }
}

function digestOfAll(columns: readonly string[]): string {
  return `coalesce(sum(${rowDigest(columns)}), 0) & ${MASK}`;
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

/** Returns the columns of each table with a checksum. */
function digested(db: DatabaseSync): ReadonlyMap<string, readonly string[]> {
  return new Map([[SCHEMA, SCHEMA_COLUMNS], ...tables(db)]);
}

/** Returns the columns of each table, in one query: a start needs them twice. */
function tables(db: DatabaseSync): ReadonlyMap<string, readonly string[]> {
  const rows = db
    .prepare(
      `SELECT tables.name AS name, columns.name AS column_name
       FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
       WHERE tables.type = 'table' ORDER BY tables.name, columns.cid`,
    )
    .all()
    .map((row) => ({ table: String(row['name']), column: String(row['column_name']) }))
    .filter(({ table }) => table !== 'table_digests' && !table.startsWith('sqlite_'));
  const byTable = Map.groupBy(rows, ({ table }) => table);
  return new Map([...byTable].map(([table, columns]) => [table, columns.map(({ column }) => column)]));
}
