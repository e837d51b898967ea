/**
 * The database below all stores. The work of a transaction is a generator: it yields statements, and the database
 * resumes it with their results. SQLite runs it in one go, so nothing comes between its statements. PostgreSQL sends
 * one statement after the other. The same SQL serves both, except for the expressions of `Dialect`.
 *
 * SQL has numbered parameters (`?1`) or positional ones (`?`), never both in one statement. Values have the types of
 * `Value` in both databases: a JSON column is its text, and an integer is a number.
 */

export type Value = string | number | null | Uint8Array;
export type Row = Readonly<Record<string, Value>>;

/** Statement to run: once, or once for each row of values. */
export interface Statement {
  readonly sql: string;
  readonly rows: readonly (readonly Value[])[];
  /** True if nothing reads its outcome. */
  readonly isUnread?: true;
}

export interface Outcome {
  /** Rows of the last execution. */
  readonly rows: readonly Row[];
  /** Number of rows that all executions changed. */
  readonly changes: number;
}

/** Statements with their results, and what follows from them. */
export type Work<T> = Generator<Statement, T, Outcome>;

/** Work, or the generator function that makes it. */
export type Job<T> = Work<T> | (() => Work<T>);

export function workOf<T>(job: Job<T>): Work<T> {
  return typeof job === 'function' ? job() : job;
}

/** Expressions that differ between the databases. */
export interface Dialect {
  /** Subquery of the texts in a JSON array: `IN ${members('?1')}`. */
  readonly members: (parameter: string) => string;
  /** Table `wanted` with a column `value`: the texts in a JSON array, for a join that looks up each of them. */
  readonly wanted: (parameter: string) => string;
  /** Subquery of the integers in a JSON array. */
  readonly numbers: (parameter: string) => string;
  /** Integer in a JSON text by the name of its member; NULL if it is missing. */
  readonly jsonNumber: (text: string, member: string) => string;
  /** Position of a text in another, from 1; 0 if it is missing. */
  readonly position: (text: string, part: string) => string;
  /** End of a `SELECT` that locks its rows until the end of the transaction. */
  readonly locked: string;
}

export interface Database {
  readonly dialect: Dialect;
  /** Runs work that only reads. PostgreSQL may show each statement a newer state. */
  read<T>(job: Job<T>): Promise<T>;
  /**
   * Gives `use` a database whose reads see the store at one moment. With PostgreSQL, they share a transaction, and reads
   * that begin together are sent together. With SQLite, reads that begin in one turn of the event loop see one moment.
   * A view within a view is the same one.
   *
   * @param signal ends the view of a request: it rejects, and sends no more statements. The number of these is limited.
   */
  view<T>(use: (database: Database) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Runs work in one transaction: all of it is durable when the promise resolves, and none of it if it rejects.
   *
   * @param accounts accounts that the work changes. With replicas, the transaction fails if another one owns one of them.
   */
  transaction<T>(job: Job<T>, accounts?: string | readonly string[]): Promise<T>;
}

/** Returns all rows of a query, whose columns have the names and types of the properties of `R`. */
export function* all<R = Row>(sql: string, ...values: readonly Value[]): Work<readonly R[]> {
  const { rows } = yield { sql, rows: [values] };
  return rows as readonly unknown[] as readonly R[];
}

/** Returns the first row of a query, or of the `RETURNING` of a change. */
export function* get<R = Row>(sql: string, ...values: readonly Value[]): Work<R | undefined> {
  return (yield* all<R>(sql, ...values))[0];
}

/** Returns the values of the column `record`, which is JSON, of all rows of a query. */
export function* records<T>(sql: string, ...values: readonly Value[]): Work<readonly T[]> {
  const rows = yield* all<{ readonly record: string }>(sql, ...values);
  return rows.map(({ record }) => JSON.parse(record) as T);
}

/** Row whose properties are NULL if they are absent. */
export type Nullable<T> = {
  readonly [K in keyof T]-?: Exclude<T[K], undefined> | (undefined extends T[K] ? null : never);
};

/** Returns a row without the properties that are NULL. */
export function withoutNulls<T extends object>(row: Nullable<T>): T {
  const known: Record<string, unknown> = {};
  // A loop, because stores load hundreds of thousands of rows.
  for (const [name, value] of Object.entries(row)) if (value !== null) known[name] = value;
  return known as T;
}

/** @returns the number of changed rows */
export function* run(sql: string, ...values: readonly Value[]): Work<number> {
  const { changes } = yield { sql, rows: [values] };
  return changes;
}

/**
 * Runs a statement once for each item, with the values that `valuesOf` returns. An `INSERT` has one `VALUES` list with a
 * `?` for each column, because PostgreSQL gets many rows in one statement. Its rows have different keys if it has an
 * `ON CONFLICT … DO UPDATE`.
 *
 * @returns the number of changed rows
 */
export function* each<T>(sql: string, items: Iterable<T>, valuesOf: (item: T) => readonly Value[]): Work<number> {
  const rows = Array.from(items, valuesOf);
  if (rows.length === 0) return 0;
  const { changes } = yield { sql, rows };
  return changes;
}

/**
 * Runs a statement once for each row of values, as `each` does, without an outcome. PostgreSQL gets the next statement at
 * once; an error is that of a later statement, or of the commit.
 */
export function* put(sql: string, rows: Iterable<readonly Value[]>): Work<void> {
  const all = [...rows];
  if (all.length > 0) yield { sql, rows: all, isUnread: true };
}
