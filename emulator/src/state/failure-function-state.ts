/** State of the failure function of a failed run. */
import type { Message } from './message.ts';

export const FAILURE_FUNCTION_STATES = [
  'CALLBACK_INPROGRESS',
  'CALLBACK_SUCCESS',
  'CALLBACK_FAIL',
  'CALLBACK_CANCELED',
] as const;

export type FailureFunctionState = (typeof FAILURE_FUNCTION_STATES)[number];

/** Returns the state of the failure function; undefined when there is none to call. */
export function failureFunctionState({ failureNotice: notice }: Message): FailureFunctionState | undefined {
  if (notice === undefined) return undefined;
  if (notice.state === 'DELIVERED') return 'CALLBACK_SUCCESS';
  if (notice.state === 'FAILED') return 'CALLBACK_FAIL';
  return notice.state === 'CANCELLED' ? 'CALLBACK_CANCELED' : 'CALLBACK_INPROGRESS';
}
