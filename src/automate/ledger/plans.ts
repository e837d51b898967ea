/** Plans that are kept for approval. */
import type { Plan } from '#foundation/domain/plan.ts';

/** A plan that was shown to a person, or waits for one. Bound to its hash, expires, used once. */
export interface StoredPlan {
  readonly plan: Plan;
  /** What an approval covers: the targets of all acts that the guards of entries allowed. */
  readonly targets: readonly string[];
  readonly savedAt: number;
  readonly expiresAt: number;
  /** `shown`: made by hand. `waiting`: asks for approval. */
  readonly state: 'shown' | 'waiting' | 'approved' | 'rejected' | 'used' | 'expired';
  readonly by?: string;
  readonly reason?: string;
}

/** Reads the kept plans. */
export interface PlanReader {
  /** By id or any longer beginning of its hash. Expired ones say so. */
  storedPlan(id: string, now: number): StoredPlan | undefined;
  /** Newest first. */
  storedPlans(states: readonly StoredPlan['state'][], now: number): readonly StoredPlan[];
}

/** Keeps plans and the decisions about them. */
export interface Plans extends PlanReader {
  /** Durable. */
  savePlan(plan: StoredPlan): void;
  /** @returns false when it is not in the state that this needs: decided, used or expired meanwhile */
  decidePlan(
    id: string,
    decision: {
      readonly state: 'approved' | 'rejected' | 'used';
      readonly at: number;
      readonly by: string;
      readonly reason?: string;
      /** Epoch milliseconds, where the decision holds for a shorter time than the plan. */
      readonly expiresAt?: number;
    },
  ): boolean;
}
