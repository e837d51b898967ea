/** A policy as the engine holds it: what its settings mean, compiled, with every default filled in. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { FlowControlSpec } from '#foundation/domain/flow-control.ts';
import type { NonEmptyTexts, PolicyMode, PruneFilter, Trigger } from '#foundation/domain/plan.ts';
import type { BudgetFacts, KnownBudget, PreconditionFacts } from './facts.ts';
import type { EntryFacts } from './entry-facts.ts';

type Verdict = 'match' | 'no' | 'error';

/** A `where`: `error` when a value is missing or an operation failed; the entry is not chosen, and it is counted. */
export interface Where<Facts> {
  readonly source: string;
  /** @param trigger what made the policy run; an expression that reads it fails without */
  evaluate(facts: Facts, trigger?: Trigger): Verdict;
}

export interface Precondition {
  readonly name: string;
  /** `error` is "not known": false and unknown hold. */
  evaluate(facts: PreconditionFacts, trigger?: Trigger): Verdict;
}

/** Filters of a listing of the workflow DLQ. Values of one filter are alternatives; filters narrow each other. */
export interface WorkflowDlqSelection {
  /** Epoch milliseconds, inclusive. */
  readonly fromDate?: number;
  /** Epoch milliseconds, inclusive. */
  readonly toDate?: number;
  readonly label?: NonEmptyTexts;
  readonly workflowUrl?: NonEmptyTexts;
  readonly flowControlKey?: NonEmptyTexts;
  readonly failureFunctionState?: NonEmptyTexts;
  readonly callerIp?: NonEmptyTexts;
}

type PolicyTimer = { readonly every: number } | { readonly cron: string; readonly timezone: string };

type PolicyEvent =
  /** Name of the alert, as Alertmanager's webhook tells it. */
  { readonly alert: string } | { readonly failureCallback: true };

export type PolicyWhen = PolicyTimer | PolicyEvent | (PolicyTimer & PolicyEvent) | { readonly byHand: true };

/** Days 0 (Sunday) to 6; times in minutes since midnight, `to` after `from` or, over midnight, of the day after. */
export interface PolicyWindow {
  readonly days: readonly number[];
  readonly from: number;
  readonly to: number;
  readonly timezone: string;
}

/** All finite. Times in milliseconds. */
export interface PolicyLimits {
  readonly maxMatched: number;
  readonly onTrip: 'approve' | 'abort';
  /** Deletes: most of a known population that may match, 0 to 1. */
  readonly maxMatchedShare: number;
  readonly maxPerRun: number;
  readonly maxPerHour: number;
  readonly maxPerDay: number;
  readonly minInterval: number;
  readonly attempts: { readonly max: number; readonly backoff: readonly number[] };
  /** Audit runs of a policy that is new or was widened. 0 where probation does not apply. */
  readonly probationRuns: number;
  /** Budget only. */
  readonly maxPerMonth?: number;
  readonly maxRaisePerMonthUsd?: number;
}

interface Ramp {
  readonly groupBy: 'workflowUrl' | 'destination';
  readonly start: number;
  readonly factor: number;
  readonly max: number;
  /** Milliseconds. */
  readonly settle: number;
}

interface PolicyBase {
  readonly name: string;
  readonly account: string;
  readonly owner?: string;
  readonly description?: string;
  /** Where it is written: `file:line`. */
  readonly source: string;
  readonly mode: PolicyMode;
  readonly when: PolicyWhen;
  /** Empty: at any time. */
  readonly windows: readonly PolicyWindow[];
  readonly preconditions: readonly Precondition[];
  readonly limits: PolicyLimits;
  /** Everything that decides what may be acted on, as plain JSON: `isNarrower` (scope.ts) compares two of them. */
  readonly scope: Readonly<Record<string, unknown>>;
}

export interface ResumePolicy extends PolicyBase {
  readonly action: {
    readonly type: 'workflow-dlq.resume';
    readonly retries?: number;
    /** Absent: none is sent. */
    readonly flowControlIfAbsent?: FlowControlSpec;
  };
  readonly where: Where<EntryFacts>;
  /** What the service is asked for at `now` (epoch milliseconds). */
  filter(now: number): WorkflowDlqSelection;
  readonly failureFunctionStates: readonly string[];
  readonly ramp: Ramp;
}

export interface WorkflowDeletePolicy extends PolicyBase {
  readonly action: {
    readonly type: 'workflow-dlq.delete';
    readonly archive: { readonly dir: string; readonly require: boolean };
    /** Milliseconds between the first run that matched an entry and the first that may delete it. */
    readonly grace: number;
  };
  readonly where: Where<EntryFacts>;
  filter(now: number): WorkflowDlqSelection;
}

export interface MessageDeletePolicy extends PolicyBase {
  readonly action: { readonly type: 'message-dlq.delete' };
  readonly where: Where<DeadLetterFacts>;
  /** The key of `select` that this letter does not meet at `now`; undefined when it meets all. */
  missed(letter: DeadLetter, now: number): string | undefined;
}

export interface PrunePolicy extends PolicyBase {
  readonly action: { readonly type: 'message-dlq.prune' };
  filter(now: number): PruneFilter;
}

export interface BudgetPolicy extends PolicyBase {
  readonly action: {
    readonly type: 'budget.raise';
    readonly step: { readonly percent?: number; readonly usd?: number; readonly roundUpTo: number };
    readonly ceilingUsd: number;
    readonly confirm: { readonly readings: number; /** Milliseconds. */ readonly apart: number };
  };
  readonly where: Where<{ readonly spend: BudgetFacts; readonly budget: KnownBudget }>;
}

/** A policy over listed entries of the workflow DLQ. */
export type WorkflowDlqPolicy = ResumePolicy | WorkflowDeletePolicy;

/** Told apart by `action.type`. */
export type Policy = WorkflowDlqPolicy | MessageDeletePolicy | PrunePolicy | BudgetPolicy;

/** What an expression sees of a dead message. Times are epoch milliseconds here. */
export interface DeadLetterFacts extends Omit<DeadLetter, 'account'> {
  readonly ageMs: number;
  readonly reason: string;
  readonly cause: string;
}

export function isResume(policy: Policy): policy is ResumePolicy {
  return policy.action.type === 'workflow-dlq.resume';
}
