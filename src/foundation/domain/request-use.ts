/** How many requests of a day an API of an account has had: what outlives the process of the daily budget. */

export interface RequestUse {
  /** Days since 1970-01-01 UTC. */
  readonly day: number;
  readonly used: number;
}

export interface RequestUseStore {
  /** @throws {Error} when it cannot be read */
  load(account: string, api: string): RequestUse | undefined;
  /**
   * Durable on return.
   *
   * @throws {Error} when it cannot be written
   */
  save(account: string, api: string, use: RequestUse): void;
}
