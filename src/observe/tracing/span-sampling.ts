/**
 * Selects the spans of a message to send with a commit. The decision depends only on the known facts and on which of
 * them are new, so the same commit gives the same result. A sampled message is sent piece by piece. Any other message
 * is sent only when it becomes slow or fails, with all earlier spans.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import type { MessageProgress } from '../aggregation/message-trace.ts';
import type { Telling } from './delivery-spans.ts';
import type { TraceSettings } from './settings.ts';
import { isSampled, spanIdOf, traceIdOf, workflowTraceIdOf } from './trace-ids.ts';

export type SamplingSettings = Pick<TraceSettings, 'sampleRatio' | 'slow'>;

export function sampled(message: MessageProgress, { sampleRatio }: SamplingSettings): boolean {
  const { account, messageId, workflowRunId } = message;
  if (sampleRatio === 1) return true;
  if (isSampled(traceIdOf(account, messageId), sampleRatio)) return true;
  // A sampled workflow run is traced completely.
  return workflowRunId !== undefined && isSampled(workflowTraceIdOf(account, workflowRunId), sampleRatio);
}

/** @param isLeftOpen true if its root was sent while it was open */
export function tellingOf(
  message: MessageProgress,
  settings: SamplingSettings,
  { isLeftOpen, isBare }: { readonly isLeftOpen: boolean; readonly isBare: boolean },
): Telling | undefined {
  const { attempts, end, news } = message;
  if (news.isPast === true) return undefined;
  const slow = (at: number): boolean => isSlow(message, at, settings.slow);
  const knewEnd = end !== undefined && !news.ended;
  const isKeptEnd = end !== undefined && (end.outcome === 'failed' || slow(end.at));
  const wasKept = isLeftOpen || sampled(message, settings) || (knewEnd && isKeptEnd) || knewSlow(message, slow);
  if (!wasKept && !isKeptEnd && !attempts.some(({ endedAt }) => slow(endedAt))) return undefined;
  const told = wasKept ? news.outcomes : attempts.map((_attempt, index) => index);
  if (!news.ended) return isBare || told.length === 0 ? undefined : { attempts: told };
  return { attempts: told, root: isLeftOpen ? 'outcome' : 'whole', isBare };
}

/** Returns true if an attempt that was already known had shown that the message is slow. */
function knewSlow({ attempts, news }: MessageProgress, slow: (at: number) => boolean): boolean {
  if (news.outcomes.length === attempts.length) return false;
  const isFresh = new Set(news.outcomes);
  return attempts.some(({ endedAt }, index) => !isFresh.has(index) && slow(endedAt));
}

/** Returns true if the message is slow, measured from its due time. */
export function isSlow({ createdAt, dueAt = createdAt }: MessageProgress, at: number, slowMs: number): boolean {
  return dueAt !== undefined && at - dueAt > slowMs;
}

/**
 * Returns the span that an exemplar of a delivery refers to: the span that was or will be sent for it, if any.
 *
 * @returns undefined if the message is not sampled, or if the trace is the producer's, whose id is unknown
 */
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
