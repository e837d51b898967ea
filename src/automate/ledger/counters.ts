/** Repair of stored counters by operators. */
interface CounterReset {
  readonly account: string;
  readonly metric: string;
  /** Decides by the label values of a counter, in the order of the catalog. */
  readonly isMeant: (labels: readonly string[]) => boolean;
  readonly by: string;
  readonly reason: string;
}

export interface Counters {
  /**
   * Sets counters of an account to 0, in the audit log before it takes effect.
   *
   * @returns the counters with their former values
   */
  resetCounters(
    reset: CounterReset,
  ): Promise<readonly { readonly metric: string; readonly labels: readonly string[]; readonly value: number }[]>;
}
