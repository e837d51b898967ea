/** Removal of delivered rows from an outbox. */
import { all, type Database, type Work } from './database.ts';
import { leaseFor, type Scope } from './scope.ts';
import { changeByLease, type Changed } from './scoped-rows.ts';

interface Settled {
  readonly scope: Scope;
  readonly table: 'span_outbox' | 'delivery_lines';
  readonly ids: readonly number[];
}

/** Removes rows of an outbox. Without replicas, this is one transaction. Otherwise it is one for each lease. */
export async function settleByLease<R>(
  database: Database,
  { scope, table, ids }: Settled,
  remove: (ids: readonly number[]) => Work<R>,
): Promise<Changed<R>> {
  const accounts = scope.accounts === undefined ? undefined : await accountsOfRows(database, table, ids);
  const leaseOf = (id: number) => accounts && leaseFor(scope, accounts.get(id) ?? '');
  return changeByLease(database, ids, leaseOf, remove);
}

async function accountsOfRows(
  database: Database,
  table: Settled['table'],
  ids: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const select = `SELECT id, account FROM ${table} WHERE id IN ${database.dialect.numbers('?1')}`;
  const rows = await database.read(all(select, JSON.stringify(ids)));
  return new Map(rows.map(({ id, account }) => [Number(id), String(account)]));
}
