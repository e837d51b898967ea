/** Content of a store on SQLite: random rows for every table, and all of it as plain data. */
import { readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import fc from 'fast-check';
import { auditPathOf, segmentsOf } from '#automate/ledger/audit-reader.ts';
import { openStore } from '#storage/sqlite.ts';

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** Table of which this is an id. */
  readonly parent: string | null;
}

type Content = Readonly<Record<string, readonly (readonly SQLInputValue[])[]>>;

const COLUMNS = `SELECT t.name AS "table", c.name AS "column", c.type AS type, c."notnull" OR c.pk > 0 AS required,
    (SELECT "table" FROM pragma_foreign_key_list(t.name) WHERE "from" = c.name) AS parent
  FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
  WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' AND t.name NOT IN ('meta', 'table_digests')
  ORDER BY t.rowid, c.cid`;

function columnsOf(path: string): ReadonlyMap<string, readonly Column[]> {
  using db = new DatabaseSync(path);
  const columns = db.prepare(COLUMNS).all();
  const typed = columns.map(({ table, column, type, required, parent }) => ({
    table: String(table),
    column: String(column),
    type: String(type),
    isRequired: required === 1,
    parent: parent as string | null,
  }));
  return Map.groupBy(typed, ({ table }) => table);
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\0', 'a\0b', '\uFDD0', '\uFDD00\uFDD0E', '\u{1F680}'),
);

const VALUES: Readonly<Record<string, fc.Arbitrary<SQLInputValue>>> = {
  INTEGER: fc.oneof(fc.constantFrom(0, 1, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER), fc.maxSafeInteger()),
  REAL: fc.double({ noNaN: true }),
  BLOB: fc.uint8Array({ maxLength: 40 }),
  TEXT: text,
};

function valueOf({ column, type, isRequired, parent }: Column): fc.Arbitrary<SQLInputValue> {
  if (parent !== null || column === 'id') return fc.integer({ min: 1, max: 5 });
  if (column === 'items') return fc.integer({ min: 1, max: 9 });
  return isRequired ? VALUES[type]! : fc.option(VALUES[type]!);
}

/** Generates rows for every table. Rows that violate a constraint are left out, but never the first one. */
export function storeContent(path: string): fc.Arbitrary<Content> {
  const tables = [...columnsOf(path)].map(
    ([table, columns]) =>
      [table, fc.array(fc.tuple(...columns.map(valueOf)), { minLength: 1, maxLength: 6, size: 'max' })] as const,
  );
  return fc.record(Object.fromEntries(tables));
}

/** Replaces the content of all tables. */
export function fill(path: string, content: Content): void {
  const columns = columnsOf(path);
  using store = openStore(path);
  const { db } = store;
  for (const table of [...columns.keys()].toReversed()) db.exec(`DELETE FROM "${table}"`);
  for (const [table, list] of columns) {
    const insert = db.prepare(
      `INSERT OR IGNORE INTO "${table}" (${list.map(({ column }) => `"${column}"`).join(', ')})
       VALUES (${list.map(parameterOf).join(', ')})`,
    );
    for (const row of content[table]!) insert.run(...row);
  }
}

/** An id of another table is one that it has. */
function parameterOf({ parent }: Column, index: number): string {
  const value = `?${index + 1}`;
  if (parent === null) return value;
  return `(SELECT id FROM "${parent}" ORDER BY id LIMIT 1 OFFSET ${value} % (SELECT count(*) FROM "${parent}"))`;
}

/** Returns all rows, ids and records of a store. */
export function contentOf(path: string): Readonly<Record<string, unknown>> {
  using db = new DatabaseSync(path);
  const tables = [...columnsOf(path)].map(([table, columns]) => {
    const order = columns.map((_, index) => index + 1).join(', ');
    return [table, db.prepare(`SELECT * FROM "${table}" ORDER BY ${order}`).all()];
  });
  const log = auditPathOf(path);
  return {
    ...Object.fromEntries(tables),
    meta: db.prepare(`SELECT * FROM meta WHERE key NOT IN ('moved_to', 'epoch') ORDER BY key`).all(),
    lastIds: db.prepare('SELECT * FROM sqlite_sequence WHERE seq > 0 ORDER BY name').all(),
    audit: [...segmentsOf(log), log].map((file) => readFileSync(file, 'utf8')).join(''),
  };
}
