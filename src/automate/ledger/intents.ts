/** Intents and their outcomes: no effect without a durable intent. */
import type { ActionType, Proposal } from '#foundation/domain/plan.ts';

/**
 * What became of an intent. `unknown` blocks its target until reading resolves it; `rejected` and `confirmed_not_applied`
 * are provably without effect and give their cap back. `unresolvable` is `unknown` that no reading can resolve.
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
  /** Fencing number of the process that wrote it. */
  readonly epoch: number;
}

/** An intent as pages and the API show it. */
export interface ActionRecord extends Intent {
  /** Absent while the request is in flight, or after a crash until recovery. */
  readonly outcome?: ActionOutcome;
  readonly outcomeAt?: number;
  readonly detail?: string;
  readonly newRunId?: string;
  /** Entries that the service said it acted on. */
  readonly done?: number;
}

export interface CapLimit {
  readonly scope: 'policy' | 'account' | 'engine';
  readonly windowMs: number;
  /** How much longer the window is counted, because acts in it were dated before the time was set; milliseconds. */
  readonly marginMs?: number;
  readonly limit: number;
  /** Counts these actions alone; absent: all but budget.raise. */
  readonly actions?: readonly ActionType[];
}

export type Reservation =
  | { readonly ok: true; readonly intent: Intent }
  /** `claim`: the target was acted on before. `caps`: a window is full. `lease`: another executor has the store. */
  | { readonly ok: false; readonly guard: 'claim' | 'caps' | 'lease'; readonly reason: string };

/** Writes intents and their outcomes. */
export interface Intents {
  /** One durable transaction: lease, claim, caps and intent, all or none. @throws when the audit log cannot be written */
  reserve(runId: number, proposal: Proposal, at: number, caps: readonly CapLimit[]): Reservation;
  /** Durable. `newRunId` ties the resumed run to its lineage. */
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
  /** Intents without any outcome: what a crash left behind. */
  intentsWithoutOutcome(): readonly Intent[];
  /** Intents whose outcome is `unknown`, or `accepted` and not yet verified. */
  unsettled(account: string): readonly ActionRecord[];
  /** When the oldest intent without a last word was made; absent when there is none. */
  oldestUnsettledAt(): number | undefined;
}
