/**
 * Ids of traces and spans, made of what they tell about: the same message has the same ids after a restart, and an
 * application can compute the trace id of a message it published. The version is part of what is hashed; a change of
 * anything here is a new version.
 *
 * Account names have no line breaks, and the message id comes last, so no two inputs read the same.
 */
import { hash } from 'node:crypto';

/** 32 hex digits: the first 16 bytes of SHA-256 over `msgsvc-opsd/trace/v1`, account and message id, a line each. */
export function traceIdOf(account: string, messageId: string): string {
  return hexOf(`msgsvc-opsd/trace/v1\n${account}\n${messageId}`, 16);
}

/** The trace of a workflow run: likewise, over `msgsvc-opsd/workflow/v1`, account and run id. */
export function workflowTraceIdOf(account: string, workflowRunId: string): string {
  return hexOf(`msgsvc-opsd/workflow/v1\n${account}\n${workflowRunId}`, 16);
}

/**
 * 16 hex digits: the first 8 bytes of SHA-256 over `msgsvc-opsd/span/v1`, account, part and message id, a line each.
 *
 * @param part `deliver` for the root; `attempt:TIME:N` for the N-th attempt (from 0) that ended at TIME, epoch ms;
 *   `wait:TIME:N` for the wait before it, `wait:TIME` for one that the message's end at TIME ended; `outcome`,
 *   `publish`, `step`; `run` with the id of a workflow run in place of the message's
 */
export function spanIdOf(account: string, messageId: string, part: string): string {
  return hexOf(`msgsvc-opsd/span/v1\n${account}\n${part}\n${messageId}`, 8);
}

/** Whether a trace belongs to the sampled share: 52 of its last 56 bits, the random ones, against the ratio. */
export function isSampled(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-14, -1), 16) / 2 ** 52 < ratio;
}

/** An id of zeroes only is no id. */
function hexOf(text: string, bytes: number): string {
  const hex = hash('sha256', text, 'hex').slice(0, 2 * bytes);
  return /^0+$/.test(hex) ? `${hex.slice(0, -1)}1` : hex;
}
