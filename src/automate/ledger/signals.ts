/** Alerts, callbacks and dead letters: received by the hooks, used by the policies. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { EventTrigger } from '#foundation/domain/plan.ts';
import type { NewBody } from './kept-bodies.ts';
import type { PolicyPlace } from './runs.ts';

/** Trigger that no run has handled yet. */
export interface PendingTrigger {
  readonly trigger: EventTrigger;
  readonly at: number;
}

/** Inbox for the hooks. */
export interface SignalInbox {
  /**
   * Stores the state of an alert durably. The end of an alert ends its pending triggers. Fingerprint and start identify
   * an alert.
   *
   * @returns true if the alert is new
   */
  noteAlert(alert: {
    readonly receiver: string;
    readonly name: string;
    readonly key: string;
    /** Accounts of the alert; absent if unknown. */
    readonly accounts?: readonly string[];
    readonly isFiring: boolean;
    readonly at: number;
  }): Promise<boolean>;
  /**
   * Stores a trigger durably, as pending unless its alert has ended.
   *
   * @returns false if it is not pending, or the policy already got a trigger with this key
   */
  recordTrigger(trigger: {
    readonly policy: string;
    readonly account: string;
    readonly trigger: EventTrigger;
    readonly at: number;
  }): Promise<boolean>;
  /**
   * Stores a dead letter durably, with its body. The first report of one counts.
   *
   * @returns `isNewBody`: the body was not stored before; `dropped`: number of older bodies that it displaced
   */
  noteDeadLetter(
    deadLetter: DeadLetter,
    body?: NewBody,
  ): Promise<{ readonly isNewBody: boolean; readonly dropped: number }>;
}

/** Signals for the engine, as received by the hooks. */
export interface Signals {
  /**
   * Returns a function that reports whether an alert with a name fires for the account. Undefined if unknown: no alert was
   * ever received, the accounts of a firing alert are unknown, or it was not repeated for a day. After six days it counts
   * as ended.
   */
  alertsFiring(account: string, now: number): Promise<(name: string) => boolean | undefined>;
  /**
   * Pending triggers by policy, oldest first. An alert's trigger requires that the alert fired within the last day.
   */
  pendingTriggers(
    policies: readonly PolicyPlace[],
    now: number,
  ): Promise<ReadonlyMap<string, readonly PendingTrigger[]>>;
  /** Ends pending triggers durably, after a run handled them. */
  endTriggers(policy: PolicyPlace, triggers: readonly PendingTrigger[]): Promise<void>;
  /** Newest dead letters up to the limit, oldest first. @param limit default: MOST_DEAD_LETTERS */
  deadLetters(account: string, limit?: number): Promise<readonly DeadLetter[]>;
  /** Forgets a dead letter and its body. Its claim stays. */
  forgetDeadLetter(account: string, dlqId: string): Promise<void>;
}
