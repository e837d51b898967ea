/** Events of the daemon's own output: series, spans, lines about deliveries. */

export type TelemetryEvent =
  /** An OTEL_* variable cannot be parsed. */
  | { readonly type: 'telemetry.variable_ignored'; readonly variable: string }
  | { readonly type: 'series.refused'; readonly family: string; readonly limit: number }
  | {
      readonly type: 'spans.exported';
      readonly count: number;
      /** From their creation until they were acknowledged; absent for those of the daemon itself. */
      readonly lagMs?: number;
    }
  | {
      readonly type: 'spans.dropped';
      readonly count: number;
      readonly reason: 'queue' | 'budget' | 'too_old' | 'unreadable' | 'rejected' | 'failed';
    }
  | { readonly type: 'spans.waiting'; readonly spans: number; /** Epoch milliseconds. */ readonly oldestAt?: number }
  | { readonly type: 'deliveries.written'; readonly count: number }
  | { readonly type: 'deliveries.dropped'; readonly count: number }
  | { readonly type: 'deliveries.failing'; /** An error code of the system. */ readonly reason: string };
