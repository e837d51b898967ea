/**
 * Ids of traces and spans, derived from their subject. A message has the same ids after a restart, and an application
 * can compute the trace id of its message. The version is part of the hash input. Any change here requires a new
 * version.
 *
 * Account names have no line breaks and the message id comes last, so no two inputs are equal.
 */
import { hash } from 'node:crypto';
import type { SpanLink } from './span.ts';

/**
 * Returns 32 hex digits: the first 16 bytes of SHA-256 over `msgsvc-opsd/trace/v1`, account and message id, one per
 * line.
 */
export function traceIdOf(account: string, messageId: string): string {
  return hexOf(`msgsvc-opsd/trace/v1\n${account}\n${messageId}`, 16);
}

/** Returns the trace id of a workflow run: the same hash over `msgsvc-opsd/workflow/v1`, account and run id. */
export function workflowTraceIdOf(account: string, workflowRunId: string): string {
  return hexOf(`msgsvc-opsd/workflow/v1\n${account}\n${workflowRunId}`, 16);
}

/**
 * Returns 16 hex digits: the first 8 bytes of SHA-256 over `msgsvc-opsd/span/v1`, account, part and message id, one per
 * line.
 *
 * @param part `deliver` for the root; `attempt:TIME:N` for the N-th attempt (from 0) that ended at TIME, epoch ms;
 * `wait:TIME:N` for the wait before it; `wait:TIME` for a wait that the message's end at TIME ended; `outcome`,
 * `publish`, `step`; `run` with the id of a workflow run instead of the message id
 */
export function spanIdOf(account: string, messageId: string, part: string): string {
  return hexOf(`msgsvc-opsd/span/v1\n${account}\n${part}\n${messageId}`, 8);
}

/**
 * Returns true if a trace belongs to the sampled share: compares 52 of its last 56 bits, which are random, with the
 * ratio.
 */
export function isSampled(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-14, -1), 16) / 2 ** 52 < ratio;
}

/** Returns the hash as hex. An id of all zeros is invalid and is changed. */
function hexOf(text: string, bytes: number): string {
  const hex = hash('sha256', text, 'hex').slice(0, 2 * bytes);
  return /^0+$/.test(hex) ? `${hex.slice(0, -1)}1` : hex;
}

const FORMAT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Parses the W3C `traceparent` header strictly: `00-<32 hex>-<16 hex>-<2 hex>` in lower case. A later version may
 * continue after another hyphen. Version ff, ids of all zeros and text after version 00's four fields are invalid.
 */
export function parseTraceparent(header: string): SpanLink | undefined {
  const match = FORMAT.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, spanId, flags, more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}
