/**
 * Ownership of entries: one policy owns an entry at a time. The order is hold, protect, resume, delete: repair comes
 * before delete. Of two policies of a kind, the first in the configuration wins. A closed window, a pause or a hold
 * changes no owner: a delete must not remove what its owner repairs next.
 */
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { missedFilter } from '../../guardrails/read-guards.ts';
import { entryFacts } from '../../policies/entry-facts.ts';
import type { Policy, WorkflowDlqPolicy } from '../../policies/policy.ts';

export interface Owners {
  /** Policy of higher precedence than `policy` that selects this entry. */
  before(policy: WorkflowDlqPolicy, entry: WorkflowDlqEntry, known: Known): string | undefined;
  /** All policies that select this entry. */
  of(account: string, entry: WorkflowDlqEntry, known: Known): readonly string[];
}

interface Known {
  /** Number of resumes of the run so far. */
  readonly attempts: number;
  /** Retention of the DLQ in milliseconds; undefined if unknown. */
  readonly retention: number | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

export function owners(policies: readonly Policy[]): Owners {
  const acting = policies.filter((policy): policy is WorkflowDlqPolicy => isAboutRuns(policy));
  return {
    before(policy, entry, known) {
      // An operator selected the entry. Claims prevent that a policy acts on it as well.
      if (policy.manual !== undefined) return undefined;
      const rank = rankOf(policy, acting);
      return acting.find(
        (other) =>
          other.name !== policy.name &&
          other.account === policy.account &&
          rankOf(other, acting) < rank &&
          !releases(other, policy) &&
          means(other, entry, known),
      )?.name;
    },
    of: (account, entry, known) =>
      acting.filter((other) => other.account === account && means(other, entry, known)).map(({ name }) => name),
  };
}

/**
 * A resume that runs only manually never acts by itself, so it releases its entries to another resume. It keeps them from
 * deletes, which cannot be undone.
 */
function releases({ when }: WorkflowDlqPolicy, to: WorkflowDlqPolicy): boolean {
  return 'byHand' in when && to.action.type === 'workflow-dlq.resume';
}

function isAboutRuns(policy: Policy): boolean {
  const isRuns = policy.action.type === 'workflow-dlq.resume' || policy.action.type === 'workflow-dlq.delete';
  // A policy in audit mode owns nothing.
  return isRuns && (policy.mode === 'approve' || policy.mode === 'enforce');
}

function rankOf(policy: WorkflowDlqPolicy, all: readonly WorkflowDlqPolicy[]): number {
  const index = all.findIndex(({ name }) => name === policy.name);
  const place = index === -1 ? all.length : index;
  return policy.action.type === 'workflow-dlq.resume' ? place : all.length + 1 + place;
}

function means(policy: WorkflowDlqPolicy, entry: WorkflowDlqEntry, { attempts, retention, now }: Known): boolean {
  // A policy without attempts left releases the entry.
  if (policy.action.type === 'workflow-dlq.resume' && attempts >= policy.limits.attempts.max) return false;
  const filter = policy.filter(now);
  const { fromDate = -Infinity, toDate = Infinity } = filter;
  if (entry.createdAt < fromDate || entry.createdAt > toDate) return false;
  return (
    missedFilter(entry, filter) === undefined &&
    policy.where.evaluate(entryFacts(entry, { attempts, retention }, now)) === 'match'
  );
}
