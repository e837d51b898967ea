/** Pairs the steps of one message: each attempt with its due time, and with its outcome. */
import type { DestinationCounts, LogCounts } from './log-counts.ts';
import { dueAfter, isOutcome, type MessageStep } from './open-message.ts';

interface Measuring {
  readonly messageId: string;
  readonly of: DestinationCounts;
  readonly counts: LogCounts;
  /** True if the message had ended and was complete: missing steps are not awaited. */
  readonly isPast: boolean;
}

export interface Pairs {
  /** True if no step is missing. */
  readonly areComplete: boolean;
  readonly outcomes: number;
  /** Outcomes without their ACTIVE. */
  readonly unjoined: number;
}

export class AttemptPairs {
  readonly #measuring: Measuring;
  #due: number | undefined;
  #active: MessageStep | undefined;
  /** True if a failure was reported and no later attempt. */
  #isTold = false;
  /** Due time of the attempt that the last RETRY announced, until an entry reports that attempt. */
  #again: number | undefined;
  #outcomes = 0;
  #unjoined = 0;
  #areComplete = true;

  constructor(measuring: Measuring) {
    this.#measuring = measuring;
  }

  /** Measures the waits and attempts that are not measured yet. The steps are in order. */
  measure(steps: readonly MessageStep[]): Pairs {
    for (const step of steps) this.#take(step);
    return {
      areComplete: this.#areComplete && this.#active === undefined,
      outcomes: this.#outcomes,
      unjoined: this.#unjoined,
    };
  }

  #take(step: MessageStep): void {
    const { state } = step;
    if (state === 'CREATED') this.#due = dueAfter(step);
    else if (state === 'ACTIVE') this.#start(step);
    else if (isOutcome(state)) this.#end(step);
    else if (state === 'RETRY') this.#retry(step);
    else if (state === 'FAILED' && (!this.#isTold || this.#again !== undefined)) this.#miss();
    else if (state === 'CANCELLED' && this.#isUntold()) this.#miss();
  }

  #start(step: MessageStep): void {
    const { of, messageId } = this.#measuring;
    const due = this.#due;
    if (this.#active !== undefined) this.#areComplete = false;
    if (this.#isUntold()) this.#miss();
    this.#active = step;
    this.#isTold = false;
    this.#again = undefined;
    this.#due = undefined;
    if (due === undefined) return this.#miss();
    if (step.waitedFrom === undefined) {
      const observed = { messageId, at: step.time };
      of.observe('msgsvc_message_queue_wait_seconds', Math.max(0, step.time - due), observed);
    } else if (step.waitedFrom !== due) this.#revise();
    step.waitedFrom = due;
  }

  #end({ time, nextDeliveryTime }: MessageStep): void {
    const { of, messageId } = this.#measuring;
    this.#outcomes += 1;
    // The previous attempt has no outcome yet, and the ACTIVE of this one has not arrived.
    const active = this.#again !== undefined && time >= this.#again ? undefined : this.#active;
    this.#active = undefined;
    this.#again = undefined;
    this.#isTold = true;
    this.#due = nextDeliveryTime;
    if (active === undefined) {
      this.#unjoined += 1;
      this.#areComplete = false;
      return;
    }
    if (active.measuredTo === undefined) {
      of.observe('msgsvc_message_attempt_duration_seconds', time - active.time, { messageId, at: time });
    } else if (active.measuredTo !== time) this.#revise();
    active.measuredTo = time;
  }

  #retry({ time, nextDeliveryTime }: MessageStep): void {
    // An attempt was made since the previous RETRY.
    if (this.#again !== undefined && time > this.#again) this.#miss();
    this.#due = nextDeliveryTime ?? this.#due;
    this.#again = nextDeliveryTime ?? time;
  }

  /** Returns true if the failure that caused a RETRY is missing. The two entries can be in either order. */
  #isUntold(): boolean {
    return this.#again !== undefined && !this.#isTold;
  }

  /** Notes that a step is missing. */
  #miss(): void {
    this.#areComplete &&= this.#measuring.isPast;
  }

  #revise(): void {
    this.#measuring.counts.add('opsd_log_revised_durations_total', 1);
  }
}
