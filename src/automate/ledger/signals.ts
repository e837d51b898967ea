/** Alerts, callbacks and dead letters: what the hooks receive and the policies react to. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { EventTrigger } from '#foundation/domain/plan.ts';

/** A trigger that no run has dealt with yet. */
export interface PendingTrigger {
  readonly trigger: EventTrigger;
  readonly at: number;
}

/** Takes what the hooks receive. */
export interface SignalInbox {
  /**
   * Durable. Stores the state of an alert; the end of an alert ends its pending triggers. Alerts are told apart by
   * fingerprint and start.
   *
   * @returns whether the alert is new
   */
  noteAlert(alert: {
    readonly receiver: string;
    readonly name: string;
    readonly key: string;
    /** Accounts that the alert concerns. Absent: not known. */
    readonly accounts?: readonly string[];
    readonly isFiring: boolean;
    readonly at: number;
  }): boolean;
  /** Durable. The trigger is pending from now on. @returns false when the policy got a trigger of this key before */
  recordTrigger(trigger: {
    readonly policy: string;
    readonly account: string;
    readonly trigger: EventTrigger;
    readonly at: number;
  }): boolean;
  noteDeadLetter(letter: DeadLetter): void;
}

/** Gives the engine what the hooks received. */
export interface Signals {
  /**
   * Whether an alert of this name fires for the account. Undefined when that is not known: no alert has ever come, the
   * accounts of one that fires are not known, or it was not repeated for a day. After six days it has ended.
   */
  alertFiring(account: string, name: string, now: number): boolean | undefined;
  /** Pending triggers of a policy, oldest first. An alert's trigger needs an alert that fired within the last day. */
  pendingTriggers(policy: string, account: string, now: number): readonly PendingTrigger[];
  /** Durable. A run dealt with these triggers; they are pending no more. */
  endTriggers(policy: string, triggers: readonly PendingTrigger[]): void;
  /** The newest of them, oldest first. */
  deadLetters(account: string, limit: number): readonly DeadLetter[];
  /** Its claim stays. */
  forgetDeadLetter(account: string, dlqId: string): void;
}
