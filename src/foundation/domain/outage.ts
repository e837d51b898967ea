/** Destination that fails nearly every delivery attempt, from the service's log. Times are epoch milliseconds. */
export interface Outage {
  /** Host, with its port if it is not the scheme's default. */
  readonly host: string;
  /** First failed attempt. */
  readonly since: number;
  /** False if attempts may have failed earlier, before the daemon observed them. */
  readonly isSinceKnown: boolean;
  /** Minute of the newest failure. */
  readonly lastAt: number;
  /** Attempts since the first failure. */
  readonly failed: number;
  readonly delivered: number;
  /** Messages that finally failed since then. */
  readonly lost: number;
  /** Reasons, most frequent first: `HTTP 503`, `timeout`, … */
  readonly reasons: readonly { readonly reason: string; readonly count: number }[];
}
