/** Returns the span that an exemplar of a delivery refers to: the span that was or will be sent for it, if any. */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import type { TraceSettings } from './settings.ts';
import { isSampled, spanIdOf, traceIdOf } from './trace-ids.ts';

/** @returns undefined if the message is not sampled, or if the trace is the producer's, whose id is unknown */
export function deliverySpanOf(
  { producer, sampleRatio }: TraceSettings,
  account: string,
  messageId: string,
): SpanRef | undefined {
  if (producer === 'parent') return undefined;
  const traceId = traceIdOf(account, messageId);
  if (!isSampled(traceId, sampleRatio)) return undefined;
  return { traceId, spanId: spanIdOf(account, messageId, 'deliver') };
}
