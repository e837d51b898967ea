/**
 * Selects the listed entries that a policy means, by its selection and its expression. Nothing here can add an entry.
 */
import { CANARY_LABEL } from '#foundation/domain/canary.ts';
import type { Trigger, WorkflowDlqSelection } from '#foundation/domain/plan.ts';
import { failureCause, failureReason } from '#foundation/domain/reason.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Where, WorkflowDlqPolicy } from './policy.ts';

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

interface Evaluation<E> {
  readonly matched: readonly E[];
  /** `select`: outside of the selection. `where`: the expression is false, or failed. */
  readonly left: readonly { readonly guard: 'select' | 'where'; readonly reason: string; readonly dlqId: string }[];
  /** Number of entries on which the expression failed; `left` includes them. */
  readonly errors: number;
}

/** @param test.unselected reason to leave an entry. `failure`: its failure, as the reason of a false expression */
export function evaluateEach<E extends { readonly dlqId: string }>(
  entries: readonly E[],
  test: {
    readonly unselected: (entry: E) => string | undefined;
    readonly verdict: (entry: E) => ReturnType<Where<never>['evaluate']>;
    readonly failure: (entry: E) => string;
  },
): Evaluation<E> {
  const matched: E[] = [];
  const left: { guard: 'select' | 'where'; reason: string; dlqId: string }[] = [];
  let errors = 0;
  for (const entry of entries) {
    const { dlqId } = entry;
    const unselected = test.unselected(entry);
    if (unselected !== undefined) {
      left.push({ guard: 'select', reason: unselected, dlqId });
      continue;
    }
    const verdict = test.verdict(entry);
    if (verdict === 'match') {
      matched.push(entry);
      continue;
    }
    if (verdict === 'error') errors++;
    left.push({ guard: 'where', reason: verdict === 'error' ? 'the expression failed' : test.failure(entry), dlqId });
  }
  return { matched, left, errors };
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
): Evaluation<WorkflowDlqEntry> {
  return evaluateEach(entries, {
    unselected: (entry) => reasonToLeave(policy, entry, filter),
    verdict: (entry) => policy.where.evaluate({ entry, attempts: attempts(entry), retention, now }, trigger),
    failure: ({ responseStatus: status, responseText: text }) =>
      `${failureCause(status, text)} ${status ?? failureReason(status, text)}`,
  });
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
