/**
 * One attempt of a message, from the record to the request: what is sent with it, how much of the answer is wanted, and
 * nothing at all where the account's quota is exhausted.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Delivered, Deliverer } from './delivery.ts';
import { attemptId, type HeaderPair, type Message } from '../state/message.ts';
import { signDelivery } from './signature.ts';
import type { SigningKeyRing } from '../state/signing-keys.ts';
import type { Switches } from '../state/switches.ts';
import type { DeliveryHeaderNames } from './wire-names.ts';

export interface CarrierOptions {
  readonly clock: Clock;
  readonly deliverer: Deliverer;
  readonly headerNames: DeliveryHeaderNames;
  readonly switches: Switches;
  /** Of an answer's body, as much as a callback carries. */
  readonly callbackBytes: (accountId: string) => number;
  readonly signing: { readonly issuer: string; readonly keys: SigningKeyRing };
  /** Why an account's messages can no longer be delivered; undefined while they can. */
  readonly exhausted: (accountId: string) => string | undefined;
}

export class Carrier {
  readonly #options: CarrierOptions;

  constructor(options: CarrierOptions) {
    this.#options = options;
  }

  /** Of the attempt that the message has begun. Rejects only with the reason of `signal`. */
  async carry(message: Message, signal: AbortSignal): Promise<Delivered> {
    const exhausted = this.#options.exhausted(message.accountId);
    if (exhausted !== undefined) {
      return { delivered: false, headers: {}, body: new Uint8Array(), error: exhausted, unsent: true };
    }
    const { url, delivery } = message;
    const { method, body, timeoutMs } = delivery;
    const headers = [...delivery.headers, ...this.#ownHeaders(message)];
    const answerBytes = this.#isTold(message) ? this.#options.callbackBytes(message.accountId) : 0;
    const attempt = { url, method, headers, body, timeoutMs, answerBytes };
    return await this.#options.deliverer.deliver(attempt, signal);
  }

  #ownHeaders(message: Message): readonly HeaderPair[] {
    const names = this.#options.headerNames;
    return [
      [names.messageId, message.id],
      [names.retried, String(message.attempts - 1)],
      [names.signature, this.#signature(message)],
      ...(message.workflow === undefined ? [] : [[names.workflowRunId, message.workflow.runId] as const]),
    ];
  }

  #signature({ accountId, id, url, attempts, delivery }: Message): string {
    const { issuer, keys } = this.#options.signing;
    return signDelivery(keys.of(accountId).current, {
      issuer,
      url,
      id: attemptId(id, attempts),
      body: delivery.body,
      now: this.#options.clock.now(),
    });
  }

  /** Whether a callback may carry what the destination answers. */
  #isTold({ delivery, workflow }: Message): boolean {
    if (delivery.callback !== undefined || delivery.failureCallback !== undefined) return true;
    return workflow !== undefined && this.#options.switches.failureFunction === 'on';
  }
}
