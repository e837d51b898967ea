/**
 * Origins of messages: a schedule, a queue. No operation of the interface creates either, so the control API sets the
 * origin of the next messages.
 */

export interface MessageOrigin {
  readonly scheduleId?: string;
  readonly queueName?: string;
}

const NOWHERE: MessageOrigin = {};

export class MessageOrigins {
  readonly #next = new Map<string, { readonly origin: MessageOrigin; left: number }>();

  /** Sets the origin of the account's next publishes and triggers. A later call replaces an earlier one. */
  set(accountId: string, origin: MessageOrigin, times: number): void {
    this.#next.set(accountId, { origin, left: times });
  }

  /** Returns the origin for one publish or trigger, which all its messages share. */
  take(accountId: string): MessageOrigin {
    const next = this.#next.get(accountId);
    if (next === undefined) return NOWHERE;
    if (--next.left < 1) this.#next.delete(accountId);
    return next.origin;
  }
}
