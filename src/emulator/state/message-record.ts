/** Messages and what became of them as text for the store, and back. Bodies of requests lie beside the text. */
import type { CallbackSetting, Delivery, Message, Outcome, Redaction, RetryDelayExpression } from './message.ts';
import { compileRetryDelay } from './retry-delay.ts';

/** What changes while a message lives. */
type Progress = Pick<Message, 'state' | 'attempts' | 'cancelRequested'> & {
  readonly dlqId?: string | undefined;
  /** Epoch milliseconds: when a message that waits is due. */
  readonly due?: number | undefined;
};

type StoredOutcome = Omit<Outcome, 'body'> & { readonly body: string };

/** What never changes, without the body. */
export function writeFixed(message: Message): string {
  return JSON.stringify({ ...message, ...NOT_FIXED, delivery: storedDelivery(message.delivery) });
}

/** Without the body. */
export function writeDelivery(delivery: Delivery): string {
  return JSON.stringify(storedDelivery(delivery));
}

/** Functions are no part of JSON: expressions are compiled again from their source. */
function storedDelivery(delivery: Delivery): object {
  const { body, headers } = delivery.redaction ?? {};
  const redaction = delivery.redaction && { body, headers: headers === true ? true : [...headers!] };
  return { ...delivery, body: undefined, redaction };
}

/** Told by `writeProgress`, or in a column of its own. */
const NOT_FIXED: Readonly<Record<keyof Progress | 'lastOutcome' | 'failureNotice', undefined>> = {
  state: undefined,
  attempts: undefined,
  cancelRequested: undefined,
  dlqId: undefined,
  due: undefined,
  lastOutcome: undefined,
  failureNotice: undefined,
};

export function writeProgress(message: Message, due: number | undefined): string {
  const { state, attempts, cancelRequested, dlqId } = message;
  const progress: Progress = { state, attempts, cancelRequested, dlqId, due };
  return JSON.stringify(progress);
}

export function writeOutcome(outcome: Outcome): string {
  const stored: StoredOutcome = { ...outcome, body: Buffer.from(outcome.body).toString('base64') };
  return JSON.stringify(stored);
}

export function readOutcome(text: string): Outcome {
  const stored = JSON.parse(text) as StoredOutcome;
  return { ...stored, body: Buffer.from(stored.body, 'base64') };
}

export interface StoredMessage {
  readonly message: Message;
  readonly due: number | undefined;
}

export function readMessage(row: {
  readonly fixed: string;
  readonly body: Uint8Array;
  readonly progress: string;
}): StoredMessage {
  type Fixed = Omit<Message, 'delivery'> & { readonly delivery: StoredDelivery };
  const fixed = JSON.parse(row.fixed) as Fixed;
  const { due, dlqId, ...progress } = JSON.parse(row.progress) as Progress;
  return {
    due,
    message: {
      ...fixed,
      ...progress,
      ...(dlqId !== undefined && { dlqId }),
      delivery: deliveryOf(fixed.delivery, row.body),
    },
  };
}

type StoredDelivery = Omit<Delivery, 'body'>;

/** @param text as `writeDelivery` made it */
export function readDelivery(text: string, body: Uint8Array): Delivery {
  return deliveryOf(JSON.parse(text) as StoredDelivery, body);
}

function deliveryOf(stored: StoredDelivery, body: Uint8Array): Delivery {
  const { retryDelay, callback, failureCallback, redaction, ...delivery } = stored;
  return {
    ...delivery,
    body,
    ...(retryDelay !== undefined && { retryDelay: compiled(retryDelay) }),
    ...(callback !== undefined && { callback: callbackOf(callback) }),
    ...(failureCallback !== undefined && { failureCallback: callbackOf(failureCallback) }),
    ...(redaction !== undefined && { redaction: redactionOf(redaction) }),
  };
}

function compiled({ source }: RetryDelayExpression): RetryDelayExpression {
  return { source, evaluate: compileRetryDelay(source) };
}

function callbackOf({ retryDelay, ...callback }: CallbackSetting): CallbackSetting {
  return { ...callback, ...(retryDelay !== undefined && { retryDelay: compiled(retryDelay) }) };
}

function redactionOf({ body, headers }: Redaction): Redaction {
  return { body, headers: headers === true ? true : new Set(headers) };
}
