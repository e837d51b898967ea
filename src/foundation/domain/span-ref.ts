/** Reference to a span, for exemplars of metrics. */
export interface SpanRef {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
}
