/** Names a span, so that an exemplar of a metric can lead to it. */
export interface SpanRef {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
}
