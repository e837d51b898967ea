/** Store of the statistics aggregations: one transaction per commit, one row per series. */
import type { SeriesRecord, SeriesStore } from '#observe/aggregation/series-store.ts';
import { all, each } from './database.ts';
import type { StoredTotals } from './totals.ts';
import type { Store } from './sqlite.ts';

const PUT = `INSERT INTO series_aggregation (account, subject, source, series, record) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (account, subject, source, series) DO UPDATE SET record = excluded.record`;

export function createSeriesStore({ database }: Pick<Store, 'database'>, totals: StoredTotals): SeriesStore {
  const select = `SELECT subject, source, series, record FROM series_aggregation
    WHERE account = ?1 AND subject IN ${database.dialect.members('?2')} ORDER BY subject, source, series`;
  return {
    loadSeries: (account, subjects) => database.read(all<SeriesRecord>(select, account, JSON.stringify(subjects))),
    async commitSeries({ account, increments, records }) {
      const work = each(PUT, records, ({ subject, source, series, record }) => {
        return [account, subject, source, series, record];
      });
      await totals.commit(account, () => ({ increments, work }));
    },
  };
}
