/**
 * Carries out one attempt of a message: builds the request from the record, and limits the bytes read of the response.
 * If the account's quota is exhausted, no request is sent.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Delivered, Deliverer } from './delivery.ts';
import { alteredBody, connectionFailure, reportedOutcome, type DeliveryFaults } from './delivery-faults.ts';
import { headerValue } from '../state/header-text.ts';
import { attemptId, type HeaderPair, type Message } from '../state/message.ts';
import { signDelivery } from './signature.ts';
import type { SigningKeyRing } from '../state/signing-keys.ts';
import type { Switches } from '../state/switches.ts';
import type { DeliveryHeaderNames } from './wire-names.ts';

export interface CarrierOptions {
  readonly clock: Clock;
  /** Time of receivers, which check signatures by it. */
  readonly realTime: Clock;
  readonly deliverer: Deliverer;
  readonly headerNames: DeliveryHeaderNames;
  readonly switches: Switches;
  /** Returns the maximum response bytes in a callback. */
  readonly callbackBytes: (accountId: string) => number;
  readonly signing: { readonly issuer: string; readonly keys: SigningKeyRing };
  /** Returns why an account's messages cannot be delivered; undefined when they can. */
  readonly exhausted: (accountId: string) => string | undefined;
  readonly faults: DeliveryFaults;
}

export class Carrier {
  readonly #options: CarrierOptions;

  constructor(options: CarrierOptions) {
    this.#options = options;
  }

  /** Sends the attempt that the message has begun. Rejects only with the reason of `signal`. */
  async carry(message: Message, signal: AbortSignal): Promise<Delivered> {
    const exhausted = this.#options.exhausted(message.accountId);
    if (exhausted !== undefined) {
      return { delivered: false, headers: {}, body: new Uint8Array(), error: exhausted, unsent: true };
    }
    const { faults } = this.#options;
    const failed = connectionFailure(faults.of('unreachable', message), message.url);
    if (failed !== undefined) return failed;
    const misreported = faults.of('misreported', message);
    const reported = misreported && reportedOutcome(misreported.status);
    if (misreported?.sent === false) return reported!;
    const outcome = await this.#send(message, signal);
    if (faults.of('sent-twice', message) !== undefined) await this.#send(message, signal);
    return reported ?? outcome;
  }

  async #send(message: Message, signal: AbortSignal): Promise<Delivered> {
    const { url, delivery } = message;
    const { method, timeoutMs } = delivery;
    const altered = this.#options.faults.of('altered', message);
    const body = altered === undefined ? delivery.body : alteredBody(delivery.body, altered.how);
    const headers = [...delivery.headers, ...this.#ownHeaders(message, body)];
    const answerBytes = this.#isTold(message) ? this.#options.callbackBytes(message.accountId) : 0;
    const attempt = { url, method, headers, body, timeoutMs, answerBytes };
    return await this.#options.deliverer.deliver(attempt, signal);
  }

  #ownHeaders(message: Message, body: Uint8Array): readonly HeaderPair[] {
    const names = this.#options.headerNames;
    return [
      [names.messageId, message.id],
      [names.retried, String(message.attempts - 1)],
      [names.signature, this.#signature(message, body)],
      ...(message.workflow === undefined ? [] : [[names.workflowRunId, headerValue(message.workflow.runId)] as const]),
    ];
  }

  #signature({ accountId, id, url, attempts }: Message, body: Uint8Array): string {
    const { signing, switches, clock, realTime } = this.#options;
    const { issuer, keys } = signing;
    return signDelivery(keys.of(accountId).current, {
      issuer,
      url,
      id: attemptId(id, attempts),
      body,
      now: (switches.signatureTime === 'real' ? realTime : clock).now(),
    });
  }

  /** Returns true if a callback may carry the destination's response. */
  #isTold({ delivery, workflow }: Message): boolean {
    if (delivery.callback !== undefined || delivery.failureCallback !== undefined) return true;
    return workflow !== undefined && this.#options.switches.failureFunction === 'on';
  }
}
