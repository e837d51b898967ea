/** Rows of the store that a generation of the daemon works on. */
export interface Scope {
  /** Accounts of the rows. Absent: all rows, also those of accounts that the configuration no longer has. */
  readonly accounts?: readonly string[];
  /** Replica that works on rows that belong to no account; '' without replicas. */
  readonly replica: string;
}

/** Scope of a process that has the store for itself. @public */
export const WHOLE: Scope = { replica: '' };
