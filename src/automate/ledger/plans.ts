/** Plans that are stored for approval. */
import type { IdentifiedPlan, Plan } from '#foundation/domain/plan.ts';

/** `draft`: kept by an operator. `pending`: pending approval. `cancelled`: a manual plan that an operator ended. */
export const STORED_STATES = [
  'draft',
  'pending',
  'approved',
  'rejected',
  'applied',
  'cancelled',
  'replaced',
  'expired',
] as const;

/**
 * Plan that an operator kept or that is pending approval. Its id is its own: a decided plan stays decided, and its
 * content gets another plan. An approval is bound to the content by the hash, expires, and is used once.
 */
export interface StoredPlan {
  readonly plan: IdentifiedPlan;
  /** Number of this plan among those of the same content, from 1. */
  readonly revision: number;
  /** Targets that an approval covers: those of all actions that the entry guards allowed. */
  readonly targets: readonly string[];
  readonly savedAt: number;
  readonly expiresAt: number;
  readonly state: (typeof STORED_STATES)[number];
  /** Operator who made it; absent if a run made it. */
  readonly madeBy?: string;
  /** Operator or `engine` of the last decision, its time, and its reason. The reason of a draft is its author's. */
  readonly by?: string;
  readonly decidedAt?: number;
  readonly reason?: string;
  /** Operator who approved it. A later decision keeps both. */
  readonly approvedBy?: string;
  readonly approvedAt?: number;
  /** For an approved plan: number of targets without an action that had an effect or may have had one. */
  readonly left?: number;
  /** Id of the newer plan, if it was replaced. */
  readonly replacedBy?: string;
}

export interface PlanDecision {
  readonly state: 'approved' | 'rejected' | 'applied' | 'cancelled' | 'replaced' | 'expired';
  readonly at: number;
  readonly by: string;
  readonly reason?: string;
  /** Epoch milliseconds when the decision expires; default: with the plan. */
  readonly expiresAt?: number;
  readonly replacedBy?: string;
  /** Account, if the engine decides: it must own the account. An operator decides on any replica. */
  readonly account?: string;
}

/** Reader of the stored plans. */
export interface PlanReader {
  /** Finds a plan by its id or a longer prefix of its hash. An expired plan has the state `expired`. */
  storedPlan(id: string, now: number): Promise<StoredPlan | undefined>;
  /** Newest first. */
  storedPlans(states: readonly StoredPlan['state'][], now: number): Promise<readonly StoredPlan[]>;
}

/** Storage of plans and the decisions about them. */
export interface Plans extends PlanReader {
  /** Returns the id that a plan has if it is saved: that of the undecided plan of its content, else a new one. */
  planId(plan: Plan, now: number): Promise<string>;
  /**
   * Stores a plan durably. An undecided plan of the same content keeps its id and its author. A draft does not replace
   * a pending or approved plan. A pending plan does not replace an approval or a rejection that is valid.
   *
   * @returns the plan as it is stored now: the wanted one, or the one that stays
   */
  savePlan(
    plan: Pick<StoredPlan, 'targets' | 'savedAt' | 'expiresAt' | 'state' | 'by' | 'reason'> & { readonly plan: Plan },
  ): Promise<StoredPlan>;
  /** @returns false if the plan's state does not allow this: it was decided, used or has expired */
  decidePlan(id: string, decision: PlanDecision): Promise<boolean>;
}
