/** Daily number of requests to an API of an account, stored across restarts. */

export interface RequestUse {
  /** Days since 1970-01-01 UTC. */
  readonly day: number;
  readonly used: number;
}

export interface RequestUseStore {
  /** @throws {Error} if it cannot be read */
  load(account: string, api: string): RequestUse | undefined;
  /**
   * Saves the number. Durable on return.
   *
   * @throws {Error} if it cannot be written
   */
  save(account: string, api: string, use: RequestUse): void;
}
