/**
 * Totals on SQLite. `commit` adds to them in the transaction of the calling aggregation and notifies the listeners afterwards.
 * So exported values are durable.
 */
import type { SQLOutputValue } from 'node:sqlite';
import {
  RETIRED,
  type CounterValue,
  type HistogramIncrement,
  type HistogramValue,
  type Increment,
  type TotalsAdded,
  type TotalsStore,
} from '#observe/aggregation/totals.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { transaction } from './sqlite-transaction.ts';
import type { Store } from './sqlite.ts';

export interface SqliteTotals extends TotalsStore {
  /**
   * Adds to totals and runs `work`, in one transaction.
   *
   * @throws {Error} if the write fails; nothing is written then
   */
  commit(added: Partial<TotalsAdded> & Pick<TotalsAdded, 'account'>, work: () => void): void;
  /** Returns the values of one counter of an account. */
  countersOf(account: string, metric: string): readonly CounterValue[];
  /** Moves the totals of a label's value to `RETIRED`, within the caller's transaction. Listeners are not notified. */
  retire(what: Retirement): void;
}

interface Retirement {
  readonly account: string;
  readonly metric: string;
  /** Position of the label among the metric's labels. */
  readonly index: number;
  readonly value: string;
}

/**
 * @param onFailure called with the error of a commit, before it is thrown
 * @param onSaved called after each commit
 */
export function createTotals(
  { db }: Store,
  onFailure: (message: string) => void = () => undefined,
  onSaved: () => void = () => undefined,
): SqliteTotals {
  const listeners = new Set<(added: TotalsAdded) => void>();
  const addToCounter = db.prepare(
    'INSERT INTO counters (account, metric, labels, value) VALUES (?, ?, ?, ?) ' +
      'ON CONFLICT (account, metric, labels) DO UPDATE SET value = value + excluded.value',
  );
  const selectCounters = db.prepare(
    'SELECT metric, labels, value FROM counters WHERE account = ? ORDER BY metric, labels',
  );
  const selectHistogram = db.prepare(
    'SELECT buckets, sum FROM histograms WHERE account = ? AND metric = ? AND labels = ?',
  );
  const putHistogram = db.prepare(
    'INSERT OR REPLACE INTO histograms (account, metric, labels, buckets, sum) VALUES (?, ?, ?, ?, ?)',
  );
  const selectHistograms = db.prepare(
    'SELECT metric, labels, buckets, sum FROM histograms WHERE account = ? ORDER BY metric, labels',
  );

  const selectCountersOf = db.prepare('SELECT labels, value FROM counters WHERE account = ? AND metric = ?');
  const deleteCounter = db.prepare('DELETE FROM counters WHERE account = ? AND metric = ? AND labels = ?');
  const selectHistogramsOf = db.prepare('SELECT labels, buckets, sum FROM histograms WHERE account = ? AND metric = ?');
  const deleteHistogram = db.prepare('DELETE FROM histograms WHERE account = ? AND metric = ? AND labels = ?');

  function addHistogram(account: string, { metric, labels, buckets, sum }: HistogramValue): void {
    const key = JSON.stringify(labels);
    const row = selectHistogram.get(account, metric, key);
    const before = row === undefined ? [] : (JSON.parse(String(row['buckets'])) as number[]);
    const after = buckets.map((count, index) => count + (before[index] ?? 0));
    putHistogram.run(account, metric, key, JSON.stringify(after), sum + Number(row?.['sum'] ?? 0));
  }

  function addAll(account: string, increments: readonly Increment[], histograms: readonly HistogramIncrement[]): void {
    for (const { metric, labels, by } of increments) addToCounter.run(account, metric, JSON.stringify(labels), by);
    for (const histogram of histograms) addHistogram(account, histogram);
  }

  function retire({ account, metric, index, value }: Retirement): void {
    const moved = (row: Record<string, SQLOutputValue>): string[] | undefined => {
      const labels = JSON.parse(String(row['labels'])) as string[];
      return labels[index] === value ? labels.with(index, RETIRED) : undefined;
    };
    for (const row of selectCountersOf.all(account, metric)) {
      const labels = moved(row);
      if (labels === undefined) continue;
      addToCounter.run(account, metric, JSON.stringify(labels), Number(row['value']));
      deleteCounter.run(account, metric, String(row['labels']));
    }
    for (const row of selectHistogramsOf.all(account, metric)) {
      const labels = moved(row);
      if (labels === undefined) continue;
      const buckets = JSON.parse(String(row['buckets'])) as number[];
      addHistogram(account, { metric, labels, buckets, sum: Number(row['sum']) });
      deleteHistogram.run(account, metric, String(row['labels']));
    }
  }

  const store: SqliteTotals = {
    retire,
    add: (account, increments) => store.commit({ account, increments }, () => undefined),
    commit({ account, increments = [], histograms = [] }, work) {
      try {
        transaction(db, () => {
          work();
          addAll(account, increments, histograms);
        });
      } catch (error) {
        onFailure(errorMessage(error));
        throw error;
      }
      onSaved();
      if (increments.length === 0 && histograms.length === 0) return;
      for (const listener of listeners) listener({ account, increments, histograms });
    },
    counters: (account) => selectCounters.all(account).map((row) => counterOf(String(row['metric']), row)),
    countersOf: (account, metric) => selectCountersOf.all(account, metric).map((row) => counterOf(metric, row)),
    histograms: (account): readonly HistogramValue[] =>
      selectHistograms.all(account).map((row) => ({
        metric: String(row['metric']),
        labels: JSON.parse(String(row['labels'])) as string[],
        buckets: JSON.parse(String(row['buckets'])) as number[],
        sum: Number(row['sum']),
      })),
    onAdded(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
  return store;
}

function counterOf(metric: string, row: Record<string, SQLOutputValue>): CounterValue {
  return { metric, labels: JSON.parse(String(row['labels'])) as string[], value: Number(row['value']) };
}
