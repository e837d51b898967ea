/**
 * An exporter that says of every batch, exactly once, what became of it: delivered, rejected for good, or failed. Also
 * of a batch that the receiver never answers, and of one that is given up when the process stops.
 */
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';

type ResultCallback = Parameters<SpanExporter['export']>[1];
type ExportResult = Parameters<ResultCallback>[0];

/** The numbers of ExportResultCode. */
const SUCCESS: ExportResult['code'] = 0;
const FAILED: ExportResult['code'] = 1;

export interface AccountedExporter extends SpanExporter {
  /** Gives up on every batch that is under way. */
  abandon(): void;
}

export interface AccountingOptions {
  readonly events: EventBus;
  readonly clock: Clock;
  /** After this a batch counts as failed, whatever the exporter goes on doing. */
  readonly deadlineMs: number;
  /** Called with the size of each batch whose fate is known. */
  readonly onSettled: (spans: number) => void;
}

export function accountedExporter(inner: SpanExporter, options: AccountingOptions): AccountedExporter {
  const underWay = new Set<(result: ExportResult) => void>();
  return {
    export(spans: ReadableSpan[], report: ResultCallback): void {
      let timer: Timer | undefined;
      const settle = (result: ExportResult): void => {
        if (!underWay.delete(settle)) return;
        timer?.cancel();
        if (result.code === SUCCESS) options.events.emit({ type: 'spans.exported', count: spans.length });
        else options.events.emit({ type: 'spans.dropped', count: spans.length, reason: reasonOf(result) });
        options.onSettled(spans.length);
        report(result);
      };
      underWay.add(settle);
      timer = options.clock.after(options.deadlineMs, () => settle(failed('no answer in time')));
      try {
        inner.export(spans, settle);
      } catch (error) {
        settle({ code: FAILED, error: error as Error });
      }
    },
    forceFlush: async () => inner.forceFlush?.(),
    // What is under way may take as long as a receiver likes: whoever stops does not wait for it here.
    shutdown: async () => undefined,
    abandon() {
      for (const settle of underWay) settle(failed('the process stops'));
    },
  };
}

function failed(message: string): ExportResult {
  return { code: FAILED, error: new Error(message) };
}

/** An answer that is no success and not worth another try carries its status as a numeric `code`. */
function reasonOf({ error }: ExportResult): 'rejected' | 'failed' {
  return error !== undefined && 'code' in error && typeof error.code === 'number' ? 'rejected' : 'failed';
}
