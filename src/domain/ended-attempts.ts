import type { Stamp } from './lineage.ts';

/** Attempts of one minute towards one host that ended, by the service's log. */
export interface EndedAttempts {
  /** With its port where that is not the scheme's own. */
  readonly host: string;
  /** Epoch milliseconds at which the minute of the entries' own time begins. */
  readonly minute: number;
  readonly delivered: number;
  readonly failed: number;
}

/** A message that failed for good and carries the stamp of a resume. */
export interface FailedResume extends Stamp {
  /** Where it was to go. */
  readonly url: string;
}

/** What one commit of the log's reading counted of them. */
export interface EndedAttemptsRead {
  /** Epoch milliseconds: the log is counted up to here. */
  readonly watermark: number;
  /** Epoch milliseconds: the window that was read begins here. */
  readonly from: number;
  readonly attempts: readonly EndedAttempts[];
  readonly failedResumes: readonly FailedResume[];
}
