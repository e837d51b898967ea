import { join } from 'node:path';
import { expect, test } from 'vitest';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { createSeriesStore } from '#storage/series-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { storedCounters } from '../support/stored-totals.ts';
import { tempDir } from '../support/temp-dir.ts';

const METRIC = 'msgsvc_account_used_messages_total';
const row = (record: string, series = '') => ({ subject: 'acc-1', source: 'used', series, record });

test('records and their increments both persist over a restart', async () => {
  const path = join(tempDir(), 'opsd.db');
  {
    using store = openStore(path);
    const series = createSeriesStore(store, createTotals(store));
    expect(await series.loadSeries('prod', ['acc-1'])).toEqual([]);
    await series.commitSeries({
      account: 'prod',
      increments: [{ metric: METRIC, labels: [], by: 3 }],
      records: [row('a')],
    });
    await series.commitSeries({
      account: 'prod',
      increments: [{ metric: METRIC, labels: [], by: 4 }],
      records: [row('b')],
    });
    await series.commitSeries({ account: 'other', increments: [], records: [row('c')] });
    await series.commitSeries({ account: 'prod', increments: [], records: [{ ...row('d'), subject: 'acc-2' }] });
  }
  using store = openStore(path);
  const totals = createTotals(store);
  expect(await createSeriesStore(store, totals).loadSeries('prod', ['acc-1'])).toEqual([row('b')]);
  expect(storedCounters(store, 'prod')).toEqual([{ metric: METRIC, labels: [], value: 7 }]);
});

test('a failed commit leaves neither', async () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const failures: string[] = [];
  const totals = createTotals(store, (error) => void failures.push(errorMessage(error)));
  const series = createSeriesStore(store, totals);
  const broken = { metric: METRIC, labels: [], by: null as unknown as number } as const;
  const commit = { account: 'prod', increments: [broken], records: [row('a')] };
  await expect(series.commitSeries(commit)).rejects.toThrow(/NOT NULL/);
  expect(failures).toHaveLength(1);
  expect(await series.loadSeries('prod', ['acc-1'])).toEqual([]);
  expect(storedCounters(store, 'prod')).toEqual([]);
});
