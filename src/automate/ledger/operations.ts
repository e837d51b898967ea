/** Operations that an operator sends by name, outside of any policy. */
import type { ActionType } from '#foundation/domain/plan.ts';

/** `unknown`: the response was lost, or the daemon stopped before it arrived. */
export type OperationOutcome = 'accepted' | 'rejected' | 'unknown';

export interface BegunOperation {
  /** Name of the interface: `rotate-token`. */
  readonly operation: string;
  readonly account: string;
  /** Names of its keys. Values are never recorded, since they may be messages or secrets. */
  readonly keys: readonly string[];
  readonly by: string;
  readonly at: number;
  /** Id of the account or index. */
  readonly object?: string;
  /** Entries on which it acts: no other action is allowed to act on them. */
  readonly claims?: { readonly action: ActionType; readonly dlqIds: readonly string[] };
  /** True if a pause of the engine refuses it. */
  readonly isBulk?: boolean;
  /** True if its entries are unknown: it is refused while an action of a policy on the account has no outcome. */
  readonly isByFilter?: boolean;
  /** New budget, in US dollars, and the known one. Infinity if unlimited. */
  readonly budget?: { readonly fromUsd?: number; readonly toUsd: number };
}

export type Begun = { readonly ok: true; readonly id: number } | { readonly ok: false; readonly reason: string };

export interface Operations {
  /**
   * Records a write before it is sent, durably and in the audit log, unless a claim or a pause refuses it. Rejects if it
   * cannot be written; nothing must be sent then.
   */
  beginOperation(begun: BegunOperation): Promise<Begun>;
  endOperation(
    id: number,
    account: string,
    end: { readonly at: number; readonly outcome: OperationOutcome; readonly detail?: string },
  ): Promise<void>;
  /**
   * Records an unknown outcome for operations that an earlier process, or an earlier owner of the account, did not end.
   *
   * @returns their number
   */
  endInterruptedOperations(at: number): Promise<number>;
}
