/** Store of the admitted label values. It also retires the totals of evicted values. */
import type { LabelStore, LabelValue } from '#observe/aggregation/label-store.ts';
import { all, each, run } from './database.ts';
import { type RowScope, WHOLE, accountsParameter, changeByLease, isOwn, leaseFor } from './scope.ts';
import type { StoredTotals } from './totals.ts';
import type { Store } from './sqlite.ts';

const PUT = `INSERT INTO label_values (account, label, value, idle_ms) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, label, value) DO UPDATE SET idle_ms = excluded.idle_ms`;

export function createLabelStore(
  { database }: Pick<Store, 'database'>,
  totals: StoredTotals,
  scope: RowScope = WHOLE,
): LabelStore {
  const { dialect } = database;
  const select = `SELECT account, label, value, idle_ms AS "idleMs" FROM label_values WHERE ${isOwn(dialect, scope)} ORDER BY id`;
  const remove = `DELETE FROM label_values WHERE account = ?1 AND label = ?2 AND value IN ${dialect.members('?3')}`;
  return {
    load: () => database.read(all<LabelValue>(select, accountsParameter(scope))),
    async save(values) {
      // Replicas do not share the values of their own metrics, which have no account. The next owner saves its own.
      await changeByLease(
        database,
        values.filter(({ account }) => account !== '' || scope.accounts === undefined),
        ({ account }) => leaseFor(scope, account),
        (own) => each(PUT, own, ({ account, label, value, idleMs }) => [account, label, value, Math.round(idleMs)]),
      );
    },
    evict: (account, values, evicted) =>
      totals.retire(account, {
        values: values.flatMap(({ value, totals: places }) => places.map((place) => ({ ...place, value }))),
        *work() {
          for (const [label, ofLabel] of Map.groupBy(values, (one) => one.label)) {
            yield* run(remove, account, label, JSON.stringify(ofLabel.map(({ value }) => value)));
          }
        },
        committed: evicted,
      }),
  };
}
