/**
 * Ownership of entries: one policy owns an entry at a time. The order is hold, protect, resume, delete: repair comes
 * before delete. Of two policies of a kind, the first in the configuration wins. A closed window, a pause or a hold
 * changes no owner: a delete must not remove what its owner repairs next.
 */
import { newestStamp } from '#foundation/domain/lineage.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { missedFilter } from '../../guardrails/read-guards.ts';
import type { MessagePolicy, Policy, RepublishPolicy, WorkflowDlqPolicy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';

export interface Owners {
  /** Returns the name of the policy of higher precedence than `policy` that selects an entry, as a function. */
  before(policy: WorkflowDlqPolicy, known: Known): (entry: WorkflowDlqEntry, attempts: number) => string | undefined;
  /** Returns the names of all policies that select an entry, as a function. */
  of(account: string, known: Known): (entry: WorkflowDlqEntry, attempts: number) => readonly string[];
}

interface Known {
  /** Retention of the DLQ in milliseconds; undefined if unknown. */
  readonly retention: number | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

export function owners(policies: readonly Policy[]): Owners {
  const acting = policies.filter((policy): policy is WorkflowDlqPolicy => isAboutRuns(policy));
  return {
    before(policy, known) {
      // An operator selected the entry. Claims prevent that a policy acts on it as well.
      if (policy.manual !== undefined) return () => undefined;
      const rank = rankOf(policy, acting);
      const others = acting
        .filter(
          (other) =>
            other.name !== policy.name &&
            other.account === policy.account &&
            rankOf(other, acting) < rank &&
            !releases(other, policy),
        )
        .map((other) => selectionOf(other, known));
      return (entry, attempts) => others.find(({ has }) => has(entry, attempts))?.name;
    },
    of(account, known) {
      const all = acting.filter((other) => other.account === account).map((other) => selectionOf(other, known));
      return (entry, attempts) => all.filter(({ has }) => has(entry, attempts)).map(({ name }) => name);
    },
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
  return isRuns && isActing(policy);
}

/** A policy in audit mode owns nothing. */
function isActing({ mode }: Policy): boolean {
  return mode === 'approve' || mode === 'enforce';
}

/**
 * Returns the name of the policy of higher precedence than `policy` that publishes a dead letter again, as a function. A
 * letter that cannot be published again, or that has no attempts left, has none.
 */
export async function messageOwner(
  policy: MessagePolicy,
  entries: readonly { readonly dlqId: string }[],
  deps: Pick<EngineParts, 'policies' | 'bodies' | 'ledger' | 'clock'>,
): Promise<(letter: DeadLetter) => string | undefined> {
  const all = deps.policies.filter(
    (other): other is RepublishPolicy =>
      other.action.type === 'message-dlq.republish' && other.account === policy.account && isActing(other),
  );
  const own = all.findIndex(({ name }) => name === policy.name);
  const isDelete = policy.action.type === 'message-dlq.delete';
  const others = (own === -1 ? all : all.slice(0, own)).filter(({ when }) => isDelete || !('byHand' in when));
  if (policy.manual !== undefined || others.length === 0) return () => undefined;
  const now = deps.clock.now();
  const ids = entries.map(({ dlqId }) => dlqId);
  const kept = await deps.bodies?.states(policy.account, ids, deps.ledger);
  return (deadLetter) => {
    const body = kept?.get(deadLetter.dlqId);
    if (body === undefined || 'reason' in body) return undefined;
    const attempts = newestStamp(deadLetter.labels)?.attempt ?? 0;
    return others.find(
      (other) =>
        attempts < other.limits.attempts.max &&
        other.missed(deadLetter, now) === undefined &&
        other.where.evaluate({ deadLetter, now }) === 'match',
    )?.name;
  };
}

function rankOf(policy: WorkflowDlqPolicy, all: readonly WorkflowDlqPolicy[]): number {
  const index = all.findIndex(({ name }) => name === policy.name);
  const place = index === -1 ? all.length : index;
  return policy.action.type === 'workflow-dlq.resume' ? place : all.length + 1 + place;
}

/** Returns the entries that a policy selects. `attempts` is the number of resumes of the run so far. */
function selectionOf(policy: WorkflowDlqPolicy, { retention, now }: Known) {
  const filter = policy.filter(now);
  const { fromDate = -Infinity, toDate = Infinity } = filter;
  // A policy without attempts left releases the entry.
  const most = policy.action.type === 'workflow-dlq.resume' ? policy.limits.attempts.max : Infinity;
  const has = (entry: WorkflowDlqEntry, attempts: number): boolean =>
    attempts < most &&
    !(entry.createdAt < fromDate || entry.createdAt > toDate) &&
    missedFilter(entry, filter) === undefined &&
    policy.where.evaluate({ entry, attempts, retention, now }) === 'match';
  return { name: policy.name, has };
}
