/** What a policy would do, and why not more: the value that the engine makes, the page shows and `opsd plan` prints. */
import type { Campaign } from './campaign.ts';
import type { FlowControlSpec } from './flow-control.ts';

export const POLICY_MODES = ['off', 'audit', 'approve', 'enforce'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** The least of several modes: a policy acts only as far as every authority above it allows. */
export function leastMode(...modes: readonly PolicyMode[]): PolicyMode {
  return POLICY_MODES[Math.min(...modes.map((mode) => POLICY_MODES.indexOf(mode)))]!;
}

export const ACTION_TYPES = [
  'workflow-dlq.resume',
  'workflow-dlq.delete',
  'message-dlq.delete',
  'message-dlq.prune',
  'budget.raise',
] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

interface ProposalBase {
  readonly policy: string;
  readonly account: string;
  /**
   * What the act claims: of two acts with one target at most one may have had an effect. The dlqId of an entry,
   * `prune/RUN/PAGE`, or `budget/USD/RUN`.
   */
  readonly target: string;
  /** Ramp, breaker and arrivals are kept by group: the workflow's URL, the destination, or `` where all is one. */
  readonly group: string;
  /** Number of entries that it may touch: what it takes from the caps. */
  readonly items: number;
}

interface RunProposal extends ProposalBase {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly lineage: string;
  /** Epoch milliseconds. */
  readonly failedAt: number;
  /** Epoch milliseconds; absent where the retention of the DLQ is not known. */
  readonly expiresAt?: number;
  /** Labels without the daemon's own stamps. */
  readonly labels: readonly string[];
  readonly cause: string;
  readonly status?: number;
}

export interface ResumeProposal extends RunProposal {
  readonly action: 'workflow-dlq.resume';
  /** The attempt this act would be: 1 for the first. */
  readonly attempt: number;
  /** Hash of workflow, method and body of the entry; absent where another listed entry has the same. */
  readonly fingerprint?: string;
  /** Other entries of the run that were listed before this act: none of them can be its return. Absent when empty. */
  readonly listedBefore?: readonly string[];
  readonly flowControlKey?: string;
  /** Retries of each step of the resumed run; absent: what the run had. 0 in the first step of a campaign. */
  readonly retries?: number;
  /** Sent only where the entry has no flow control of its own. */
  readonly flowControl?: FlowControlSpec;
  /** Which step of which campaign it belongs to; absent until it is sent. */
  readonly campaign?: { readonly id: string; readonly step: number };
}

export interface WorkflowDeleteProposal extends RunProposal {
  readonly action: 'workflow-dlq.delete';
}

export interface MessageDeleteProposal extends ProposalBase {
  readonly action: 'message-dlq.delete';
  readonly dlqId: string;
  readonly messageId: string;
  readonly url?: string;
  /** Epoch milliseconds. */
  readonly failedAt: number;
  readonly status?: number;
}

/** Filters of a prune beside its bound in time. Values of one filter are alternatives; filters narrow each other. */
export interface PruneFilter {
  /** Epoch milliseconds, inclusive: nothing that failed later. */
  readonly toDate: number;
  readonly fromDate?: number;
  readonly url?: NonEmptyTexts;
  readonly topicName?: NonEmptyTexts;
  readonly scheduleId?: NonEmptyTexts;
  readonly queueName?: NonEmptyTexts;
  readonly label?: NonEmptyTexts;
  readonly flowControlKey?: NonEmptyTexts;
  readonly callerIp?: NonEmptyTexts;
  readonly responseStatus?: readonly [number, ...number[]];
}

export type NonEmptyTexts = readonly [string, ...string[]];

/** One page of a prune: `items` is its `count`, 1 to 100. */
export interface PruneProposal extends ProposalBase {
  readonly action: 'message-dlq.prune';
  /** 1 for the first. */
  readonly page: number;
  readonly filter: PruneFilter;
}

/** Whole dollars a month. `items` is 1. */
export interface BudgetProposal extends ProposalBase {
  readonly action: 'budget.raise';
  readonly fromUsd: number;
  readonly toUsd: number;
}

/** One act that a policy proposes. */
export type Proposal = ResumeProposal | WorkflowDeleteProposal | MessageDeleteProposal | PruneProposal | BudgetProposal;

/** Why an entry, or a whole run, was stopped. `guard` is the metric's label, the ledger's field and the word on the page. */
export interface Denial {
  readonly guard: string;
  readonly reason: string;
}

/** An alert that began to fire, or a failure callback. It is pending until a run dealt with it. */
export type EventTrigger =
  /** `key`: receiver, fingerprint and start of the alert. */
  | { readonly kind: 'alert'; readonly name: string; readonly key: string }
  | { readonly kind: 'callback'; readonly key: string };

/** What can make a policy run. */
export const TRIGGER_KINDS = [
  'schedule',
  'campaign',
  'hand',
  'alert',
  'callback',
] as const satisfies readonly Trigger['kind'][];

/** What made a policy run. */
export type Trigger = { readonly kind: 'schedule' | 'campaign' | 'hand' } | EventTrigger;

/** `held`: a guard holds the whole run, it may pass later. `aborted`: what was read cannot be trusted. */
export type PlanState = 'nothing' | 'changes' | 'held' | 'aborted';

export interface Plan {
  /** First characters of `hash`. */
  readonly id: string;
  /** sha256, hexadecimal, over policy, account, mode of acting and the chosen acts in order. */
  readonly hash: string;
  readonly policy: string;
  readonly account: string;
  readonly action: ActionType;
  /** Where the policy is written: `file:line`. */
  readonly source: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly trigger: Trigger;
  readonly state: PlanState;
  readonly mode: PolicyMode;
  /** The least of policy, account, engine and pause. */
  readonly effectiveMode: PolicyMode;
  /** Why the run as a whole is held or aborted. */
  readonly stopped?: Denial;
  /** Where the tripwire, or facts that ask for a person, turned the plan into one for approval: why. */
  readonly needsApproval?: Denial;
  /** Limits that a person overruled for this plan alone, and why. */
  readonly overruled?: { readonly settings: Readonly<Record<string, string>>; readonly reason: string };
  /** Absent for actions that list nothing. */
  readonly read?: PlanRead;
  /** What was asked of groups and facts, and what they said: `destination app.example.com 0.97 of 312`. */
  readonly checks: readonly { readonly guard: string; readonly passed: boolean; readonly reason: string }[];
  /** Entries that select and where left over, before guards. */
  readonly selected: number;
  /** Entries that the guards of entries allow. */
  readonly matched: number;
  /** Acted on now, in order. */
  readonly chosen: readonly Proposal[];
  /** Allowed by the guards for each entry, but over what one run may do; left for later. */
  readonly backlog: number;
  /** The first of the backlog, at most 50, so that a held plan shows its entries. Absent when empty. */
  readonly waiting?: readonly Proposal[];
  /** Entries left out, by guard and reason, most first. */
  readonly skipped: readonly { readonly guard: string; readonly reason: string; readonly count: number }[];
  /** Entries on which the expression failed. */
  readonly evaluationErrors: number;
  readonly campaigns: readonly PlanCampaign[];
  readonly caps: readonly PlanCap[];
  /** How long the rest will take, and what expires before that. */
  readonly drain?: { readonly ms: number; readonly expiring: number };
  /** Plain sentences for the reader: `The entries go unseen: …`. */
  readonly notes: readonly string[];
}

interface PlanRead {
  readonly pages: number;
  readonly entries: number;
  readonly complete: boolean;
  readonly echoChecked: number;
  /** Entries of the collector's last whole listing; absent when there is none. */
  readonly population?: number;
  /** Local clock minus the service's, in milliseconds; absent when the service sent no Date. */
  readonly clockSkewMs?: number;
}

/** A group's campaign as this plan finds it. */
export interface PlanCampaign {
  readonly group: string;
  readonly state: Campaign['state'];
  /** The step that this plan would send. */
  readonly step: number;
  readonly now: number;
  /** Sizes of the two steps after it. */
  readonly next: readonly number[];
  readonly verified: number;
  readonly judged: number;
  readonly matched: number;
  /** Epoch milliseconds until which the step settles or the halt lasts. */
  readonly until?: number;
  /** Why the group waits. */
  readonly held?: Denial;
}

export interface PlanCap {
  readonly scope: string;
  readonly window: string;
  readonly used: number;
  readonly limit: number;
  /** Why all of it counts as used, whatever was done. */
  readonly why?: string;
}

export const RUN_OUTCOMES = [
  'acted',
  'nothing',
  'held',
  'waiting',
  'aborted',
  'halted',
  'incomplete',
  'error',
  'skipped',
] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];
