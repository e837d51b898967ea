/** The port of the statistics' folds in memory: what the SQLite adapter is held to. */
import type { SeriesCommit, SeriesRecord, SeriesStore } from '#observe/aggregation/series-store.ts';

export class MemorySeriesStore implements SeriesStore {
  readonly #records = new Map<string, SeriesRecord>();
  readonly #totals = new Map<string, number>();
  /** Every commit, oldest first. */
  readonly commits: SeriesCommit[] = [];

  loadSeries(account: string, subject: string): readonly SeriesRecord[] {
    return [...this.#records]
      .filter(([key, record]) => key.startsWith(`${account}\0`) && record.subject === subject)
      .map(([, record]) => record);
  }

  commitSeries(commit: SeriesCommit): void {
    this.commits.push(commit);
    for (const record of commit.records) {
      this.#records.set([commit.account, record.subject, record.source, record.series].join('\0'), record);
    }
    for (const { metric, labels, by } of commit.increments) {
      const key = [metric, ...labels].join(' ');
      this.#totals.set(key, (this.#totals.get(key) ?? 0) + by);
    }
  }

  /** A counter of whatever account, undefined when it was never committed; labels follow the name. */
  total(metric: string, ...labels: readonly string[]): number | undefined {
    return this.#totals.get([metric, ...labels].join(' '));
  }
}
