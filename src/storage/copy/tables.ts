/** Tables that a copy has: those of the schema of SQLite. The identity of the store is in `meta`. */
import { DatabaseSync } from 'node:sqlite';
import type { Row, Value } from '../database.ts';
import { SCHEMA } from '../schema.ts';
import { StoreError } from '../store-error.ts';

export type Values = readonly Value[];

export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Positions of the columns with integers. */
  readonly integers: readonly number[];
  /** `SELECT` of all columns, in their order. */
  readonly select: string;
  readonly insert: string;
}

/** The audit log as a table of lines. SQLite has it in files, and PostgreSQL has it in a table with more columns. */
export const AUDIT: CopiedTable = {
  name: 'audit log',
  columns: ['record'],
  integers: [],
  select: 'SELECT record FROM audit ORDER BY sequence',
  insert: 'INSERT INTO audit (sequence, at, type, account, policy, record, hash) VALUES (?, ?, ?, ?, ?, ?, ?)',
};

/** Returns the tables, those that others refer to first, and the audit log. */
export function copiedTables(): readonly CopiedTable[] {
  using db = new DatabaseSync(':memory:');
  db.exec(SCHEMA);
  const rows = db
    .prepare(
      `SELECT t.name AS name, c.name AS column_name, c.type AS type
       FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' AND t.name <> 'meta' ORDER BY t.rowid, c.cid`,
    )
    .all()
    .map((row) => ({ name: String(row['name']), column: String(row['column_name']), type: row['type'] }));
  const tables = [...Map.groupBy(rows, ({ name }) => name)].map(([name, parts]): CopiedTable => {
    const columns = parts.map(({ column }) => column);
    const list = columns.map((column) => `"${column}"`).join(', ');
    return {
      name,
      columns,
      integers: parts.flatMap(({ type }, index) => (type === 'INTEGER' ? [index] : [])),
      select: `SELECT ${list} FROM "${name}"`,
      insert: `INSERT INTO "${name}" (${list}) VALUES (${columns.map(() => '?').join(', ')})`,
    };
  });
  return [...tables, AUDIT];
}

/**
 * Returns the values of a row in the order of the columns.
 *
 * @throws {StoreError} if an integer is too large to be copied exactly
 */
export function valuesOf({ name, columns, integers }: CopiedTable, row: Row): Values {
  const values = columns.map((column) => row[column]!);
  for (const index of integers) {
    if (values[index] === null || Number.isSafeInteger(values[index])) continue;
    throw new StoreError(
      `column ${columns[index]} of table ${name} has ${String(values[index])}, which opsd does not write`,
    );
  }
  return values;
}
