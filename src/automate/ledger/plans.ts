/** Plans that are stored for approval. */
import type { Plan } from '#foundation/domain/plan.ts';

/** Plan that was shown to an operator or is pending approval. It is bound to its hash, expires, and is used once. */
export interface StoredPlan {
  readonly plan: Plan;
  /** Targets that an approval covers: those of all actions that the entry guards allowed. */
  readonly targets: readonly string[];
  readonly savedAt: number;
  readonly expiresAt: number;
  /** `draft`: made by a command. `pending`: pending approval. `cancelled`: a manual plan that an operator ended. */
  readonly state: 'draft' | 'pending' | 'approved' | 'rejected' | 'applied' | 'cancelled' | 'expired';
  readonly by?: string;
  readonly reason?: string;
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
  /**
   * Stores a plan durably. A draft does not replace the same plan while it is pending or approved. A pending plan does
   * not replace the same plan while its approval or rejection is valid.
   *
   * @returns false if the stored plan stays
   */
  savePlan(plan: StoredPlan): Promise<boolean>;
  /** @returns false if the plan's state does not allow this: it was decided, used or has expired */
  decidePlan(
    id: string,
    decision: {
      readonly state: 'approved' | 'rejected' | 'applied' | 'cancelled';
      readonly at: number;
      readonly by: string;
      readonly reason?: string;
      /** Epoch milliseconds when the decision expires; default: with the plan. */
      readonly expiresAt?: number;
      /** Account, if the engine decides: it must own the account. An operator decides on any replica. */
      readonly account?: string;
    },
  ): Promise<boolean>;
}
