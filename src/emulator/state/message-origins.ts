/**
 * Where messages say that they come from: a schedule, a queue. No operation of the interface makes either, so the next
 * messages are told (by the control path) what they shall say.
 */

export interface MessageOrigin {
  readonly scheduleId?: string;
  readonly queueName?: string;
}

const NOWHERE: MessageOrigin = {};

export class MessageOrigins {
  readonly #next = new Map<string, { readonly origin: MessageOrigin; left: number }>();

  /** The account's next publishes and triggers come from there; a later call replaces an earlier one. */
  set(accountId: string, origin: MessageOrigin, times: number): void {
    this.#next.set(accountId, { origin, left: times });
  }

  /** For one publish or trigger, whose messages all come from there. */
  take(accountId: string): MessageOrigin {
    const next = this.#next.get(accountId);
    if (next === undefined) return NOWHERE;
    if (--next.left < 1) this.#next.delete(accountId);
    return next.origin;
  }
}
