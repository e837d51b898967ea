/** Daily number of requests to an API of an account, stored across restarts. */

export interface RequestUse {
  /** Days since 1970-01-01 UTC. */
  readonly day: number;
  readonly used: number;
}

/** Stored number of one API. */
export interface StoredUse extends RequestUse {
  readonly account: string;
  readonly api: string;
}

export interface RequestUseStore {
  /** Returns the numbers of all accounts. Rejects if they cannot be read. */
  load(): Promise<readonly StoredUse[]>;
  /** Saves a number durably. Rejects if it cannot be written. */
  save(use: StoredUse): Promise<void>;
}
