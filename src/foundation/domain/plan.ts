/**
 * Plan of a policy: its proposed actions, and the reasons for not doing more. The engine creates it, the page shows it
 * and `opsd plan` prints it.
 */
import { counted, formatCount } from './counted.ts';
import type { Campaign } from './campaign.ts';
import type { FlowControlSpec } from './flow-control.ts';
import { holdText, type Hold } from './hold.ts';
import type { ManualOrigin } from './manual-plan.ts';
import type { BodyEdit } from './carried-message.ts';
import type { TextFilter } from './selection.ts';

export const POLICY_MODES = ['off', 'audit', 'approve', 'enforce'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** Returns the lowest of several modes. A policy acts only as far as every authority above it allows. */
export function leastMode(...modes: readonly PolicyMode[]): PolicyMode {
  return POLICY_MODES[Math.min(...modes.map((mode) => POLICY_MODES.indexOf(mode)))]!;
}

export const ACTION_TYPES = [
  'workflow-dlq.resume',
  'workflow-dlq.delete',
  'message-dlq.republish',
  'message-dlq.delete',
  'message-dlq.prune',
  'budget.raise',
] as const;
export type ActionType = (typeof ACTION_TYPES)[number];
/** Kind of a claim on an entry. After `retrigger`, only a manual plan is allowed to delete the entry. */
export type ClaimKind = ActionType | 'retrigger';

/** Actions that bring entries back, step by step, and are verified. */
export const REPAIRS = ['workflow-dlq.resume', 'message-dlq.republish'] as const satisfies readonly ActionType[];

export function isRepair(action: ActionType): action is (typeof REPAIRS)[number] {
  return REPAIRS.includes(action as (typeof REPAIRS)[number]);
}

interface ProposalBase {
  readonly policy: string;
  readonly account: string;
  /**
   * Claim of the action: of two actions with one target, at most one may have had an effect. It is the dlqId of an
   * entry, `prune/RUN/PAGE`, or `budget/USD/RUN`.
   */
  readonly target: string;
  /** Group of the ramp, breaker and arrivals: the workflow's URL, the destination, or `` if there is only one. */
  readonly group: string;
  /** Maximum number of entries that the action affects, charged to the caps. */
  readonly items: number;
}

interface RunProposal extends ProposalBase {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly lineage: string;
  /** Epoch milliseconds. */
  readonly failedAt: number;
  /** Epoch milliseconds; absent if the retention of the DLQ is unknown. */
  readonly expiresAt?: number;
  /** Labels without the daemon's own stamps. */
  readonly labels: readonly string[];
  readonly cause: string;
  readonly status?: number;
}

export interface ResumeProposal extends RunProposal {
  readonly action: 'workflow-dlq.resume';
  /** Number of the attempt that this action would be: 1 for the first. */
  readonly attempt: number;
  /** Hash of workflow, method and body of the entry; absent if another listed entry has the same. */
  readonly fingerprint?: string;
  /**
   * Other entries of the run that were listed before this action and therefore cannot be its new failure. Absent if
   * empty.
   */
  readonly listedBefore?: readonly string[];
  readonly flowControlKey?: string;
  /** Retries of each step of the resumed run; default: the original number. 0 in the first step of a campaign. */
  readonly retries?: number;
  /** Flow control, sent only if the entry has none of its own. */
  readonly flowControl?: FlowControlSpec;
  /** Campaign and step of the action; absent until it is sent. */
  readonly campaign?: { readonly id: string; readonly step: number };
}

export interface WorkflowDeleteProposal extends RunProposal {
  readonly action: 'workflow-dlq.delete';
}

interface MessageProposal extends ProposalBase {
  readonly dlqId: string;
  readonly messageId: string;
  /** Destination, without its query. */
  readonly url?: string;
  /** Epoch milliseconds. */
  readonly failedAt: number;
  readonly status?: number;
}

export interface RepublishProposal
  extends MessageProposal, Pick<ResumeProposal, 'lineage' | 'attempt' | 'expiresAt' | 'labels' | 'cause' | 'campaign'> {
  readonly action: 'message-dlq.republish';
  readonly url: string;
  /** Retries of the delivery. 0 in the first step of a campaign. */
  readonly retries: number;
  /** Bytes of the body. */
  readonly size: number;
  /** Absent if the message is published as it was. */
  readonly edit?: BodyEdit;
}

export interface MessageDeleteProposal extends MessageProposal {
  readonly action: 'message-dlq.delete';
}

/**
 * Filters of a prune, with its bound in time. Values of one filter are alternatives; several filters must all match.
 */
export interface PruneFilter extends TextFilters<'url' | 'topicName' | 'scheduleId' | 'queueName' | Shared> {
  /** Epoch milliseconds, inclusive: entries that failed later are excluded. */
  readonly toDate: number;
  readonly fromDate?: number;
  readonly responseStatus?: readonly [number, ...number[]];
}

/** Filters of a workflow DLQ listing. The values of one filter are alternatives; all filters must match. */
export interface WorkflowDlqSelection extends TextFilters<'workflowUrl' | 'failureFunctionState' | Shared> {
  /** Epoch milliseconds, inclusive. */
  readonly fromDate?: number;
  /** Epoch milliseconds, inclusive. */
  readonly toDate?: number;
  readonly workflowRunId?: string;
}

type TextFilters<F extends TextFilter> = { readonly [Name in F]?: readonly [string, ...string[]] };
/** Filters of both queues. */
type Shared = 'label' | 'flowControlKey' | 'callerIp';

/** Page of a prune. `items` is its `count`, 1 to 100. */
export interface PruneProposal extends ProposalBase {
  readonly action: 'message-dlq.prune';
  /** 1 for the first page. */
  readonly page: number;
  readonly filter: PruneFilter;
}

/** Raise of a budget in whole US dollars per month. `items` is 1. */
export interface BudgetProposal extends ProposalBase {
  readonly action: 'budget.raise';
  readonly fromUsd: number;
  readonly toUsd: number;
}

/** Action that a policy proposes. */
export type Proposal =
  | ResumeProposal
  | WorkflowDeleteProposal
  | RepublishProposal
  | MessageDeleteProposal
  | PruneProposal
  | BudgetProposal;

export function isRepairProposal(proposal: Proposal): proposal is ResumeProposal | RepublishProposal {
  return isRepair(proposal.action);
}

/**
 * Reason why an entry was denied, or a run was held or aborted. `guard` is the label of the metric, the field in the
 * ledger and the word on the page. A hold also has its parts; `reason` is their text.
 */
export interface Denial extends Partial<Hold> {
  readonly guard: string;
  readonly reason: string;
}

/** Returns the first part of a reason, for a text that has its own next step. */
export function foundBy({ measured, reason }: Denial): string {
  return measured ?? reason;
}

/** Returns the denial by a guard: the only place where the text of a hold is made. */
export function denialBy(guard: string, hold: Hold): Denial {
  return { guard, reason: holdText(hold), ...hold };
}

/** Alert that began to fire, a failure callback, or a deploy. It is pending until a run has processed it. */
export type EventTrigger =
  /** `key`: receiver, fingerprint and start of the alert. */
  | { readonly kind: 'alert'; readonly name: string; readonly key: string }
  | { readonly kind: 'callback'; readonly key: string }
  /** `name`: its version. `key`: `deploy/ID`. `at`: epoch milliseconds of the deploy. */
  | { readonly kind: 'deploy'; readonly name: string; readonly key: string; readonly at: number };

/** Kinds of causes of a policy run. */
export const TRIGGER_KINDS = [
  'schedule',
  'campaign',
  'hand',
  'alert',
  'callback',
  'deploy',
] as const satisfies readonly Trigger['kind'][];

/** Cause of a policy run. */
export type Trigger = { readonly kind: 'schedule' | 'campaign' | 'hand' } | EventTrigger;

/** `held`: a guard holds the whole run, possibly temporarily. `aborted`: the reading cannot be trusted. */
export const PLAN_STATES = ['nothing_to_do', 'changes', 'held', 'aborted'] as const;
export type PlanState = (typeof PLAN_STATES)[number];

export interface Plan {
  /**
   * Identity of the stored plan; absent if it is not stored. It begins as `hash` does, unless a decided plan had the same
   * content.
   */
  readonly id?: string;
  /**
   * SHA-256 in hexadecimal over policy, account, action and what it covers. That of a manual plan begins with its id,
   * which is part of its policy's name.
   */
  readonly hash: string;
  readonly policy: string;
  readonly account: string;
  readonly action: ActionType;
  /** Position of the policy in the configuration: `file:line`. */
  readonly source: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly trigger: Trigger;
  /** Origin of a manual plan; absent for a plan of a policy. */
  readonly manual?: ManualOrigin;
  readonly state: PlanState;
  readonly mode: PolicyMode;
  /** Lowest mode of policy, account, engine and pause. */
  readonly effectiveMode: PolicyMode;
  /** Reason why the whole run is held or aborted. */
  readonly stopped?: Denial;
  /** Reason why the plan needs approval: the tripwire, or facts that require an operator. */
  readonly needsApproval?: Denial;
  /** Limits that an operator overrode for this plan only, and the reason. */
  readonly overruled?: { readonly settings: Readonly<Record<string, string>>; readonly reason: string };
  /** Absent for actions that list nothing. */
  readonly read?: PlanRead;
  /** Checks of groups and facts with their results: `destination app.example.com 0.97 of 312`. */
  readonly checks: readonly { readonly guard: string; readonly passed: boolean; readonly reason: string }[];
  /**
   * Number of entries that `select` and `where` match, before guards. For a prune, the maximum: it cannot list. Absent if
   * the run was held or aborted before it knew. matched = denied + chosen + backlog.
   */
  readonly matched?: number;
  /** Actions to execute now, in order. */
  readonly chosen: readonly Proposal[];
  /** Number of entries that the entry guards allow and that exceed the limit of one run. They are left for later. */
  readonly backlog: number;
  /** First entries of the backlog, at most 50, so that a held plan shows its entries. Absent if empty. */
  readonly deferred?: readonly Proposal[];
  /** Denied entries, by guard and reason, most frequent first. */
  readonly skipped: readonly { readonly guard: string; readonly reason: string; readonly count: number }[];
  /** Number of entries whose evaluation failed. */
  readonly evaluationErrors: number;
  readonly campaigns: readonly PlanCampaign[];
  readonly caps: readonly PlanCap[];
  /**
   * Estimated duration of the rest, and the number of entries that expire before it is done; absent if unknown. It is a
   * lower bound if the expiry of some entries is unknown.
   */
  readonly drain?: { readonly ms: number; readonly expiring?: number; readonly unknownExpiries?: number };
  /** Complete sentences for the reader: `The entries go unseen: …`. */
  readonly notes: readonly string[];
}

interface PlanRead {
  readonly pages: number;
  readonly entries: number;
  readonly complete: boolean;
  readonly filterChecked: number;
  /** Number of entries in the collector's last complete listing; absent if there is none. */
  readonly population?: number;
  /** Local clock minus the service's clock, in milliseconds; absent if the service sent no Date. */
  readonly clockSkewMs?: number;
}

/** Plan that is stored. */
export type IdentifiedPlan = Plan & { readonly id: string };

/** Campaign of a group as this plan found it. */
export interface PlanCampaign {
  readonly group: string;
  readonly state: Campaign['state'];
  /** Last deploy that is about its entries; absent for policies that wait for none. */
  readonly deploy?: Campaign['deploy'];
  /** Step that this plan would send. */
  readonly step: number;
  readonly now: number;
  /** Sizes of the two following steps. */
  readonly next: readonly number[];
  readonly verified: number;
  readonly judged: number;
  readonly matched: number;
  /** Epoch milliseconds until the step settles or the halt ends. */
  readonly until?: number;
  /** Reason why the group waits. */
  readonly held?: Denial;
}

/** Number of entries that the entry guards allow, in this run or later. */
export function allowedOf({ chosen, backlog }: Pick<Plan, 'chosen' | 'backlog'>): number {
  return chosen.reduce((sum, { items }) => sum + items, 0) + backlog;
}

/** `96 actions`; of an active approval `3 of 96 actions left`. */
export function coverText({ covers, left }: { readonly covers: number; readonly left?: number }): string {
  return left === undefined ? counted(covers, 'action') : `${formatCount(left)} of ${counted(covers, 'action')} left`;
}

export interface PlanCap {
  readonly scope: string;
  readonly window: string;
  readonly used: number;
  readonly limit: number;
  /** Reason why the whole cap counts as used, regardless of the actions. */
  readonly why?: string;
  /** Epoch milliseconds when the first place of a full cap becomes free; absent if unknown. */
  readonly until?: number;
  /** Use of a full cap in the newer half of its window, compared with the older half. */
  readonly trend?: NonNullable<Hold['trend']>;
}

/**
 * Outcomes of a run. `held`: a guard objects to the whole run. `deferred`: the policy's own window, interval or settling
 * step delays it. `denied`: guards deny every matched entry. `would_act`: the policy's own mode is audit.
 * `incomplete`: the listing was not read completely. `halted`: the run was stopped after it began to act.
 */
export const RUN_OUTCOMES = [
  'acted',
  'would_act',
  'nothing_to_do',
  'denied',
  'held',
  'pending_approval',
  'deferred',
  'aborted',
  'halted',
  'incomplete',
  'failed',
  'skipped',
] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** `6 entries expire before that`; a lower bound if the expiry of some entries is unknown. */
export function expiryText({ expiring, unknownExpiries = 0 }: NonNullable<Plan['drain']>): string {
  if (expiring === undefined) return 'expiry unknown (limits.dlqRetention is not configured)';
  if (unknownExpiries > 0) {
    return `at least ${counted(expiring, 'entry expires', 'entries expire')} before that; expiry of ${formatCount(unknownExpiries)} unknown`;
  }
  return expiring === 0
    ? 'nothing expires before that'
    : `${counted(expiring, 'entry expires', 'entries expire')} before that`;
}
