/** Intents and their outcomes: no effect without a durable intent. */
import type { ActionType, Proposal } from '#foundation/domain/plan.ts';

/**
 * Outcomes of an intent. `unknown` blocks its target until later reads resolve it. `rejected` and `confirmed_not_applied`
 * provably had no effect and release their caps. `unresolvable` is an `unknown` outcome that no read can resolve.
 */
export const ACTION_OUTCOMES = [
  'accepted',
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

export type Reservation =
  | { readonly ok: true; readonly intent: Intent }
  /** `claim`: the target was acted on before. `caps`: a window is full. `lease`: another executor has the store. */
  | { readonly ok: false; readonly guard: 'claim' | 'caps' | 'lease'; readonly reason: string };

/** Storage of intents and their outcomes. */
export interface Intents {
  /**
   * Reserves an action in one durable transaction: lease, claim, caps and intent. @throws if the audit log is not
   * writable
   */
  reserve(runId: number, proposal: Proposal, at: number, caps: readonly CapLimit[]): Reservation;
  /** Records an outcome durably. `newRunId` connects the resumed run to its lineage. */
  recordOutcome(
    intentId: number,
    outcome: {
      readonly at: number;
      readonly outcome: ActionOutcome;
      readonly detail?: string;
      readonly newRunId?: string;
      readonly done?: number;
    },
  ): void;
  /** Intents without any outcome, as a crash leaves them. */
  intentsWithoutOutcome(): readonly Intent[];
  /** Intents whose outcome is `unknown`, or `accepted` and not yet verified. */
  unsettled(account: string): readonly ActionRecord[];
  /** Time of the oldest intent without a final outcome; absent if there is none. */
  oldestUnsettledAt(): number | undefined;
}
