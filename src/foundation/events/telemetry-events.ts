/** Events of the daemon's own output: series, spans, delivery events. */

export type TelemetryEvent =
  /** An OTEL_* variable cannot be parsed or is not supported. */
  | { readonly type: 'telemetry.variable_ignored'; readonly variable: string }
  | { readonly type: 'series.refused'; readonly family: string; readonly limit: number }
  | {
      readonly type: 'spans.exported';
      readonly count: number;
      /** Time between creation and acknowledgment; absent for the daemon's own spans. */
      readonly lagMs?: number;
    }
  | {
      readonly type: 'spans.dropped';
      readonly count: number;
      readonly reason: 'queue' | 'budget' | 'too_old' | 'unreadable' | 'rejected' | 'failed';
    }
  | { readonly type: 'spans.queued'; readonly spans: number; /** Epoch milliseconds. */ readonly oldestAt?: number }
  | { readonly type: 'deliveries.written'; readonly count: number }
  | { readonly type: 'deliveries.dropped'; readonly count: number }
  | { readonly type: 'deliveries.failing'; /** Error code of the system. */ readonly reason: string };
