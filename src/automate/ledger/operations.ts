/** Operations that an operator sends by name, outside of any policy. */
import type { ClaimKind } from '#foundation/domain/plan.ts';

/** Start of a new run with the body of a failed one. */
export interface RetriggeredRun {
  /** Failed run in the workflow DLQ. It stays there. */
  readonly dlqId: string;
  /** Id of the new run: made and stored before it is sent, so that the run can be found after a lost response. */
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly reason: string;
  /** Facts about the body, which is not stored. */
  readonly bodyBytes: number;
  readonly bodySha256: string;
  /** True if the operator gave the body. */
  readonly isEdited: boolean;
}

export interface Retrigger extends RetriggeredRun {
  readonly at: number;
  readonly by: string;
  /** Absent while the request is in flight. */
  readonly outcome?: OperationOutcome;
}

export interface RetriggerReads {
  /** @param id dlqId of the failed run, or id of the new one. @returns newest first */
  retriggers(account: string, id: string): Promise<readonly Retrigger[]>;
}

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
  readonly claims?: { readonly action: ClaimKind; readonly dlqIds: readonly string[] };
  /** True if a pause of the engine refuses it. */
  readonly isBulk?: boolean;
  /** True if its entries are unknown: it is refused while an action of a policy on the account has no outcome. */
  readonly isByFilter?: boolean;
  readonly retrigger?: RetriggeredRun;
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
