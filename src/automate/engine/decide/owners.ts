/**
 * Ownership of entries: one policy owns an entry at a time. The order is hold, protect, resume, delete: repair comes
 * before delete. Of two policies of a kind, the first in the configuration wins. A closed window, a pause or a hold
 * changes no owner: a delete must not remove what its owner repairs next.
 */
import { newestStamp } from '#foundation/domain/lineage.ts';
import { isRepair } from '#foundation/domain/plan.ts';
import { missedFilter } from '../../guardrails/read-guards.ts';
import type { MessagePolicy, Policy, WorkflowDlqPolicy } from '../../policies/policy.ts';
import type { BodyStates } from '../../ledger/kept-bodies.ts';
import type { MessageEntry } from './dead-letters.ts';

type EntryPolicy = WorkflowDlqPolicy | MessagePolicy;
/** `deadLetter`: of a message. */
type Entry = Omit<MessageEntry, 'deadLetter'> & Partial<Pick<MessageEntry, 'deadLetter'>>;

export interface Owners {
  /** Returns the name of the policy of higher precedence than `policy` that selects an entry, as a function. */
  before(policy: EntryPolicy, known: Known): (entry: Entry, attempts: number) => string | undefined;
  /** Returns the names of all policies that select a run, as a function. */
  of(account: string, known: Known): (entry: Entry, attempts: number) => readonly string[];
}

interface Known {
  /** Retention of the DLQ in milliseconds; undefined if unknown. */
  readonly retention: number | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Kept bodies, for messages. */
  readonly bodies?: BodyStates;
}

const OWNING: readonly string[] = ['workflow-dlq.resume', 'workflow-dlq.delete', 'message-dlq.republish'];

export function owners(policies: readonly Policy[]): Owners {
  // A policy in audit mode owns nothing.
  const acting = policies.filter(
    (policy): policy is EntryPolicy =>
      OWNING.includes(policy.action.type) && (policy.mode === 'approve' || policy.mode === 'enforce'),
  );
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
            isAboutMessages(other) === isAboutMessages(policy) &&
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
 * A repair that runs only manually never acts by itself, so it releases its entries to another repair. It keeps them from
 * deletes, which cannot be undone.
 */
function releases({ when }: EntryPolicy, to: EntryPolicy): boolean {
  return 'byHand' in when && isRepair(to.action.type);
}

function isAboutMessages(policy: EntryPolicy): policy is MessagePolicy {
  return 'missed' in policy;
}

function rankOf(policy: EntryPolicy, all: readonly EntryPolicy[]): number {
  const index = all.findIndex(({ name }) => name === policy.name);
  const place = index === -1 ? all.length : index;
  return isRepair(policy.action.type) ? place : all.length + 1 + place;
}

/** Returns the entries that a policy selects. `attempts` is the number of resumes of the run so far. */
function selectionOf(policy: EntryPolicy, { retention, now, bodies }: Known) {
  // A policy without attempts left releases the entry.
  const most = isRepair(policy.action.type) ? policy.limits.attempts.max : Infinity;
  if (isAboutMessages(policy)) {
    const has = ({ dlqId, labels, deadLetter }: Entry): boolean =>
      deadLetter !== undefined &&
      'size' in (bodies?.get(dlqId) ?? {}) &&
      (newestStamp(labels)?.attempt ?? 0) < most &&
      policy.missed(deadLetter, now) === undefined &&
      policy.where.evaluate({ deadLetter, now }) === 'match';
    return { name: policy.name, has };
  }
  const filter = policy.filter(now);
  const { fromDate = -Infinity, toDate = Infinity } = filter;
  const has = (entry: Entry, attempts: number): boolean =>
    attempts < most &&
    !(entry.createdAt < fromDate || entry.createdAt > toDate) &&
    missedFilter(entry, filter) === undefined &&
    policy.where.evaluate({ entry, attempts, retention, now }) === 'match';
  return { name: policy.name, has };
}
