/**
 * Events of the embedded service, one fact for each event that is billed or counted. The message engine and the
 * generators of past traffic emit facts. Statistics, billing and tests use only facts, so that all figures follow from
 * events.
 */

export type Fact =
  /** A message was accepted. For a workflow, `run` is true if it began a new run. */
  | {
      readonly kind: 'created';
      readonly at: number;
      readonly workflow: boolean;
      readonly run: boolean;
      readonly bytes: number;
    }
  /**
   * A delivery attempt ended. `failed` is the last attempt of its message. `retry` is followed by another attempt, or
   * by the end of a canceled message.
   */
  | {
      readonly kind: 'attempt';
      readonly at: number;
      readonly workflow: boolean;
      readonly outcome: 'delivered' | 'retry' | 'failed';
      /** Bytes of the request and response bodies. */
      readonly bytes: number;
      /** True if the attempt is billed by itself. If absent, the account's present plan decides. */
      readonly paid?: boolean;
    }
  | { readonly kind: 'canceled'; readonly at: number; readonly workflow: boolean };

/** Listener for facts. Facts carry epoch milliseconds of the embedded service's clock. */
export type FactListener = (accountId: string, fact: Fact) => void;
