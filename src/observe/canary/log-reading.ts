/** State of one message from its log entries, pure. */
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import { failureReason } from '#foundation/domain/reason.ts';
import type { LoggedFailure, LoggedMessage } from './facts.ts';

/**
 * Returns the state that the entries prove together. An outcome counts more than an attempt, and a delivery more than a
 * failure: entries can be in any order, and repeated.
 */
export function loggedMessage(entries: readonly LogEntry[]): LoggedMessage {
  const of = (...states: readonly MessageState[]): readonly LogEntry[] =>
    entries.filter(({ state }) => state !== undefined && states.includes(state));
  const delivered = of('DELIVERED');
  if (delivered.length > 0) {
    return {
      state: 'delivered',
      deliveredAt: Math.min(...delivered.map(({ time }) => time)),
      ...(delivered.some(({ hasResponse }) => hasResponse) && { hasResponse: true }),
    };
  }
  const failed = of('ERROR', 'FAILED');
  if (failed.length > 0) {
    const hasResponse = failed.some((entry) => entry.hasResponse);
    return { state: 'failed', failure: failureOf(failed), ...(hasResponse && { hasResponse: true }) };
  }
  if (of('CANCELLED').length > 0) return { state: 'canceled' };
  if (of('ACTIVE').length > 0) return { state: 'attempting' };
  return { state: entries.length === 0 ? 'none' : 'waiting' };
}

/** Returns the failure of the entry that says most. A FAILED may have neither status nor text. */
function failureOf(entries: readonly LogEntry[]): LoggedFailure {
  const told =
    entries.find(({ responseStatus }) => responseStatus !== undefined && responseStatus >= 100) ??
    entries.find(({ error }) => error !== undefined && error !== '');
  if (told === undefined) return { reason: 'no_response' };
  const { responseStatus, error } = told;
  return {
    reason: failureReason(responseStatus, error),
    ...(responseStatus !== undefined && responseStatus >= 100 && { status: responseStatus }),
    ...(error !== undefined && { error }),
  };
}
