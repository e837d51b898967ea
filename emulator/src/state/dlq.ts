/**
 * A dead letter queue: permanently failed messages in the order of their failure. They stay until they are deleted,
 * resumed, or older than the retention. If there are too many, the oldest are removed. An account has one queue for
 * plain messages and one for workflow runs.
 */
import { failureFunctionState } from './failure-function-state.ts';
import type { AccountJournal, DeadLetterQueueName } from './journal.ts';
import type { DeadMessage, Message } from './message.ts';
import { fieldChecks, pageOf, type Filter, type Page, type Window } from './search.ts';

/** Limits of the plan. They are read at each use, because the plan may change. */
export interface DeadLetterLimits {
  readonly dlqRetentionMs: number;
  readonly dlqSize: number;
}

/** Prefixes of the position in the ids of a queue. They have no digits. */
const MARKS: Readonly<Record<DeadLetterQueueName, string>> = { dlq: '', workflowDlq: 'w' };

export class DeadLetterQueue {
  readonly #limits: () => DeadLetterLimits;
  readonly #name: DeadLetterQueueName;
  readonly #journal: AccountJournal | undefined;
  /** Dead letters by position, in order of failure. */
  readonly #deadLetters = new Map<number, DeadMessage>();
  #sequence = 0;

  constructor(limits: () => DeadLetterLimits, name: DeadLetterQueueName, journal?: AccountJournal) {
    this.#limits = limits;
    this.#name = name;
    this.#journal = journal;
  }

  /** Position of the next dead letter. */
  get nextSequence(): number {
    return this.#sequence;
  }

  /** Loads dead letters of an earlier process, oldest first. */
  restore(deadLetters: Iterable<Omit<DeadMessage, 'dlqId'>>, nextSequence: number): void {
    for (const deadLetter of deadLetters) deadLetter.message.dlqId = this.#keep(deadLetter).dlqId;
    this.#sequence = nextSequence;
  }

  add(message: Message, now: number): DeadMessage {
    const deadLetter = this.#keep({ sequence: this.#sequence++, message, failedAt: now });
    this.#journal?.deadLetterAdded(this.#name, deadLetter);
    this.trim(now);
    return deadLetter;
  }

  get size(): number {
    return this.#deadLetters.size;
  }

  get(dlqId: string): DeadMessage | undefined {
    const deadLetter = this.#deadLetters.get(Number(/(?<!\d)\d+$/.exec(dlqId)?.[0]));
    return deadLetter?.dlqId === dlqId ? deadLetter : undefined;
  }

  remove(dlqId: string): boolean {
    const deadLetter = this.get(dlqId);
    if (deadLetter === undefined) return false;
    this.#remove(deadLetter);
    return true;
  }

  /** Returns dead letters, oldest first. A dead letter that is removed during the iteration is skipped. */
  deadLetters(): Iterable<DeadMessage> {
    return this.#deadLetters.values();
  }

  /**
   * Returns the first `count` dead letters that failed within the window and match the filter. Its state is that of the
   * failure function.
   */
  page(window: Window, filter: Filter, count: number): Page<DeadMessage> {
    const { state } = filter;
    const checks = fieldChecks(filter).map(
      (check) =>
        ({ message }: DeadMessage) =>
          check(message),
    );
    if (state !== undefined) checks.push(({ message }) => state.has(failureFunctionState(message) ?? ''));
    return pageOf([...this.#deadLetters.values()], { window, checks, count, timeOf: ({ failedAt }) => failedAt });
  }

  /** Removes expired dead letters silently. */
  trim(now: number): void {
    const { dlqRetentionMs, dlqSize } = this.#limits();
    for (const deadLetter of this.deadLetters()) {
      if (deadLetter.failedAt >= now - dlqRetentionMs && this.size <= dlqSize) break;
      this.#remove(deadLetter);
    }
  }

  #keep({ sequence, message, failedAt }: Omit<DeadMessage, 'dlqId'>): DeadMessage {
    const deadLetter = { dlqId: `${failedAt}-${MARKS[this.#name]}${sequence}`, sequence, message, failedAt };
    this.#deadLetters.set(sequence, deadLetter);
    return deadLetter;
  }

  #remove(deadLetter: DeadMessage): void {
    this.#deadLetters.delete(deadLetter.sequence);
    this.#journal?.deadLetterRemoved(this.#name, deadLetter);
  }
}
