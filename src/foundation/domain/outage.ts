/** A destination that fails nearly every attempt to deliver to it, by the service's log. Times are epoch milliseconds. */
export interface Outage {
  /** With its port where that is not the scheme's own. */
  readonly host: string;
  /** First failed attempt. */
  readonly since: number;
  /** False: they may have begun earlier, before the daemon could see them. */
  readonly isSinceKnown: boolean;
  /** Minute of the newest failure. */
  readonly lastAt: number;
  /** Attempts since then. */
  readonly failed: number;
  readonly delivered: number;
  /** Messages that failed for good since then. */
  readonly lost: number;
  /** Most first: `HTTP 503`, `timeout`, … */
  readonly reasons: readonly { readonly reason: string; readonly count: number }[];
}
