/** What a failed run tells of its failure function. */
import type { Message } from './message.ts';

export const FAILURE_FUNCTION_STATES = [
  'CALLBACK_INPROGRESS',
  'CALLBACK_SUCCESS',
  'CALLBACK_FAIL',
  'CALLBACK_CANCELED',
] as const;

export type FailureFunctionState = (typeof FAILURE_FUNCTION_STATES)[number];

/** What became of the call that tells of the failure; undefined when there is none to make. */
export function failureFunctionState({ failureNotice: notice }: Message): FailureFunctionState | undefined {
  if (notice === undefined) return undefined;
  if (notice.state === 'DELIVERED') return 'CALLBACK_SUCCESS';
  if (notice.state === 'FAILED') return 'CALLBACK_FAIL';
  return notice.state === 'CANCELLED' ? 'CALLBACK_CANCELED' : 'CALLBACK_INPROGRESS';
}
