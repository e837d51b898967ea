/** The daemon, or its replicas, as the checks see it. */
import type { DatabaseSync } from 'node:sqlite';
import type { Exposition } from '../support/exposition.ts';
import type { Process } from './loop.ts';

/** Store of the ledger, as it is durable now. */
export type Books = Pick<DatabaseSync, 'isTransaction'> & {
  prepare(sql: string): {
    all(...values: readonly (string | number)[]): readonly Record<string, unknown>[];
    get(...values: readonly (string | number)[]): Record<string, unknown> | undefined;
  };
};

/** Reason against a request to the service about an account. */
export interface Forbidden {
  readonly account: string;
  readonly label: string;
  /**
   * True if it may read, and send the message of a canary that it has recorded. Other writes need an intent, which the
   * database accepts from the owner alone.
   */
  readonly mayRead: boolean;
}

export interface Subject {
  readonly books: Books;
  /** Calls back at once, or when the store shows only what is committed. */
  whenCommitted(work: () => void): void;
  owns(process: Process): boolean;
  /** Returns the accounts about which the process must not send a request to the service. */
  forbids(process: Process): readonly Forbidden[];
  /** @returns the metrics, and true if the same process still runs */
  scrape(by: Process): Promise<{ readonly metrics: Exposition; readonly isPresent: boolean }>;
}
