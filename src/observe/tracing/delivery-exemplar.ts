/** Where an exemplar of a delivery leads: to the span that was or will be sent of it, and nowhere when there is none. */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import type { TraceSettings } from './settings.ts';
import { isSampled, spanIdOf, traceIdOf } from './trace-ids.ts';

/** @returns undefined for a message that is not sampled, and where the trace is the producer's, whose id is not known */
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
