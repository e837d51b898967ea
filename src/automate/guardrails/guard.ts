/**
 * Guard: a pure function over facts that returns an objection or nothing: a `Hold` with measured and needed value, or
 * for an entry an `Objection`. Its name is the metric's label, the ledger's field and the word on the page. `stage` is
 * the point in the run at which the engine calls it.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { Deploy } from '#foundation/domain/deploy.ts';
import type { Hold } from '#foundation/domain/hold.ts';
import type { BudgetDoubt, BudgetFacts, KnownBudget } from '#foundation/domain/known-budget.ts';
import type { ActionType, PlanCap, PolicyMode, WorkflowDlqSelection } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';

/** Checks by stage. */
interface Checks {
  /** Before anything is read, and again before every request. */
  run(facts: RunFacts): Hold | undefined;
  /** Checks that a listing can be trusted. One objection aborts the run. */
  read(facts: ReadFacts): Hold | undefined;
  /** Checks that the expression works on the listed entries. */
  evaluated(facts: { readonly entries: number; readonly errors: number }): Hold | undefined;
  /** Allows or denies one entry. */
  entry(candidate: Candidate<GuardedEntry>, rules: EntryRules): Objection | undefined;
  /** Limits the number of matched entries. `approve` asks an operator; `abort` acts on none. */
  matched(facts: MatchedFacts): { readonly onTrip: 'approve' | 'abort'; readonly hold: Hold } | undefined;
  /** Holds the whole run because of the state of the account. */
  account(facts: QuotaFacts): Hold | undefined;
  /** Number of entries of one group that the run is allowed to act on now. */
  group(facts: GroupFacts): GroupVerdict;
  /** Checks that spend and budget allow a raise. `approve` asks an operator. */
  budget(facts: RaiseFacts): { readonly verdict: 'hold' | 'approve'; readonly hold: Hold } | undefined;
  /** Number of the allowed entries that the run is allowed to act on now. */
  plan(facts: PlanFacts): { readonly allowed: number; readonly hold?: Hold };
  /** After the plan, before every request. */
  act(facts: AuthorityFacts): Hold | undefined;
  /** Checks the service's response to one request. An objection pauses the whole engine. */
  answer(facts: { readonly asked: number; readonly done: number }): Hold | undefined;
  /** Checks that the run's results add up to its plan. An objection pauses the policy. */
  outcome(facts: OutcomeFacts): Hold | undefined;
}

export type Guard = {
  [Stage in keyof Checks]: { readonly name: string; readonly stage: Stage; readonly check: Checks[Stage] };
}[keyof Checks];

export interface Objection {
  /** One of a small set of texts: the page groups entries by it. */
  readonly reason: string;
  /** Epoch milliseconds when the objection ends. */
  readonly until?: number;
}

export interface GroupVerdict {
  readonly allowed: number;
  /** Reason for the limit, or the finding: `0.97 of 312`. */
  readonly reason: string;
  /** True if the guard allowed every entry. */
  readonly passed: boolean;
  /** Objection of a guard that allows nothing. */
  readonly hold?: Hold;
}

export interface ActivePause {
  readonly reason: string;
  /** Step that ends the pause. */
  readonly remedy: string;
  /** Epoch milliseconds; absent if unknown. */
  readonly since?: number;
}

export interface RunFacts {
  /** Pause of the engine or of this policy. */
  readonly paused?: ActivePause;
  /** Reason why this process is not the store's only executor. */
  readonly leaseLost?: string;
  /** Local clock minus the service's, in milliseconds. Absent before the first response from the service. */
  readonly clockSkewMs?: number;
  /**
   * Epoch milliseconds when the policy's next window opens; Infinity if none does. Absent inside a window. Manual runs
   * are checked as well.
   */
  readonly opensAt?: number;
  /** Preconditions that are false or unknown, by name. */
  readonly unmet: readonly { readonly name: string; readonly verdict: 'no' | 'error' }[];
  /** Epoch milliseconds of the policy's last intent; absent if it has none. */
  readonly lastIntentAt?: number;
  /** Milliseconds. Not checked before the later requests of a run. */
  readonly minInterval: number;
  /** Epoch milliseconds when the last prune with an unknown result was sent. */
  readonly lastUnknownAt?: number;
  readonly now: number;
}

export interface AuthorityFacts {
  /** Most restrictive mode of policy, account, engine and pause. */
  readonly mode: PolicyMode;
  /** Reason why the mode is lower than the policy's own. */
  readonly reducedBy?: string;
  /** True if an operator approved the plan. */
  readonly isApproved: boolean;
  /** Reason for an approval that the mode does not require. */
  readonly needsApproval?: string;
  /** Audit runs that a new or widened policy still has to make. */
  readonly probationLeft: number;
}

export interface ReadFacts {
  readonly complete: boolean;
  /** Reason why the listing is incomplete. */
  readonly problem?: string;
  readonly entries: readonly WorkflowDlqEntry[];
  /** Number of invalid rows, which were dropped. */
  readonly dropped: number;
  /** Filter of the request. */
  readonly filter: WorkflowDlqSelection;
  /** Local clock minus the service's, in milliseconds. Absent if the service sent no Date header. */
  readonly clockSkewMs?: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Fields of an entry that guards use. For a dead letter, `createdAt` is the time of its callback. */
export type GuardedEntry = Pick<WorkflowDlqEntry, 'dlqId' | 'labels' | 'createdAt' | 'failureFunctionState'>;

/** Entry, with the data that ledger and stamps hold about its run. */
export interface Candidate<E extends GuardedEntry = WorkflowDlqEntry> {
  readonly entry: E;
  /** Number of resumes so far, across all returns to the DLQ. */
  readonly attempts: number;
  /** Epoch milliseconds. Absent if only the stamp records the attempts. */
  readonly lastAttemptAt?: number;
  /** Number of requests for this dlqId that the service rejected since this process started. */
  readonly rejections: number;
  /** Epoch milliseconds. */
  readonly lastRejectedAt?: number;
  /** Name of another instance whose stamp the entry carries. */
  readonly stampedBy?: string;
  /** True if this dlqId was sent before and may have had its effect. */
  readonly sentBefore: boolean;
  /** True if the listing has an older entry of the same lineage. */
  readonly lineageTaken: boolean;
  /** Policy of higher precedence that selects this entry. Precedence: hold, protect, resume, delete. */
  readonly ownedBy?: string;
  /** For policies that wait for a deploy: the last one that is about this entry, null if there is none. */
  readonly deploy?: Pick<Deploy, 'version' | 'at' | 'isRollback'> | null;
  /** For republishes: why the message cannot be published again. */
  readonly unpublishable?: string;
  /** For deletes: epoch milliseconds when this policy first matched the entry. */
  readonly firstMatchedAt?: number;
}

export interface EntryRules {
  readonly action: ActionType;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly protectedLabels: readonly string[];
  /** Values of `select.failureFunctionState`. */
  readonly failureFunctionStates: readonly string[];
  readonly maxAttempts: number;
  /** Milliseconds of wait after the first resume, the second, and so on. The last value applies to all later ones. */
  readonly backoff: readonly number[];
  /** Milliseconds between a deploy and the first action; 0 for policies that wait for none. */
  readonly afterDeploy: number;
  /** For deletes: milliseconds between the first match and the delete. */
  readonly grace: number;
}

export interface MatchedFacts {
  readonly action: ActionType;
  /** Matched entries that the entry guards allow. */
  readonly allowed: number;
  readonly maxMatched: number;
  /** 0 to 1. */
  readonly maxMatchedShare: number;
  readonly onTrip: 'approve' | 'abort';
  /** Number of entries in the collector's last complete listing; absent without one. */
  readonly population?: number;
  /** True if an operator overruled the limit for this plan. */
  readonly isApproved: boolean;
}

/** Failed entries, and how many of them failed with 429. */
export interface Arrivals {
  readonly all: number;
  readonly quota: number;
}

export interface QuotaFacts {
  readonly action: ActionType;
  /** Epoch milliseconds of the last 429 or exhausted quota; absent if there was none recently. */
  readonly refusedAt?: number;
  /** Entries of the workflow DLQ that failed in the last 15 minutes. */
  readonly recentArrivals: Arrivals & { readonly newer?: Arrivals };
  readonly now: number;
}

export interface Deliveries {
  readonly delivered: number;
  readonly all: number;
  /** True if the daemon has not watched the whole window, so there may be more. */
  readonly isPartial?: boolean;
  /** Part of these in the newer half of the window; absent if unknown. */
  readonly newer?: { readonly delivered: number; readonly all: number };
}

export interface GroupFacts {
  readonly action: ActionType;
  readonly group: string;
  /** Host of the group; absent for a group without one. */
  readonly destination?: string;
  /** Entries of the group that earlier guards allow. */
  readonly matched: number;
  /** Attempts to the group's destination that ended in the window; absent if unknown. */
  readonly deliveries?: Deliveries;
  /** Window in milliseconds: 15 minutes, or the time since a deploy. */
  readonly deliveriesMs: number;
  /**
   * Entries of the group that failed in the last 10 minutes, those of them in the last 5 minutes, and the average per 10
   * minutes over the last 24 hours.
   */
  readonly arrivals: { readonly last10m: number; readonly last5m?: number; readonly baseline10m: number };
  /** Absent for actions without a ramp. */
  readonly campaign?: Campaign;
  readonly now: number;
}

/** Facts about a raise. Budgets are in whole dollars a month. */
export interface RaiseFacts {
  readonly spend: BudgetFacts;
  /** Absent if the budget is unknown. */
  readonly known?: KnownBudget;
  /** Absent if the budget is unknown. */
  readonly toUsd?: number;
  /** Reason to doubt the known budget, and whether an operator can decide. */
  readonly doubt?: BudgetDoubt;
  /** Present if more readings are required. `apart` is the minimum distance as text. */
  readonly unconfirmed?: {
    readonly readings: number;
    readonly needed: number;
    readonly apart: string;
    readonly windowMs: number;
    /** Epoch milliseconds of the earliest last reading. */
    readonly until: number;
  };
  readonly isApproved: boolean;
  readonly ceilingUsd: number;
  readonly raisesThisMonth: number;
  readonly raisedThisMonthUsd: number;
  /** Epoch milliseconds when the raises of the next month begin to count. */
  readonly monthEndsAt: number;
  readonly maxPerMonth?: number;
  readonly maxRaisePerMonthUsd?: number;
  readonly now: number;
}

export interface PlanFacts {
  readonly matched: number;
  readonly maxPerRun: number;
  readonly caps: readonly PlanCap[];
}

/** Results of a run: planned = acted + skipped + failed + unknown + left. */
export interface OutcomeFacts {
  readonly planned: number;
  readonly acted: number;
  /** Not sent: something changed since the plan, or nothing was left to do. */
  readonly skipped: number;
  /** Provably without effect. */
  readonly failed: number;
  readonly unknown: number;
  /** Not reached. */
  readonly left: number;
}
