/** Dead letters of messages, as entries of a DLQ for policies. */
import { MOST_DEAD_LETTERS, type DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { MessagePolicy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import type { PlanDraft } from './plan-draft.ts';

/** Dead letter as an entry of a DLQ: its run is its message, its workflow its destination. */
export interface MessageEntry extends WorkflowDlqEntry {
  readonly deadLetter: DeadLetter;
}

/** Reads the newest dead letters of the account, oldest first: old ones that no policy deletes must not hide new ones. */
export async function readDeadLetters(
  { account }: MessagePolicy,
  draft: PlanDraft,
  { ledger }: EngineParts,
): Promise<readonly MessageEntry[]> {
  draft.notes.push('No operation lists these messages: their ids come from failure callbacks.');
  const deadLetters = await ledger.deadLetters(account);
  if (deadLetters.length === MOST_DEAD_LETTERS) draft.notes.push(`Only the newest ${MOST_DEAD_LETTERS} are checked.`);
  return deadLetters.map((deadLetter) => ({
    deadLetter,
    dlqId: deadLetter.dlqId,
    workflowRunId: deadLetter.messageId,
    workflowUrl: deadLetter.url ?? '',
    createdAt: deadLetter.learnedAt,
    labels: deadLetter.labels,
    responseStatus: deadLetter.status,
  }));
}
