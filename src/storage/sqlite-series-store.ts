/** Store of the statistics aggregations on SQLite: one transaction per commit, one row per series. */
import type { SeriesStore } from '#observe/aggregation/series-store.ts';
import type { SqliteTotals } from './sqlite-totals.ts';
import type { Store } from './sqlite.ts';

export function createSeriesStore({ db }: Store, totals: SqliteTotals): SeriesStore {
  const select = db.prepare(
    'SELECT source, series, record FROM series_aggregation WHERE account = ? AND subject = ? ORDER BY source, series',
  );
  const upsert = db.prepare(
    'INSERT OR REPLACE INTO series_aggregation (account, subject, source, series, record) VALUES (?, ?, ?, ?, ?)',
  );
  return {
    loadSeries: (account, subject) =>
      select.all(account, subject).map((row) => ({
        subject,
        source: String(row['source']),
        series: String(row['series']),
        record: String(row['record']),
      })),
    commitSeries({ account, increments, records }) {
      totals.commit({ account, increments }, () => {
        for (const { subject, source, series, record } of records) upsert.run(account, subject, source, series, record);
      });
    },
  };
}
