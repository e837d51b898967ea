/**
 * Converts messages and their outcomes to text for the store, and back. Bodies of requests are stored separately from
 * the text.
 */
import type { CallbackSetting, Delivery, Message, Outcome, Redaction, RetryDelayExpression } from './message.ts';
import { compileRetryDelay } from './retry-delay.ts';

/** Fields that change while a message lives. */
type Progress = Pick<Message, 'state' | 'attempts' | 'cancelRequested'> & {
  readonly dlqId?: string | undefined;
  /** Due time of a waiting message, in epoch milliseconds. */
  readonly due?: number | undefined;
};

type StoredOutcome = Omit<Outcome, 'body'> & { readonly body: string };

/** Writes the fields that never change, without the body. */
export function writeFixed(message: Message): string {
  return JSON.stringify({ ...message, ...NOT_FIXED, delivery: storedDelivery(message.delivery) });
}

/** JSON has no functions: expressions are compiled again from their source. */
function storedDelivery(delivery: Delivery): object {
  const { body, headers } = delivery.redaction ?? {};
  const redaction = delivery.redaction && { body, headers: headers === true ? true : [...headers!] };
  return { ...delivery, body: undefined, redaction };
}

/** Fields that `writeProgress` or a separate column contains. */
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
