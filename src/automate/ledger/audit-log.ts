/**
 * Audit log: an append-only file next to the store, with one record for each change of state and the hash of the
 * previous record. A record is durable before its transaction commits. If the transaction does not commit, another
 * record says so. Records never contain a body, a value of an entry's header, or a secret.
 */

export type AuditValue = string | number | boolean | null | readonly AuditValue[];

interface AuditContent {
  /** `run.begun`, `intent`, `outcome`, … */
  readonly type: string;
  readonly policy?: string | undefined;
  readonly account?: string | undefined;
  readonly [key: string]: AuditValue | undefined;
}

/** Entry about a change of state. The names of a record's own fields are reserved. */
export interface AuditEntry extends AuditContent {
  readonly sequence?: never;
  readonly time?: never;
  readonly store?: never;
  readonly opening?: never;
  readonly previous?: never;
  readonly hash?: never;
}

/** Entry with its position: one line of the file. */
export interface AuditRecord extends AuditContent {
  /** 1 for the first record; no gaps. */
  readonly sequence: number;
  /** ISO 8601. */
  readonly time: string;
  /** Identity of the store, and the number of its opening that wrote the record. */
  readonly store: string;
  readonly opening: number;
  /** Hash of the previous record; empty in the first. */
  readonly previous: string;
  /** SHA-256, hexadecimal, of all other fields as canonical JSON. */
  readonly hash: string;
}

/** Last record of the log. */
export interface AuditHead {
  readonly sequence: number;
  readonly hash: string;
}

/** Result of opening the log, compared with the last record that the store knows. */
export interface AuditOpening {
  /** Records to append first: a torn line that was cut off, or a record whose transaction did not commit. */
  readonly notes: readonly AuditEntry[];
  /** Reason why store and log do not match. `begins`: no record is left that the next one could follow. */
  readonly distrust?: { readonly reason: string; readonly begins: boolean };
}

export interface AuditLog {
  /** Reason why nothing can be written; a restart tries again. */
  readonly problem: string | undefined;
  readonly opening: AuditOpening;
  /** Appends an entry, durable on return. @throws if it cannot be written; the change must then not happen */
  append(entry: AuditEntry): AuditHead;
  /** Undefined while the log is empty. */
  head(): AuditHead | undefined;
  verify(): Promise<AuditVerdict>;
}

export interface AuditVerdict {
  readonly records: number;
  readonly head?: AuditHead;
  /** First changed line, counted from 1, or missing records at the end. */
  readonly finding?: { readonly file: string; readonly line: number; readonly problem: string };
  /** True if the last line has no end: a write in progress, or cut short by a crash. It was never committed. */
  readonly isTorn: boolean;
}

/** Records about the log itself. They change nothing in the store. */
export const NOT_COMMITTED = 'audit.not_committed';
export const TORN = 'audit.torn';
export const OPENED = 'store.opened';
export const DISTRUSTED = 'store.distrusted';
export const HOUSEKEEPING: readonly string[] = [NOT_COMMITTED, TORN, OPENED];
