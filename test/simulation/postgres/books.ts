/** Statements of the checks, which are written for SQLite, on PGlite. */
import type { Books } from '../subject.ts';
import type { Row, Session } from './session.ts';

export function booksOf(session: Session): Books {
  const rows = (sql: string, values: readonly (string | number)[]): readonly Row[] => {
    const left = values.map((value) =>
      typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`,
    );
    return session.rows(sql.replaceAll('?', () => left.shift()!));
  };
  return {
    isTransaction: false,
    prepare: (sql) => ({ all: (...values) => rows(sql, values), get: (...values) => rows(sql, values)[0] }),
  };
}
