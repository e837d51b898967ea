import type { AttemptMinute } from './destination-state.ts';
import type { Stamp } from './lineage.ts';
import type { LogEntry } from './log-entry.ts';

/** Delivery attempts to one host that ended in one minute, from the service's log. */
export interface EndedAttempts extends AttemptMinute {
  /** Host, with its port if it is not the scheme's default. */
  readonly host: string;
  /** Failed attempts by reason: `HTTP 503`, `timeout`, … */
  readonly reasons: ReadonlyMap<string, number>;
}

/** Message of a resumed run, identified by its stamp. */
export interface ResumedMessage extends Stamp {
  /** Destination of the message. */
  readonly url: string;
}

/** End of a message of a resumed run. `failed` is final. */
export interface ResumeEnd extends ResumedMessage {
  readonly end: 'failed' | 'delivered';
}

/** Ended attempts of the counted log. */
export interface KnownAttempts {
  /** End of the counted log, in epoch milliseconds. */
  readonly watermark: number;
  /** Time since when all attempts are counted, in epoch milliseconds. */
  readonly from: number;
  readonly attempts: readonly EndedAttempts[];
}

/** Ended attempts that one commit of the log reading counted. `from` is the start of the window that was read. */
export interface EndedAttemptsRead extends KnownAttempts {
  readonly resumeEnds: readonly ResumeEnd[];
  /** Newest failed deliveries. */
  readonly failures: readonly LogEntry[];
}
