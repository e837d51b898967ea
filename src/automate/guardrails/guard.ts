/**
 * What a guard is: a pure function over facts that says why not, and a name that is the label of the metric, the field
 * of the ledger and the word on the page. `stage` tells when the line asks it.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { BudgetDoubt } from '#foundation/domain/known-budget.ts';
import type { ActionType, PlanCap, PolicyMode } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';

/** `run`: before anything is read, and again before every request. */
interface RunGuard {
  readonly name: string;
  readonly stage: 'run';
  check(facts: RunFacts): string | undefined;
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

/** `matched`: whether so much may match. `approve` asks a person instead of acting; `abort` acts on none. */
interface MatchedGuard {
  readonly name: string;
  readonly stage: 'matched';
  check(facts: MatchedFacts): { readonly onTrip: 'approve' | 'abort'; readonly reason: string } | undefined;
}

/** `account`: facts of the account that hold the whole run. */
interface AccountGuard {
  readonly name: string;
  readonly stage: 'account';
  check(facts: AccountFacts): string | undefined;
}

/** `group`: how many entries of one group may be acted on now. `note` is shown either way. */
interface GroupGuard {
  readonly name: string;
  readonly stage: 'group';
  check(facts: GroupFacts): GroupVerdict;
}

/** `budget`: whether what is known of spend and budget allows a raise. `approve` asks a person. */
interface BudgetGuard {
  readonly name: string;
  readonly stage: 'budget';
  check(facts: RaiseFacts): { readonly verdict: 'hold' | 'approve'; readonly reason: string } | undefined;
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

/** `books`: whether a run accounts for all that it planned; an objection pauses the policy. */
interface BooksGuard {
  readonly name: string;
  readonly stage: 'books';
  check(facts: BooksFacts): string | undefined;
}

export type Guard =
  | RunGuard
  | ReadGuard
  | EvaluatedGuard
  | EntryGuard
  | MatchedGuard
  | AccountGuard
  | GroupGuard
  | BudgetGuard
  | PlanGuard
  | ActGuard
  | AnswerGuard
  | BooksGuard;

export interface Objection {
  /** From a small set: it groups entries on the page. */
  readonly reason: string;
  /** Epoch milliseconds after which it no longer holds. */
  readonly until?: number;
}

export interface GroupVerdict {
  readonly allowed: number;
  /** Why not more, or what was found: `0.97 of 312`. */
  readonly reason: string;
  /** Whether the guard let all pass that it was asked for. */
  readonly passed: boolean;
}

export interface RunFacts {
  /** Why everything, or this policy, is paused. */
  readonly paused?: string;
  /** Why this process is not the store's one executor. */
  readonly leaseLost?: string;
  /** Local clock minus the service's, milliseconds; absent before the service has answered. */
  readonly clockSkewMs?: number;
  /** Why now is outside the policy's windows: when the next one opens. A run by hand is asked as well. */
  readonly outsideWindow?: string;
  /** Preconditions that are false or not known, by name. */
  readonly unmet: readonly { readonly name: string; readonly verdict: 'no' | 'error' }[];
  /** Epoch milliseconds of the policy's last intent; absent where it has none. */
  readonly lastIntentAt?: number;
  /** Milliseconds; not asked before the further requests of a run. */
  readonly minInterval: number;
  /** Epoch milliseconds when the last prune was sent of which nobody knows what it deleted. */
  readonly lastUnknownAt?: number;
  readonly now: number;
}

export interface AuthorityFacts {
  /** The least of policy, account, engine and pause. */
  readonly mode: PolicyMode;
  /** The plan was approved by a person. */
  readonly isApproved: boolean;
  /** Why a person is asked though the mode would let it act. */
  readonly needsApproval?: string;
  /** Audit runs that a new or widened policy has still to make. */
  readonly probationLeft: number;
}

/** The filter that was sent; values of one filter are alternatives. */
export interface SentFilter {
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly label?: readonly string[];
  readonly workflowUrl?: readonly string[];
  readonly flowControlKey?: readonly string[];
  readonly failureFunctionState?: readonly string[];
  readonly callerIp?: readonly string[];
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
  /** Policy of higher precedence that means this entry: hold, protect, resume, delete. */
  readonly ownedBy?: string;
  /** Deletes: epoch milliseconds when this policy first matched it. */
  readonly firstMatchedAt?: number;
}

export interface EntryRules {
  readonly action: ActionType;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly protectedLabels: readonly string[];
  /** What `select.failureFunctionState` lists. */
  readonly failureFunctionStates: readonly string[];
  readonly maxAttempts: number;
  /** Milliseconds after the first, second, … resume; the last one holds for all further ones. */
  readonly backoff: readonly number[];
  /** Deletes: milliseconds between the first match and the delete. */
  readonly grace: number;
}

export interface MatchedFacts {
  readonly action: ActionType;
  readonly matched: number;
  readonly maxMatched: number;
  /** 0 to 1. */
  readonly maxMatchedShare: number;
  readonly onTrip: 'approve' | 'abort';
  /** Entries of the collector's last whole listing; absent when there is none. */
  readonly population?: number;
  /** The plan was made by a person who overruled the limit. */
  readonly isApproved: boolean;
}

export interface AccountFacts {
  readonly action: ActionType;
  /** Epoch milliseconds of the last 429 or exhausted quota; absent when there was none lately. */
  readonly refusedAt?: number;
  /** Entries of the workflow DLQ that failed in the last 15 minutes, and how many of them with 429. */
  readonly recentArrivals: { readonly all: number; readonly quota: number };
  readonly now: number;
}

export interface Deliveries {
  readonly delivered: number;
  readonly all: number;
  /** The daemon has not watched for the whole time: there may be more. */
  readonly isPartial?: boolean;
}

export interface GroupFacts {
  readonly action: ActionType;
  readonly group: string;
  /** Entries of the group that are allowed so far. */
  readonly matched: number;
  /** Messages to the group's destination that ended in the last 15 minutes; absent when not known. */
  readonly deliveries?: Deliveries;
  /** Entries of the group that failed in the last 10 minutes, and per 10 minutes over the last 24 hours. */
  readonly arrivals: { readonly last10m: number; readonly baseline10m: number };
  /** Absent for actions without a ramp. */
  readonly campaign?: Campaign;
  readonly now: number;
}

/** Dollars are whole in budgets, and of a month. */
export interface RaiseFacts {
  readonly spend: {
    readonly monthUsd?: number;
    readonly last24hUsd?: number;
    /** Of the last 14 days; absent under 3 days of own history. */
    readonly medianDayUsd?: number;
    readonly hoursLeft?: number;
    readonly fresh: boolean;
    /** Messages of the last day, and those that this daemon's own acts caused. */
    readonly messagesLastDay?: number;
    readonly ownMessagesLastDay?: number;
  };
  /** Absent when nobody knows it. */
  readonly known?: { readonly knownUsd: number; readonly assertedAt: number; readonly maxAgeMs: number };
  /** Absent when nothing is known. */
  readonly toUsd?: number;
  /** Why what is known may not be so, and whether a person can decide. */
  readonly doubt?: BudgetDoubt;
  /** Why the readings so far do not suffice. */
  readonly unconfirmed?: string;
  readonly isApproved: boolean;
  readonly ceilingUsd: number;
  readonly raisesThisMonth: number;
  readonly raisedThisMonthUsd: number;
  readonly maxPerMonth?: number;
  readonly maxRaisePerMonthUsd?: number;
  readonly now: number;
}

export interface PlanFacts {
  readonly matched: number;
  readonly maxPerRun: number;
  readonly caps: readonly PlanCap[];
}

/** planned = acted + skipped + failed + unknown + left */
export interface BooksFacts {
  readonly planned: number;
  readonly acted: number;
  readonly skipped: number;
  readonly failed: number;
  readonly unknown: number;
  readonly left: number;
}
