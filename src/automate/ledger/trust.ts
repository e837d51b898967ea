/** Identity of the store, and this process's permission to act on it. */

/** Identity of the store and of this process. */
export interface Identity {
  /** Identity of this store, created with it; the `instance` of stamps. */
  readonly instance: string;
  /** Fencing number of this process: each opening of the store increments it. */
  readonly epoch: number;
}

/** Permission of this process to act on the store. */
export interface Trust {
  /**
   * Reason why this process must not act on these accounts: it is not their only executor. Undefined while it is. Outside
   * of a view, it first tries again to write a start to the audit log that could not be written.
   */
  leaseLost(...accounts: readonly string[]): Promise<string | undefined>;
  /**
   * Reason why the store must not be used to act, and what ends it. The store is older than the audit log, or its identity
   * is unknown: all policies are in audit until an operator adopts it, on any replica. Or the audit log cannot be written.
   * `leaseLost` and `reserve` read it again.
   */
  readonly mustBeAdopted: string | undefined;
  adopt(adopted: { readonly at: number; readonly by: string; readonly reason: string }): Promise<string | undefined>;
}
