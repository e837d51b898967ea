import type { Stamp } from './lineage.ts';

/** Attempts of one minute towards one host that ended, by the service's log. */
export interface EndedAttempts {
  /** With its port where that is not the scheme's own. */
  readonly host: string;
  /** Epoch milliseconds at which the minute of the entries' own time begins. */
  readonly minute: number;
  readonly delivered: number;
  readonly failed: number;
  /** Epoch milliseconds of the first failed one; Infinity where none failed. */
  readonly failedFrom: number;
  /** Messages that failed for good. */
  readonly lost: number;
  /** Failed attempts by reason: `HTTP 503`, `timeout`, … */
  readonly reasons: ReadonlyMap<string, number>;
}

/** A message of a resumed run, by the stamp that it carries. */
export interface ResumedMessage extends Stamp {
  /** Where it was to go. */
  readonly url: string;
}

/** How a message of a resumed run ended: `failed` is for good. */
export interface ResumeEnd extends ResumedMessage {
  readonly end: 'failed' | 'delivered';
}

/** What one commit of the log's reading counted of them. */
export interface EndedAttemptsRead {
  /** Epoch milliseconds: the log is counted up to here. */
  readonly watermark: number;
  /** Epoch milliseconds: the window that was read begins here. */
  readonly from: number;
  readonly attempts: readonly EndedAttempts[];
  readonly resumeEnds: readonly ResumeEnd[];
}
