/** Store of the daily request budgets: one row for each API of an account. */
import type { RequestUseStore, StoredUse } from '#foundation/domain/request-use.ts';
import { all, run, type Database } from './database.ts';
import { type RowScope, WHOLE, accountsParameter, isOwn } from './scope.ts';

const PUT = `INSERT INTO request_use (account, api, day, used) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, api) DO UPDATE SET day = excluded.day, used = excluded.used`;

export function createRequestUseStore(
  { database }: { readonly database: Database },
  scope: RowScope = WHOLE,
): RequestUseStore {
  const select = `SELECT account, api, day, used FROM request_use WHERE ${isOwn(database.dialect, scope)}`;
  return {
    load: () => database.read(all<StoredUse>(select, accountsParameter(scope))),
    async save({ account, api, day, used }) {
      await database.transaction(run(PUT, account, api, day, used), account);
    },
  };
}
