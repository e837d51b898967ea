import type { Candidate, EntryRules, Objection } from './guard.ts';

/**
 * Denies runs whose failure function compensated for the failure: a resume would repeat work that was undone. A failure
 * function that failed has compensated nothing. No state means that the workflow has no failure function. Only states
 * listed in the selection overrule this guard.
 */
export function failureFunction({ entry }: Candidate, rules: EntryRules): Objection | undefined {
  if (rules.action !== 'workflow-dlq.resume') return undefined;
  const state = entry.failureFunctionState;
  if (state === undefined || state === 'CALLBACK_FAIL') return undefined;
  const onRequest = state === 'CALLBACK_SUCCESS' || state === 'CALLBACK_CANCELED';
  return onRequest && rules.failureFunctionStates.includes(state) ? undefined : { reason: state };
}
