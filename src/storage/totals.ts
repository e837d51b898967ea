/**
 * Store of the totals. `commit` adds to them in the transaction of the calling aggregation and reports it to the feeds
 * afterwards. So exported values are durable. The changes of an account are decided and committed one after the other.
 */
import {
  OWN,
  RETIRED,
  type CounterValue,
  type HistogramValue,
  type Increment,
  type TotalsAdded,
  type TotalsFeed,
  type TotalsStore,
} from '#observe/aggregation/totals.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { Commits } from './commits.ts';
import { all, put, run, workOf, type Dialect, type Job, type Row, type Value, type Work } from './database.ts';
import type { Store } from './sqlite.ts';

export interface StoredTotals extends TotalsStore, Pick<Commits, 'commit' | 'commitTogether' | 'settled'> {
  /** Returns the values of one counter of an account. */
  countersOf(accounts: readonly string[], metric: string): Promise<ReadonlyMap<string, readonly CounterValue[]>>;
  /** Moves the totals of label values to `RETIRED`, after the account's earlier changes. Feeds do not report it. */
  retire(account: string, retirement: Retirement): Promise<void>;
  /**
   * Resets counters after the account's earlier changes, and reports it to the feeds.
   *
   * @param work commits the reset, and returns the counters that are 0 from then on
   */
  reset<C extends Omit<CounterValue, 'value'>>(
    account: string,
    work: () => Promise<readonly C[]>,
  ): Promise<readonly C[]>;
}

interface Retirement {
  readonly values: readonly RetiredValue[];
  /** Further statements of the transaction. */
  readonly work: Job<void>;
  readonly committed: () => void;
}

interface RetiredValue {
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
  { database }: Pick<Store, 'database'>,
  onFailure: (error: unknown) => void = () => undefined,
  onSaved: () => void = () => undefined,
): StoredTotals {
  const feeds = new Map<string, Set<(added: TotalsAdded) => void>>();
  const { addCounters, addHistograms, retireAll } = changesOf(database.dialect);
  const countersOfAll = `SELECT account, metric, labels, value FROM counters
    WHERE metric = ?1 AND account IN ${database.dialect.members('?2')}`;
  const report = (added: TotalsAdded): void => {
    for (const receive of feeds.get(added.account) ?? []) receive(added);
  };
  const commits = new Commits({
    database,
    *add({ account, increments, histograms }) {
      yield* addCounters(account, increments);
      yield* addHistograms(account, histograms);
    },
    onAdded: report,
    onFailure,
    onSaved,
  });

  return {
    commit: (account, decide) => commits.commit(account, decide),
    commitTogether: (changes) => commits.commitTogether(changes),
    settled: () => commits.settled(),
    async add(account, increments) {
      await commits.commit(account, () => ({ increments }));
    },
    retire: (account, { values, work, committed }) =>
      commits.inTurn(account, async () => {
        await database.transaction(
          function* () {
            yield* workOf(work);
            yield* retireAll(account, values);
          },
          account === OWN ? undefined : account,
        );
        committed();
      }),
    reset: (account, work) =>
      commits.inTurn(account, async () => {
        const reset = await work();
        report({ account, increments: [], histograms: [], reset });
        return reset;
      }),
    follow: (account) =>
      // In turn: each commit is either in the reading or reported afterwards.
      commits.inTurn(account, async () => {
        const read = await database.read(totalsOf(account));
        const reports = getOrAdd(feeds, account, () => new Set());
        return feedOf(read, reports);
      }),
    async countersOf(accounts, metric) {
      const rows = await database.read(all(countersOfAll, metric, JSON.stringify(accounts)));
      const ofAccounts = Map.groupBy(rows, (row) => String(row['account']));
      return new Map([...ofAccounts].map(([account, own]) => [account, own.map(counterOf)]));
    },
  };
}

const ADD_TO_COUNTER = `INSERT INTO counters (account, metric, labels, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, metric, labels) DO UPDATE SET value = counters.value + excluded.value`;
const COUNTERS = 'SELECT metric, labels, value FROM counters WHERE account = ? ORDER BY metric, labels';
export const COUNTERS_OF = 'SELECT metric, labels, value FROM counters WHERE account = ? AND metric = ?';
const PUT_HISTOGRAM = `INSERT INTO histograms (account, metric, labels, buckets, sum) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (account, metric, labels) DO UPDATE SET buckets = excluded.buckets, sum = excluded.sum`;
const HISTOGRAMS = 'SELECT metric, labels, buckets, sum FROM histograms WHERE account = ? ORDER BY metric, labels';
const HISTOGRAMS_OF = 'SELECT metric, labels, buckets, sum FROM histograms WHERE account = ? AND metric = ?';

/** Returns the statements that change the totals of an account. */
function changesOf(dialect: Dialect) {
  const ofLabels = `account = ?1 AND metric = ?2 AND labels IN ${dialect.members('?3')}`;
  const selectHistograms = `SELECT metric, labels, buckets, sum FROM histograms
    WHERE account = ?1 AND metric IN ${dialect.members('?2')} AND labels IN ${dialect.members('?3')}`;
  const deleteCounters = `DELETE FROM counters WHERE ${ofLabels}`;
  const deleteHistograms = `DELETE FROM histograms WHERE ${ofLabels}`;

  function* addCounters(account: string, increments: readonly (Omit<Increment, 'metric'> & { metric: string })[]) {
    const sums = new Map<string, [account: string, metric: string, labels: string, by: number]>();
    for (const { metric, labels, by } of increments) {
      const text = JSON.stringify(labels);
      const known = sums.get(`${metric}${text}`);
      if (known === undefined) sums.set(`${metric}${text}`, [account, metric, text, by]);
      else known[3] += by;
    }
    yield* put(ADD_TO_COUNTER, sums.values());
  }

  function* addHistograms(account: string, histograms: readonly HistogramValue[]): Work<void> {
    if (histograms.length === 0) return;
    const metrics = new Set(histograms.map(({ metric }) => metric));
    const texts = new Set(histograms.map(({ labels }) => JSON.stringify(labels)));
    const names = [JSON.stringify([...metrics]), JSON.stringify([...texts])];
    // One query for all, which may also find others: the labels of one metric with another.
    const stored = (yield* all(selectHistograms, account, ...names)).map(histogramOf);
    const before = new Map(stored.map((one) => [keyOf(one), one]));
    const rows = [...Map.groupBy(histograms, keyOf)].map(([key, added]) => {
      const known = before.get(key);
      const { metric, labels, buckets, sum } = (known === undefined ? added : [known, ...added]).reduce(sumOf);
      return [account, metric, JSON.stringify(labels), JSON.stringify(buckets), sum];
    });
    yield* put(PUT_HISTOGRAM, rows);
  }

  function* retireAll(account: string, values: readonly RetiredValue[]): Work<void> {
    for (const [metric, retired] of Map.groupBy(values, (one) => one.metric)) {
      const counters = moved(yield* all(COUNTERS_OF, account, metric), retired, counterOf);
      const histograms = moved(yield* all(HISTOGRAMS_OF, account, metric), retired, histogramOf);
      if (counters.from.length > 0) yield* run(deleteCounters, account, metric, JSON.stringify(counters.from));
      if (histograms.from.length > 0) yield* run(deleteHistograms, account, metric, JSON.stringify(histograms.from));
      const increments = counters.to.map(({ value, ...row }) => ({ ...row, by: value }));
      yield* addCounters(account, increments);
      yield* addHistograms(account, histograms.to);
    }
  }

  return { addCounters, addHistograms, retireAll };
}

/** Returns the stored rows that have a retired value, and the same under `RETIRED`. */
function moved<T extends { readonly labels: readonly string[] }>(
  rows: readonly Row[],
  retired: readonly RetiredValue[],
  read: (row: Row) => T,
): { readonly from: readonly string[]; readonly to: readonly T[] } {
  const from: string[] = [];
  const to: T[] = [];
  for (const row of rows) {
    const one = read(row);
    const labels = retired.reduce(
      (all, { index, value }) => (one.labels[index] === value ? all.with(index, RETIRED) : all),
      one.labels,
    );
    if (labels === one.labels) continue;
    from.push(String(row['labels']));
    to.push({ ...one, labels });
  }
  return { from, to };
}

/** Name and labels of a histogram. */
function keyOf({ metric, labels }: HistogramValue): string {
  return JSON.stringify([metric, labels]);
}

function sumOf(before: HistogramValue, added: HistogramValue): HistogramValue {
  const buckets = added.buckets.map((count, index) => count + (before.buckets[index] ?? 0));
  return { ...added, buckets, sum: before.sum + added.sum };
}

function* totalsOf(account: string): Work<Pick<TotalsFeed, 'counters' | 'histograms'>> {
  const counters = yield* all(COUNTERS, account);
  const histograms = yield* all(HISTOGRAMS, account);
  return { counters: counters.map(counterOf), histograms: histograms.map(histogramOf) };
}

/** @param reports receivers of the account's commits */
function feedOf(
  read: Pick<TotalsFeed, 'counters' | 'histograms'>,
  reports: Set<(added: TotalsAdded) => void>,
): TotalsFeed {
  const early: TotalsAdded[] = [];
  let receive = (added: TotalsAdded): void => void early.push(added);
  const report = (added: TotalsAdded): void => receive(added);
  reports.add(report);
  return {
    ...read,
    onAdded(listener) {
      receive = listener;
      for (const added of early.splice(0)) listener(added);
    },
    [Symbol.dispose]: () => void reports.delete(report),
  };
}

export function counterOf({ metric, labels, value }: Row): CounterValue {
  return { metric: String(metric), labels: labelsOf(labels), value: Number(value) };
}

function histogramOf({ metric, labels, buckets, sum }: Row): HistogramValue {
  const counts = JSON.parse(String(buckets)) as number[];
  return { metric: String(metric), labels: labelsOf(labels), buckets: counts, sum: Number(sum) };
}

function labelsOf(text: Value | undefined): string[] {
  return JSON.parse(String(text)) as string[];
}
