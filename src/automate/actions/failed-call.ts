/** Outcome of a request whose call failed: `rejected` only if the client proved that it had no effect. */
import { redact } from '#foundation/domain/redact.ts';
import type { ActResult } from './action.ts';

type FailedResult = Exclude<ActResult, { readonly outcome: 'accepted' }>;

const MAX_DETAIL = 300;

/** Outcome for any thrown value. `effect: 'none'` is the client's proof that nothing happened. */
export function failedCall(error: unknown): FailedResult {
  const { code, effect } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  return {
    outcome: effect === 'none' ? 'rejected' : 'unknown',
    code: typeof code === 'string' ? code : undefined,
    detail: errorText(error),
  };
}

/** Rejection by the daemon itself: nothing was sent. */
export function refusedUnsent(detail: string): FailedResult {
  return { outcome: 'rejected', detail };
}

/** Message of an error, without credentials, truncated for pages. */
export function errorText(error: unknown): string {
  const message: unknown = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  const text = typeof message === 'string' ? message : 'unreadable error';
  return redact(text).slice(0, MAX_DETAIL).toWellFormed();
}
