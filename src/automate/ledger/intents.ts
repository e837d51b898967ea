/** Intents and their outcomes: no effect without a durable intent. */
import type { BudgetRaise } from '#foundation/domain/known-budget.ts';
import type { ActionType, Proposal } from '#foundation/domain/plan.ts';

/**
 * Outcomes of an intent. `unknown` blocks its target until later reads resolve it. `rejected` and `confirmed_not_applied`
 * provably had no effect and release their caps. `delivered`: a republished message was delivered, and its dead letter is
 * deleted next. `unresolvable` is an `unknown` outcome that no read can resolve.
 */
export const ACTION_OUTCOMES = [
  'accepted',
  'delivered',
  'verified',
  'failed_again',
  'unverified',
  'rejected',
  'unknown',
  'confirmed_applied',
  'confirmed_not_applied',
  'unresolvable',
] as const;
export type ActionOutcome = (typeof ACTION_OUTCOMES)[number];

export interface Intent {
  readonly id: number;
  readonly at: number;
  readonly runId: number;
  readonly proposal: Proposal;
  /** Fencing number of the process that wrote the intent. */
  readonly epoch: number;
}

/** Intent with its outcome, for pages and the API. */
export interface ActionRecord extends Intent {
  /** Absent while the request is in flight, and after a crash until recovery. */
  readonly outcome?: ActionOutcome;
  readonly outcomeAt?: number;
  readonly detail?: string;
  /** Id of the resumed run, or of the message that was published again. */
  readonly newRunId?: string;
  /** Number of entries that the service said it acted on. */
  readonly done?: number;
}

export interface CapLimit {
  readonly scope: 'policy' | 'account' | 'engine';
  readonly windowMs: number;
  /** Milliseconds added to the window, because actions in it were dated before the clock was set. */
  readonly marginMs?: number;
  readonly limit: number;
  /** Only these actions count; absent: all except budget.raise. */
  readonly actions?: readonly ActionType[];
}

type Reservation = { readonly ok: true; readonly intent: Intent } | Refused;

/**
 * Refused reservation. `claim`: the target was acted on before. `caps`: a window is full. `lease`: another executor has
 * the store. `kill_switch`: a pause came since the decision. `interrupted`: the plan was cancelled or
 * rejected.
 */
export interface Refused {
  readonly ok: false;
  readonly guard: 'claim' | 'caps' | 'lease' | 'kill_switch' | 'interrupted';
  readonly reason: string;
}

/** Facts on which an action was decided. The reservation checks them again: they may have changed since. */
export interface Premises {
  /** Scopes whose pause holds the action. */
  readonly pauses?: readonly string[];
  /** Ids of the plans that allow the action. An operator can cancel or reject each on any replica. */
  readonly plans?: readonly string[];
  /** Epoch milliseconds since which no action on the same run was sent. */
  readonly since?: number;
  /** All changes of the account's budget. */
  readonly budgetChanges?: readonly BudgetRaise[];
}

/** Storage of intents and their outcomes. */
export interface Intents {
  /**
   * Reserves an action in one durable transaction: lease, premises, claim, caps and intent. @throws if the audit log is
   * not writable
   */
  reserve(
    runId: number,
    proposal: Proposal,
    at: number,
    caps: readonly CapLimit[],
    premises?: Premises,
  ): Promise<Reservation>;
  /**
   * Records an outcome durably. `newRunId` connects the resumed run to its lineage.
   *
   * @param outcome.after records nothing if the intent does not have this outcome any more
   * @returns false if nothing was recorded
   */
  recordOutcome(
    intentId: number,
    account: string,
    outcome: {
      readonly at: number;
      readonly outcome: ActionOutcome;
      readonly detail?: string;
      readonly newRunId?: string;
      readonly done?: number;
      readonly after?: ActionOutcome | 'none';
    },
  ): Promise<boolean>;
  /**
   * Actions without a final outcome, oldest first: `unknown`, `accepted` or `delivered` and not yet verified, or without
   * any outcome, as a crash leaves them.
   */
  openActions(): Promise<readonly ActionRecord[]>;
  /** Time of the oldest of them; undefined if there is none. */
  oldestOpenAt(): Promise<number | undefined>;
}
