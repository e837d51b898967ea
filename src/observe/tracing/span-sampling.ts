/**
 * Which spans of a message go out with a commit. It is decided from what is known of the message and from what of that
 * is new, so that the same commit decides the same: of a sampled message each piece as it becomes known; of any other
 * nothing, until it is slow or has failed, and then all that was held back.
 */
import type { MessageProgress } from '../aggregation/message-trace.ts';
import type { Telling } from './delivery-spans.ts';
import type { TraceSettings } from './settings.ts';
import { isSampled, traceIdOf, workflowTraceIdOf } from './trace-ids.ts';

export type SamplingSettings = Pick<TraceSettings, 'sampleRatio' | 'slow'>;

export function sampled(message: MessageProgress, { sampleRatio }: SamplingSettings): boolean {
  const { account, messageId, workflowRunId } = message;
  if (sampleRatio === 1) return true;
  if (isSampled(traceIdOf(account, messageId), sampleRatio)) return true;
  // So that a run that is seen is seen whole.
  return workflowRunId !== undefined && isSampled(workflowTraceIdOf(account, workflowRunId), sampleRatio);
}

/** @param isLeftOpen its root went out while it was open */
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

/** Whether an attempt that was known before had shown it. */
function knewSlow({ attempts, news }: MessageProgress, slow: (at: number) => boolean): boolean {
  if (news.outcomes.length === attempts.length) return false;
  const isFresh = new Set(news.outcomes);
  return attempts.some(({ endedAt }, index) => !isFresh.has(index) && slow(endedAt));
}

/** A message begins when it is due. */
export function isSlow({ createdAt, dueAt = createdAt }: MessageProgress, at: number, slowMs: number): boolean {
  return dueAt !== undefined && at - dueAt > slowMs;
}
