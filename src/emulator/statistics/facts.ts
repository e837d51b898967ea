/**
 * What happened in the embedded service, one fact for each thing that is billed or counted. The message side emits
 * them, and whoever plants a past; statistics, billing and tests are made of nothing else, so that figures follow from what happened.
 */

export type Fact =
  /** A message was accepted. For a workflow, `run` tells that it began a new run. */
  | {
      readonly kind: 'created';
      readonly at: number;
      readonly workflow: boolean;
      readonly run: boolean;
      readonly bytes: number;
    }
  /**
   * A delivery attempt ended. `failed` is the last of its message, `retry` is followed by another or by the end of a
   * message that was canceled meanwhile.
   */
  | {
      readonly kind: 'attempt';
      readonly at: number;
      readonly workflow: boolean;
      readonly outcome: 'delivered' | 'retry' | 'failed';
      /** Request and response bodies. */
      readonly bytes: number;
      /** Whether it is paid for by itself; the account's present plan tells when absent. */
      readonly paid?: boolean;
    }
  | { readonly kind: 'canceled'; readonly at: number; readonly workflow: boolean };

/** Facts carry epoch milliseconds of the embedded service's clock. */
export type FactListener = (accountId: string, fact: Fact) => void;
