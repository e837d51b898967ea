/**
 * What a guard is: a pure function over facts that says why not, and a name that is the label of the metric, the field
 * of the ledger and the word on the page. `stage` tells when the line asks it.
 */
import type { PolicyMode } from '../domain/plan.ts';
import type { WorkflowDlqEntry } from '../domain/workflow-dlq.ts';

/** `run`: before anything is read, and again before every request. */
interface RunGuard {
  readonly name: string;
  readonly stage: 'run';
  check(facts: AuthorityFacts): string | undefined;
}

/** `read`: whether what was listed can be trusted; one objection means zero acts. */
interface ReadGuard {
  readonly name: string;
  readonly stage: 'read';
  check(facts: ReadFacts): string | undefined;
}

/** `evaluated`: whether the expression could be trusted on what was listed. */
interface EvaluatedGuard {
  readonly name: string;
  readonly stage: 'evaluated';
  check(facts: { readonly entries: number; readonly errors: number }): string | undefined;
}

/** `entry`: whether this one entry may be acted on. */
interface EntryGuard {
  readonly name: string;
  readonly stage: 'entry';
  check(candidate: Candidate, rules: EntryRules): Objection | undefined;
}

/** `plan`: how many of the allowed entries may be acted on now. */
interface PlanGuard {
  readonly name: string;
  readonly stage: 'plan';
  check(facts: PlanFacts): { readonly allowed: number; readonly reason?: string };
}

/** `act`: after the plan, before every request. */
interface ActGuard {
  readonly name: string;
  readonly stage: 'act';
  check(facts: AuthorityFacts): string | undefined;
}

/** `answer`: what the service said to one request; an objection pauses the whole engine. */
interface AnswerGuard {
  readonly name: string;
  readonly stage: 'answer';
  check(facts: { readonly asked: number; readonly done: number }): string | undefined;
}

export type Guard = RunGuard | ReadGuard | EvaluatedGuard | EntryGuard | PlanGuard | ActGuard | AnswerGuard;

export interface Objection {
  /** From a small set: it groups entries on the page. */
  readonly reason: string;
  /** Epoch milliseconds after which it no longer holds. */
  readonly until?: number;
}

export interface AuthorityFacts {
  /** Why everything, or this policy, is paused. */
  readonly paused?: string;
  /** The least of policy and engine. */
  readonly mode: PolicyMode;
}

/** The filter that was sent; values of one filter are alternatives. */
export interface SentFilter {
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly label?: readonly string[];
  readonly workflowUrl?: readonly string[];
  readonly flowControlKey?: readonly string[];
  readonly failureFunctionState?: readonly string[];
}

export interface ReadFacts {
  readonly complete: boolean;
  /** Why it is not complete. */
  readonly problem?: string;
  readonly entries: readonly WorkflowDlqEntry[];
  /** Rows that could not be understood. */
  readonly dropped: number;
  readonly filter: SentFilter;
  /** Local clock minus the service's, milliseconds; absent when the service sent no Date. */
  readonly clockSkewMs?: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** An entry and what the ledger and its stamps know of its run. */
export interface Candidate {
  readonly entry: WorkflowDlqEntry;
  readonly lineage: string;
  /** Resumes so far, across all returns to the DLQ. */
  readonly attempts: number;
  /** Epoch milliseconds; absent when only the stamp knows of them. */
  readonly lastAttemptAt?: number;
  /** Requests for this dlqId that the service refused, as far as this process remembers. */
  readonly rejections: number;
  /** Epoch milliseconds. */
  readonly lastRejectedAt?: number;
  /** Another instance whose stamp the entry carries. */
  readonly foreignInstance?: string;
  /** Whether this dlqId was sent before and may have had its effect. */
  readonly sentBefore: boolean;
  /** Whether an older entry of the same lineage stands in the same listing. */
  readonly lineageTaken: boolean;
}

export interface EntryRules {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly protectedLabels: readonly string[];
  /** What `select.failureFunctionState` lists. */
  readonly failureFunctionStates: readonly string[];
  readonly maxAttempts: number;
  /** Milliseconds after the first, second, … resume; the last one holds for all further ones. */
  readonly backoff: readonly number[];
}

export interface PlanFacts {
  readonly matched: number;
  readonly maxPerRun: number;
  readonly caps: readonly {
    readonly scope: string;
    readonly window: string;
    readonly used: number;
    readonly limit: number;
  }[];
}
