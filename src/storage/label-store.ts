/** Store of the admitted label values. It also retires the totals of evicted values. */
import type { LabelStore } from '#observe/aggregation/label-store.ts';
import { all, each, run } from './database.ts';
import type { StoredTotals } from './totals.ts';
import type { Store } from './sqlite.ts';

const SELECT = 'SELECT account, label, value, idle_ms FROM label_values ORDER BY id';
const PUT = `INSERT INTO label_values (account, label, value, idle_ms) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, label, value) DO UPDATE SET idle_ms = excluded.idle_ms`;

export function createLabelStore({ database }: Pick<Store, 'database'>, totals: StoredTotals): LabelStore {
  const remove = `DELETE FROM label_values WHERE account = ?1 AND label = ?2 AND value IN ${database.dialect.members('?3')}`;
  return {
    async load() {
      const rows = await database.read(all(SELECT));
      return rows.map(({ account, label, value, idle_ms: idleMs }) => ({
        account: String(account),
        label: String(label),
        value: String(value),
        idleMs: Number(idleMs),
      }));
    },
    async save(values) {
      if (values.length === 0) return;
      const rows = values.map(({ account, label, value, idleMs }) => [account, label, value, Math.round(idleMs)]);
      await database.transaction(each(PUT, rows));
    },
    evict: (account, values, evicted) =>
      totals.retire(account, {
        values: values.flatMap(({ value, totals: places }) => places.map((place) => ({ ...place, value }))),
        work: (function* () {
          for (const [label, ofLabel] of Map.groupBy(values, (one) => one.label)) {
            yield* run(remove, account, label, JSON.stringify(ofLabel.map(({ value }) => value)));
          }
        })(),
        committed: evicted,
      }),
  };
}
