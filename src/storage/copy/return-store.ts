/**
 * Makes a moved store usable again. The daemon acts on it only after an operator has adopted it: it lacks the actions
 * that followed on the other store.
 */
import type { Work } from '../database.ts';
import { MUST_ADOPT } from '../ledger-trust.ts';
import { addMeta } from '../meta.ts';
import { movedTo, unmarkMoved } from '../moved-store.ts';
import type { PostgresDatabase } from '../postgres/postgres-database.ts';
import { createSqliteDatabase } from '../sqlite-database.ts';
import { transaction } from '../sqlite-transaction.ts';
import { assertFilled, lockStore } from '../sqlite.ts';
import { StoreError } from '../store-error.ts';
import { keepDigests } from '../table-digests.ts';
import { existsSync } from 'node:fs';
import { assertSchemaOf } from './postgres-end.ts';

/** @returns place of the other store; undefined if the store was not moved */
export function returnToSqlite(path: string): string | undefined {
  if (!existsSync(path)) throw new StoreError(`${path} does not exist.`);
  using lock = lockStore(path);
  const { db } = lock;
  assertFilled(db, path);
  keepDigests(db);
  return transaction(db, () => createSqliteDatabase(db).now(returned()));
}

/** @returns place of the other store; undefined if the store was not moved */
export function returnToPostgres(database: PostgresDatabase): Promise<string | undefined> {
  return database.transaction(function* () {
    yield* assertSchemaOf(database.place);
    return yield* returned();
  });
}

function* returned(): Work<string | undefined> {
  const to = yield* movedTo();
  if (to === undefined) return undefined;
  yield* unmarkMoved();
  yield* addMeta(MUST_ADOPT, `the store had been moved to ${to}, and lacks the actions that followed there`);
  return to;
}
