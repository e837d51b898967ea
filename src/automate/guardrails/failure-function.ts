import type { Candidate, EntryRules, Objection } from './guard.ts';

/**
 * A failure function compensates for the failed run: resuming beside or after it would do the work and undo it.
 * One that failed has compensated nothing; no state means that the workflow has no such function. Beside what the
 * selection lists nothing overrules it.
 */
export function failureFunction({ entry }: Candidate, rules: EntryRules): Objection | undefined {
  if (rules.action !== 'workflow-dlq.resume') return undefined;
  const state = entry.failureFunctionState;
  if (state === undefined || state === 'CALLBACK_FAIL') return undefined;
  const onRequest = state === 'CALLBACK_SUCCESS' || state === 'CALLBACK_CANCELED';
  return onRequest && rules.failureFunctionStates.includes(state) ? undefined : { reason: state };
}
