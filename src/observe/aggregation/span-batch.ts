/** Spans of deliveries, encoded as they go out. */

export interface SpanBatch {
  readonly protocol: 'http/protobuf' | 'http/json';
  /** What the spans have in common, as JSON: resource and scope. */
  readonly head: string;
  /** The encoded spans, one frame after the other, as the exporter frames them. */
  readonly body: Uint8Array;
  readonly spans: number;
  /** Epoch milliseconds of our clock. */
  readonly madeAt: number;
}

/** What a commit of the log fold adds. */
export interface SpansOfCommit {
  readonly batches: readonly SpanBatch[];
  /** Messages whose root goes out while they are still open. */
  readonly leftOpen: readonly string[];
}
