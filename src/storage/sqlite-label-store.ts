/** Store of the admitted label values on SQLite. It also retires the totals of evicted values. */
import type { LabelStore } from '#observe/aggregation/label-store.ts';
import type { SqliteTotals } from './sqlite-totals.ts';
import { transaction } from './sqlite-transaction.ts';
import type { Store } from './sqlite.ts';

export function createLabelStore({ db }: Store, totals: SqliteTotals): LabelStore {
  const select = db.prepare('SELECT account, label, value, idle_ms FROM label_values ORDER BY id');
  const put = db.prepare(
    'INSERT INTO label_values (account, label, value, idle_ms) VALUES (?, ?, ?, ?) ' +
      'ON CONFLICT (account, label, value) DO UPDATE SET idle_ms = excluded.idle_ms',
  );
  const remove = db.prepare('DELETE FROM label_values WHERE account = ? AND label = ? AND value = ?');
  return {
    load: () =>
      select.all().map((row) => ({
        account: String(row['account']),
        label: String(row['label']),
        value: String(row['value']),
        idleMs: Number(row['idle_ms']),
      })),
    save(values) {
      if (values.length === 0) return;
      transaction(db, () => {
        for (const { account, label, value, idleMs } of values) put.run(account, label, value, Math.round(idleMs));
      });
    },
    evict(values) {
      if (values.length === 0) return;
      transaction(db, () => {
        for (const { account, label, value, totals: places } of values) {
          remove.run(account, label, value);
          for (const { metric, index } of places) totals.retire({ account, metric, index, value });
        }
      });
    },
  };
}
