/** Which of the listed entries a policy means: its selection and its expression, and nothing that could add one. */
import type { Trigger } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { entryFacts } from './entry-facts.ts';
import type { WorkflowDlqPolicy, WorkflowDlqSelection } from './policy.ts';

export interface EvaluationFacts {
  /** The filter with which the entries were listed. */
  readonly filter: WorkflowDlqSelection;
  /** Resumes of the entry's run so far. */
  attemptsOf(entry: WorkflowDlqEntry): number;
  /** How long the DLQ keeps an entry, in milliseconds; absent where that is not known. */
  readonly retention?: number;
  /** What made the policy run. */
  readonly trigger?: Trigger;
}

export interface Evaluation {
  readonly matched: readonly WorkflowDlqEntry[];
  /** `select`: failed outside of the time asked for. `where`: the expression says no, or failed. */
  readonly left: readonly { readonly guard: 'select' | 'where'; readonly reason: string; readonly dlqId: string }[];
  /** Entries on which the expression failed; they are among `left`. */
  readonly errors: number;
}

/**
 * The service may compare its dates with the creation of a run or with its failure; a policy speaks of the failure,
 * so that is tested here again.
 *
 * @param now epoch milliseconds
 */
export function evaluate(
  policy: WorkflowDlqPolicy,
  entries: readonly WorkflowDlqEntry[],
  facts: EvaluationFacts,
  now: number,
): Evaluation {
  const { fromDate = -Infinity, toDate = Infinity } = facts.filter;
  const matched: WorkflowDlqEntry[] = [];
  const left: { guard: 'select' | 'where'; reason: string; dlqId: string }[] = [];
  let errors = 0;
  for (const entry of entries) {
    if (entry.createdAt < fromDate || entry.createdAt > toDate) {
      left.push({ guard: 'select', reason: 'failed outside of the time asked for', dlqId: entry.dlqId });
      continue;
    }
    const seen = entryFacts(entry, { attempts: facts.attemptsOf(entry), retention: facts.retention }, now);
    switch (policy.where.evaluate(seen, facts.trigger)) {
      case 'match':
        matched.push(entry);
        break;
      case 'no':
        left.push({ guard: 'where', reason: `${seen.cause} ${seen.status ?? seen.reason}`, dlqId: entry.dlqId });
        break;
      case 'error':
        errors++;
        left.push({ guard: 'where', reason: 'the expression failed', dlqId: entry.dlqId });
        break;
    }
  }
  return { matched, left, errors };
}
