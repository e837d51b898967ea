/** Commands to the engine, and their results. Server and CLI know the engine only through this interface. */
import type { Notification } from '#foundation/domain/notification.ts';
import type { Denial, IdentifiedPlan, Plan, RunOutcome } from '#foundation/domain/plan.ts';
import type { Selection } from '#foundation/domain/selection.ts';
import type { ActionRecord } from './intents.ts';
import type { StoredPlan } from './plans.ts';

export interface PlanRequest {
  /** Name of the requester, for the record. */
  readonly by: string;
  /** True stores the plan, so that it can be applied. */
  readonly keep: boolean;
  /** Limits overruled for this plan only, such as `limits.maxPerHour` to `6000`. A reason is required. */
  readonly overrule?: { readonly settings: Readonly<Record<string, string>>; readonly reason: string };
}

export interface ManualRequest {
  /** Operator, for the record. */
  readonly by: string;
  readonly reason: string;
  readonly selection: Selection;
  /** Limits overruled for this plan only, for the same reason. */
  readonly overrule?: Readonly<Record<string, string>>;
}

/** Reason why a command failed. */
export interface Refusal {
  readonly ok: false;
  readonly code:
    | 'unknown_policy'
    | 'unknown_plan'
    | 'expired'
    | 'decided'
    | 'bad_override'
    | 'mode'
    | 'unknown_id'
    | 'bad_selection'
    | 'other_queue'
    | 'unread';
  readonly message: string;
}

export type Planned = { readonly ok: true; readonly plan: Plan } | Refusal;
export type Applied =
  | {
      readonly ok: true;
      readonly plan: IdentifiedPlan;
      readonly result: RunSummary;
      /** The plan after the command. Its approval can remain for later runs. */
      readonly stored: StoredPlan;
    }
  | Refusal;
export type Decided = { readonly ok: true; readonly plan: StoredPlan } | Refusal;

/**
 * Verdict of one policy on an entry. `not_listed`: it is not in the DLQ, or the service does not list it for the
 * policy.
 */
export interface Explanation {
  readonly policy: string;
  readonly source: string;
  readonly verdict: 'chosen' | 'later' | 'left_out' | 'not_listed' | 'stopped';
  readonly denial?: Denial;
}

/** Object that an id names, and its current place: `log` if it is in no DLQ. */
export interface Subject {
  readonly account: string;
  readonly in: 'workflow-dlq' | 'message-dlq' | 'log';
  readonly dlqId?: string;
  readonly workflowRunId?: string;
  readonly messageId?: string;
}

export interface Explained {
  readonly ok: true;
  readonly id: string;
  /** Absent if only the ledger knows the id. */
  readonly subject?: Subject;
  readonly policies: readonly Explanation[];
  /** Earlier actions on it, newest first. */
  readonly actions: readonly ActionRecord[];
}

export interface Person {
  /** Requester: `local` or `local (USER)` over the unix socket, the name of a user or token over TCP. */
  readonly by: string;
  readonly reason?: string;
}

/** Result of a run. */
export interface RunSummary {
  readonly outcome: RunOutcome;
  /** Number of matched entries, as in the plan. For a prune: the entries of its pages. Absent if unknown. */
  readonly matched?: number;
  /** Entries that the service acted on; of a prune, deleted messages. */
  readonly acted: number;
  /** Matched entries that are left for later runs. The rest of `matched` was denied, or acted on without effect. */
  readonly backlog?: number;
  readonly detail?: string;
  readonly stopped?: Denial;
}

/** An active condition. Its key is `held/POLICY`, `halted/POLICY/GROUP`, `approval/POLICY` or `unknown/POLICY`. */
export interface Condition extends Omit<Notification, 'at' | 'isResolved' | 'isSnoozed' | 'replica'> {
  /** Epoch milliseconds. */
  readonly since: number;
  /** Parts of the hold; absent for other conditions, and after a restart until the next check. */
  readonly denial?: Denial;
}

export interface EngineCommands {
  /** Active conditions: holds, halted groups, pending plans. */
  conditions(): readonly Condition[];
  /** Makes a plan; never acts. Rejects with the signal's reason. */
  plan(policy: string, request: PlanRequest, signal: AbortSignal): Promise<Planned>;
  /** Makes and saves a manual plan; never acts. Rejects with the signal's reason. */
  planManually(request: ManualRequest, signal: AbortSignal): Promise<Planned>;
  /** Cancels a manual plan: after the request in flight, nothing more is sent. */
  cancel(planId: string, person: Person): Promise<Decided>;
  /** Applies the actions of a plan that are still valid. A plan that a guard holds stays as it is. */
  apply(planId: string, person: Person, signal: AbortSignal): Promise<Applied>;
  approve(planId: string, person: Person): Promise<Decided>;
  /** Rejects a plan, also an approved one: nothing more is sent for it. */
  reject(planId: string, person: Person): Promise<Decided>;
  /** Explains a dlqId, or the id of a run or a message. */
  explain(id: string, signal: AbortSignal): Promise<Explained | Refusal>;
  /** Pauses before the next request of any run. Without a policy: the whole engine. */
  pause(pause: { readonly policy?: string; readonly reason: string; readonly by: string }): Promise<void>;
  /**
   * Lifts pauses; with a policy, also the halts of its groups. The reason is recorded.
   *
   * @returns the number of lifted pauses and halts
   */
  unpause(lifted: {
    readonly policy?: string;
    readonly group?: string;
    readonly reason: string;
    readonly by: string;
  }): Promise<number>;
  /** Reason why the policy, or without one the engine, is paused now, and how to end it. */
  stillPaused(policy?: string): Promise<string | undefined>;
}
