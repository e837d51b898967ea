/** Verdict of an attempt: whether the message has ended, and its state. */
import type { Message, Outcome } from '../state/message.ts';

/** Status that, with the header, asks the service not to retry. */
const NON_RETRYABLE_STATUS = 489;

/** Result for the message. A message canceled during the attempt ends as canceled, unless the attempt delivered it. */
export type Verdict = 'delivered' | 'canceled' | 'failed' | 'retry';

/** @param nonRetryable name of the destination's header, in lower case */
export function judge(message: Message, outcome: Outcome, nonRetryable: string): Verdict {
  if (outcome.delivered) return 'delivered';
  if (message.cancelRequested) return 'canceled';
  const retried = message.attempts - 1;
  return retried >= message.delivery.maxRetries || isFinal(outcome, nonRetryable) ? 'failed' : 'retry';
}

function isFinal({ unsent, status, headers }: Outcome, nonRetryable: string): boolean {
  if (unsent === true) return true;
  return status === NON_RETRYABLE_STATUS && String(headers[nonRetryable]).toLowerCase() === 'true';
}
