/**
 * The audit log: an append-only file beside the store, one record for each change of state, each with the hash of the
 * one before. A record is durable before the transaction that it tells of commits; a record whose transaction did not
 * commit is followed by one that says so. No record ever holds a body, a value of an entry's header, or a secret.
 */

export type AuditValue = string | number | boolean | null | readonly AuditValue[];

interface AuditContent {
  /** `run.begun`, `intent`, `outcome`, … */
  readonly type: string;
  readonly policy?: string | undefined;
  readonly account?: string | undefined;
  readonly [key: string]: AuditValue | undefined;
}

/** What a change of state says about itself. The names of a record's place are taken. */
export interface AuditEntry extends AuditContent {
  readonly sequence?: never;
  readonly time?: never;
  readonly store?: never;
  readonly epoch?: never;
  readonly previous?: never;
  readonly hash?: never;
}

/** An entry in its place: one line of the file. */
export interface AuditRecord extends AuditContent {
  /** 1 for the first; no gaps. */
  readonly sequence: number;
  /** ISO 8601. */
  readonly time: string;
  /** Identity of the store, and which opening of it wrote the record. */
  readonly store: string;
  readonly epoch: number;
  /** Hash of the record before; empty in the first. */
  readonly previous: string;
  /** sha256, hexadecimal, over all the rest as canonical JSON. */
  readonly hash: string;
}

/** Where the log ends. */
export interface AuditHead {
  readonly sequence: number;
  readonly hash: string;
}

/** What was found when the log was opened, against the head that the store knows. */
export interface AuditOpening {
  /** Told before anything else: a torn line that was cut off, a record whose transaction did not commit. */
  readonly notes: readonly AuditEntry[];
  /** Why store and log do not belong together, and whether no record is left that the next one could follow. */
  readonly distrust?: { readonly reason: string; readonly begins: boolean };
}

export interface AuditLog {
  /** Why nothing can be written; a restart tries again. */
  readonly problem: string | undefined;
  readonly opening: AuditOpening;
  /** Durable when it returns. @throws when it cannot be written: then what it tells of must not happen */
  append(entry: AuditEntry): AuditHead;
  /** Undefined while nothing was written. */
  head(): AuditHead | undefined;
  verify(): Promise<AuditVerdict>;
}

export interface AuditVerdict {
  readonly records: number;
  readonly head?: AuditHead;
  /** The first line that is not as it was written, counted from 1, or what is missing at the end. */
  readonly finding?: { readonly file: string; readonly line: number; readonly problem: string };
  /** The last line has no end: a write under way, or one that a crash cut short. It was never committed. */
  readonly isTorn: boolean;
}

/** Records about the log itself: they change nothing in the store. */
export const NOT_COMMITTED = 'audit.not_committed';
export const TORN = 'audit.torn';
export const OPENED = 'store.opened';
export const DISTRUSTED = 'store.distrusted';
export const HOUSEKEEPING: readonly string[] = [NOT_COMMITTED, TORN, OPENED];
