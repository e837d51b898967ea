/** What an attempt makes of its message: whether it was the last one, and why. */
import type { Message, Outcome } from '../state/message.ts';

/** The status by which a destination says, with the header, that trying again is of no use. */
const NON_RETRYABLE_STATUS = 489;

/** A message that was canceled meanwhile ends as canceled unless this attempt delivered it. */
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
