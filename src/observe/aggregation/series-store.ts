/**
 * The port through which the folds of the statistics keep their state: how far each series is counted, in one
 * transaction with what that added. What a record says is the fold's affair.
 */
import type { Increment } from './totals.ts';

/** A series of one thing that has statistics. */
interface SeriesKey {
  /** Id of the account or of the index, at the service: another one begins anew. */
  readonly subject: string;
  readonly source: string;
  /** Empty for a source that is one series. */
  readonly series: string;
}

export interface SeriesRecord extends SeriesKey {
  readonly record: string;
}

interface SeriesCommit {
  readonly account: string;
  readonly increments: readonly Increment[];
  /** Written over those of the same key. */
  readonly records: readonly SeriesRecord[];
}

export interface SeriesStore {
  /** All records of a subject. */
  loadSeries(account: string, subject: string): readonly SeriesRecord[];
  /** @throws {Error} when it cannot be written; then nothing of it is */
  commitSeries(commit: SeriesCommit): void;
}
