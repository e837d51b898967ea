/** Policy as the engine uses it: settings compiled, with every default filled in. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { FlowControlSpec } from '#foundation/domain/flow-control.ts';
import type { BodyEdit } from '#foundation/domain/carried-message.ts';
import type { ManualOrigin } from '#foundation/domain/manual-plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import {
  isRepair,
  type PolicyMode,
  type PruneFilter,
  type Trigger,
  type WorkflowDlqSelection,
} from '#foundation/domain/plan.ts';
import type { BudgetFacts, KnownBudget } from '#foundation/domain/known-budget.ts';
import type { PreconditionFacts } from './facts.ts';
import type { DeadLetterFacts, WorkflowEntryFacts } from './entry-facts.ts';

type Verdict = 'match' | 'no' | 'error';

/** Compiled `where`. `error`: a value is missing or an operation failed; the entry does not match and is counted. */
export interface Where<Facts> {
  readonly source: string;
  /** @param trigger trigger of the run; without it, an expression that reads it fails */
  evaluate(facts: Facts, trigger?: Trigger): Verdict;
}

export interface Precondition {
  readonly name: string;
  /** `error` means unknown: false and unknown both hold the run. */
  evaluate(facts: PreconditionFacts, trigger?: Trigger): Verdict;
}

type PolicyTimer = { readonly every: number } | { readonly cron: string; readonly timezone: string };

type PolicyEvent =
  /** Name of the alert in Alertmanager's webhook. */
  | { readonly alert: string }
  | { readonly failureCallback: true }
  /** Milliseconds that entries wait after a deploy. The policy acts only on entries that failed before one. */
  | { readonly afterDeploy: number };

export type PolicyWhen = PolicyTimer | PolicyEvent | (PolicyTimer & PolicyEvent) | { readonly byHand: true };

/**
 * Window. Days are 0 (Sunday) to 6, times are minutes since midnight. A `to` at or before `from` is on the next day.
 */
export interface PolicyWindow {
  readonly days: readonly number[];
  readonly from: number;
  readonly to: number;
  readonly timezone: string;
}

/** Limits, all finite. Times are in milliseconds. */
export interface PolicyLimits {
  readonly maxMatched: number;
  readonly onTrip: 'approve' | 'abort';
  /** For deletes: maximum share of a known population that may match, 0 to 1. */
  readonly maxMatchedShare: number;
  readonly maxPerRun: number;
  readonly maxPerHour: number;
  readonly maxPerDay: number;
  readonly minInterval: number;
  readonly attempts: { readonly max: number; readonly backoff: readonly number[] };
  /** Number of audit runs of a new or widened policy; 0 if probation does not apply. */
  readonly probationRuns: number;
  /** For the budget only. */
  readonly maxPerMonth?: number;
  readonly maxRaisePerMonthUsd?: number;
}

interface Ramp {
  readonly groupBy: 'workflowUrl' | 'url' | 'destination';
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
  /** Place in the configuration: `file:line`. */
  readonly source: string;
  readonly mode: PolicyMode;
  readonly when: PolicyWhen;
  /** Empty: no restriction. */
  readonly windows: readonly PolicyWindow[];
  readonly preconditions: readonly Precondition[];
  readonly limits: PolicyLimits;
  /** Origin of the policy of a manual plan; absent for a policy of the configuration. */
  readonly manual?: ManualOrigin;
  /** Settings that decide what the policy is allowed to act on, as plain JSON. `isNarrower` (scope.ts) compares two of them. */
  readonly scope: Readonly<Record<string, unknown>>;
}

export interface ResumePolicy extends PolicyBase {
  readonly action: {
    readonly type: 'workflow-dlq.resume';
    readonly retries?: number;
    /** Absent: no flow control is sent. */
    readonly flowControlIfAbsent?: FlowControlSpec;
  };
  readonly where: Where<WorkflowEntryFacts>;
  /** Filter of the request at `now` (epoch milliseconds). */
  filter(now: number): WorkflowDlqSelection;
  readonly failureFunctionStates: readonly string[];
  readonly ramp: Ramp;
}

interface WorkflowDeletePolicy extends PolicyBase {
  readonly action: {
    readonly type: 'workflow-dlq.delete';
    readonly archive: { readonly dir: string; readonly require: boolean };
    /** Milliseconds between the first run that matches an entry and the first run that may delete it. */
    readonly grace: number;
  };
  readonly where: Where<WorkflowEntryFacts>;
  filter(now: number): WorkflowDlqSelection;
}

interface MessagePolicyBase extends PolicyBase {
  readonly where: Where<DeadLetterFacts>;
  /** Key of `select` that this dead letter does not meet at `now`; undefined if it meets all. */
  missed(deadLetter: DeadLetter, now: number): string | undefined;
}

export interface RepublishPolicy extends MessagePolicyBase {
  readonly action: {
    readonly type: 'message-dlq.republish';
    readonly retries: number;
    /** Epoch milliseconds. */
    readonly notBefore?: number;
    readonly evenIfRepeated: boolean;
    /** Of a manual plan. */
    readonly edit?: BodyEdit;
  };
  readonly ramp: Ramp;
}

interface MessageDeletePolicy extends MessagePolicyBase {
  readonly action: { readonly type: 'message-dlq.delete' };
}

/** Policy over dead letters from failure callbacks. */
export type MessagePolicy = RepublishPolicy | MessageDeletePolicy;

/** Policy whose actions are verified and grow in steps. */
export type RepairPolicy = ResumePolicy | RepublishPolicy;

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

/** Policy over listed entries of the workflow DLQ. */
export type WorkflowDlqPolicy = (ResumePolicy | WorkflowDeletePolicy) & {
  /** Reason why a manual selection does not include an entry, apart from its filters; undefined if it does. */
  leaves?(entry: WorkflowDlqEntry): string | undefined;
};

/** Union by `action.type`. */
export type Policy = WorkflowDlqPolicy | MessagePolicy | PrunePolicy | BudgetPolicy;

export function isRepairing(policy: Policy): policy is RepairPolicy {
  return isRepair(policy.action.type);
}

export function isResume(policy: Policy): policy is ResumePolicy {
  return policy.action.type === 'workflow-dlq.resume';
}
