/** Port of the readings in the history. The store keeps the highest value of each minute and hour. */

/** Readings of an account at one time. A value is undefined if there is no fresh reading of it. */
export interface HistorySample {
  readonly account: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Messages in flight. */
  readonly inFlight?: number;
  readonly failedRuns?: number;
  readonly deadLetters?: number;
  /** US dollars billed in the month so far. */
  readonly spendUsd?: number;
  /** Flow-control keys with waiting messages, most messages first. A key that is not listed has none, unless it is cut. */
  readonly flowControl?: {
    readonly keys: readonly (readonly [key: string, messages: number])[];
    readonly isCut: boolean;
  };
}

export interface HistoryStore {
  /** Saves a sample of each account. Never rejects: a minute that cannot be saved is unknown. */
  addSamples(samples: readonly HistorySample[]): Promise<void>;
}
