/**
 * The audit log: an append-only file beside the store, one record for each change of state, each with the hash of the
 * one before. A record is durable before the transaction that it tells of commits; a record whose transaction did not
 * commit is followed by one that says so.
 */

/** No entry ever holds a body, a value of a header, or a secret. */
export type AuditValue =
  | string
  | number
  | boolean
  | null
  | readonly AuditValue[]
  | { readonly [key: string]: AuditValue };

/** What a change of state says about itself. */
export interface AuditEntry {
  /** `run.begun`, `intent`, `outcome`, … */
  readonly type: string;
  readonly policy?: string;
  readonly account?: string;
  readonly [key: string]: AuditValue | undefined;
}

/** Where the log ends. */
export interface AuditHead {
  readonly sequence: number;
  /** sha256 of the last record, hexadecimal. */
  readonly hash: string;
}

export interface AuditLog {
  /** Durable when it returns. @throws when it cannot be written: then what it tells of must not happen */
  append(entry: AuditEntry): AuditHead;
  /** Undefined while nothing was written. */
  head(): AuditHead | undefined;
}
