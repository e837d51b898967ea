/** What became of a request whose call failed: without effect only where the client could prove it. */
import { redact } from '#foundation/domain/redact.ts';
import type { ActResult } from './action.ts';

type FailedResult = Exclude<ActResult, { readonly outcome: 'accepted' }>;

const MAX_DETAIL = 300;

/** Takes whatever was thrown; `effect: 'none'` is the client's word that nothing can have happened. */
export function failedCall(error: unknown): FailedResult {
  const { code, effect } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  return {
    outcome: effect === 'none' ? 'rejected' : 'unknown',
    ...(typeof code === 'string' && { code }),
    detail: errorText(error),
  };
}

/** A refusal of our own: nothing was sent. */
export function refused(detail: string): FailedResult {
  return { outcome: 'rejected', detail };
}

/** The message of an error, without credentials, cut to what a page can show. */
export function errorText(error: unknown): string {
  const message: unknown = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  const text = typeof message === 'string' ? message : 'unreadable error';
  return redact(text).slice(0, MAX_DETAIL).toWellFormed();
}
