/**
 * Selects the listed entries that a policy means, by its selection and its expression. Nothing here can add an entry.
 */
import { CANARY_LABEL } from '#foundation/domain/canary.ts';
import type { Trigger, WorkflowDlqSelection } from '#foundation/domain/plan.ts';
import { failureCause, failureReason } from '#foundation/domain/reason.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { WorkflowDlqPolicy } from './policy.ts';

interface EvaluationFacts {
  /** Filter of the listing. */
  readonly filter: WorkflowDlqSelection;
  /** Retention of the DLQ in milliseconds; absent if unknown. */
  readonly retention?: number;
  /** Trigger of the run. */
  readonly trigger?: Trigger;
  /** Returns the number of resumes of an entry's run so far. */
  readonly attempts: (entry: WorkflowDlqEntry) => number;
}

interface Evaluation {
  readonly matched: readonly WorkflowDlqEntry[];
  /** `select`: failed outside the selected time. `where`: the expression is false, or failed. */
  readonly left: readonly { readonly guard: 'select' | 'where'; readonly reason: string; readonly dlqId: string }[];
  /** Number of entries on which the expression failed; `left` includes them. */
  readonly errors: number;
}

/**
 * Evaluates a policy on listed entries. The service may compare its dates with the creation of a run or with its
 * failure. A policy means the failure, so this function checks the times again.
 *
 * @param now epoch milliseconds
 */
export function evaluate(
  policy: WorkflowDlqPolicy,
  entries: readonly WorkflowDlqEntry[],
  { filter, retention, trigger, attempts }: EvaluationFacts,
  now: number,
): Evaluation {
  const matched: WorkflowDlqEntry[] = [];
  const left: { guard: 'select' | 'where'; reason: string; dlqId: string }[] = [];
  let errors = 0;
  for (const entry of entries) {
    const { dlqId, responseStatus: status, responseText: text } = entry;
    const unselected = reasonToLeave(policy, entry, filter);
    if (unselected !== undefined) {
      left.push({ guard: 'select', reason: unselected, dlqId });
      continue;
    }
    const verdict = policy.where.evaluate({ entry, attempts: attempts(entry), retention, now }, trigger);
    if (verdict === 'match') {
      matched.push(entry);
      continue;
    }
    if (verdict === 'error') errors++;
    const failure = `${failureCause(status, text)} ${status ?? failureReason(status, text)}`;
    left.push({ guard: 'where', reason: verdict === 'error' ? 'the expression failed' : failure, dlqId });
  }
  return { matched, left, errors };
}

function reasonToLeave(
  policy: WorkflowDlqPolicy,
  entry: WorkflowDlqEntry,
  { fromDate = -Infinity, toDate = Infinity }: WorkflowDlqSelection,
): string | undefined {
  if (entry.createdAt < fromDate || entry.createdAt > toDate) return 'failed outside the selected time';
  if (policy.manual === undefined && entry.labels.includes(CANARY_LABEL)) return 'message of a canary';
  return policy.leaves?.(entry);
}
