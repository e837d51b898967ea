/** Database on SQLite. The connection runs the work of a transaction in one go. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { workOf, type Database, type Dialect, type Job, type Outcome, type Row, type Statement } from './database.ts';
import { transaction } from './sqlite-transaction.ts';

const SQLITE: Dialect = {
  members: (parameter) => `(SELECT value FROM json_each(${parameter}))`,
  wanted: (parameter) => `json_each(${parameter}) AS wanted`,
  numbers: (parameter) => `(SELECT value FROM json_each(${parameter}))`,
  jsonNumber: (text, member) => `json_extract(${text}, '$.${member}')`,
  position: (text, part) => `instr(${text}, ${part})`,
  // Only one transaction writes at a time.
  locked: '',
};

interface Prepared {
  readonly statement: StatementSync;
  /** True for a query, and for a change that returns its rows. */
  readonly hasRows: boolean;
}

export interface SqliteDatabase extends Database {
  /** Runs work now, within the caller's transaction if there is one. */
  now<T>(job: Job<T>): T;
}

export function createSqliteDatabase(db: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, Prepared>();

  function execute({ sql, rows }: Statement): Outcome {
    const { statement, hasRows } = getOrAdd(prepared, sql, () => ({
      statement: db.prepare(sql),
      hasRows: returnsRows(sql),
    }));
    if (hasRows) {
      let found: readonly Row[] = [];
      for (const values of rows) found = statement.all(...values) as readonly Row[];
      return { rows: found, changes: found.length };
    }
    let changes = 0;
    for (const values of rows) changes += Number(statement.run(...values).changes);
    return { rows: [], changes };
  }

  function now<T>(job: Job<T>): T {
    const work = workOf(job);
    let step = work.next();
    while (step.done !== true) {
      let outcome: Outcome;
      try {
        outcome = execute(step.value);
      } catch (error) {
        step = work.throw(error);
        continue;
      }
      step = work.next(outcome);
    }
    return step.value;
  }

  const database: SqliteDatabase = {
    dialect: SQLITE,
    now,
    read: async (job) => now(job),
    async view(use, signal) {
      signal?.throwIfAborted();
      return use(database);
    },
    transaction: async (job) => transaction(db, () => now(job)),
  };
  return database;
}

function returnsRows(sql: string): boolean {
  return /^\s*(?:SELECT|WITH)\b|\bRETURNING\b/.test(sql);
}
