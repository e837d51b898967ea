/** The identity of the store, and whether this process can act on it. */

/** Identifies the store and this process. */
export interface Identity {
  /** Identity of this store, made at its creation; the `instance` of stamps. */
  readonly instance: string;
  /** Fencing number of this process: one more with each opening of the store. */
  readonly epoch: number;
}

/** Says whether this process can act on the store. */
export interface Trust {
  /** Why this process is not the store's one executor; undefined while it is. */
  leaseLost(): string | undefined;
  /**
   * Why the store is not to be trusted to act: it is older than the audit log, or of unknown identity. Everything is in
   * audit until a person adopts it.
   */
  readonly mustBeAdopted: string | undefined;
  adopt(adopted: { readonly at: number; readonly by: string; readonly reason: string }): void;
}
