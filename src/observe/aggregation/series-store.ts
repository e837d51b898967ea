/**
 * Port for the state of the statistics aggregations. It stores how far each series is counted, in one transaction with the
 * increments. The aggregation defines the content of a record.
 */
import type { Increment } from './totals.ts';

/** Record of a series of an account or index. The fields before `record` are its key. */
export interface SeriesRecord {
  /** Id of the account or index at the service. A new id starts a new series. */
  readonly subject: string;
  readonly source: string;
  /** Empty for a source that is a single series. */
  readonly series: string;
  readonly record: string;
}

interface SeriesCommit {
  readonly account: string;
  readonly increments: readonly Increment[];
  /** Records that replace those of the same key. */
  readonly records: readonly SeriesRecord[];
}

export interface SeriesStore {
  /** Returns all records of the subjects. */
  loadSeries(account: string, subjects: readonly string[]): Promise<readonly SeriesRecord[]>;
  /** Rejects if the write fails; nothing is written then. */
  commitSeries(commit: SeriesCommit): Promise<void>;
}
