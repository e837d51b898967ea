/** Reading of the audit log, wherever it is stored. */
import type { AuditHead, AuditRecord, AuditVerdict } from './audit-log.ts';

export interface AuditQuery {
  /** Type of the record, or its first part: `run` finds `run.begun`. */
  readonly type?: string;
  readonly policy?: string;
  readonly account?: string;
  readonly by?: string;
  /** Epoch milliseconds. */
  readonly since?: number;
  /** Text that a value of the record contains, regardless of case. */
  readonly text?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** Continues the search; absent at its end. */
  readonly cursor?: string;
  /** Number of lines in this page that match and are damaged. */
  readonly damaged: number;
}

/** Error in the cursor: its place no longer exists, or it is not from this log. */
export class AuditCursorError extends Error {
  override readonly name = 'AuditCursorError';
}

/** Record that another party has seen: the log must have it, or continue from it. */
export interface SeenRecords {
  /** Earlier last record, which must still exist. */
  readonly known?: AuditHead | undefined;
  /** Last record of the part that was moved away. */
  readonly after?: AuditHead | undefined;
}

export interface AuditReader {
  /** Place of the log, for messages. */
  readonly place: string;
  /** Returns the last record that the store knows; undefined while the log is empty. */
  head(): Promise<AuditHead | undefined>;
  /** Returns all records, oldest first. Damaged ones are left out; `verify` finds them. */
  records(): AsyncIterable<AuditRecord>;
  /** Returns matching records, newest first. Rejects with an `AuditCursorError` if the cursor is invalid. */
  search(query: AuditQuery, signal: AbortSignal): Promise<AuditPage>;
  /** Verifies the chain from its first record to its last. */
  verify(seen?: SeenRecords): Promise<AuditVerdict>;
}
