/** Spans of deliveries, encoded for sending. */

export interface SpanBatch {
  readonly protocol: 'http/protobuf' | 'http/json';
  /** Common parts of the spans as JSON: resource and scope. */
  readonly head: string;
  /** Encoded spans, one frame after another, in the exporter's framing. */
  readonly body: Uint8Array;
  readonly spans: number;
  /** Epoch milliseconds of our clock. */
  readonly madeAt: number;
}

/** Spans that a commit of the log aggregation adds. */
export interface SpansOfCommit {
  readonly batches: readonly SpanBatch[];
  /** Messages whose root span is sent while they are still open. */
  readonly leftOpen: readonly string[];
}
