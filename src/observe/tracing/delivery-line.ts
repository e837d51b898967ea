/**
 * Delivery event of an ended message: one line of JSON with the names of OpenTelemetry's semantic conventions. It
 * contains no bodies, headers or error texts.
 */
import { destinationOf, storableUrl } from '../aggregation/destination.ts';
import type { MessageProgress } from '../aggregation/message-trace.ts';
import * as semconv from './semconv.ts';
import { traceIdOf } from './trace-ids.ts';

/** Returns the lines of the messages that ended with this commit, in the order of their ends. */
export function deliveryLines(progress: readonly MessageProgress[]): readonly string[] {
  return progress
    .filter(({ end, news }) => end !== undefined && news.ended && news.isPast !== true)
    .sort((a, b) => a.end!.at - b.end!.at)
    .map(deliveryLine);
}

/** Returns the line of a message. Unknown fields are absent. */
function deliveryLine(message: MessageProgress): string {
  const { account, messageId, attempts, dueAt } = message;
  const { at, outcome } = message.end!;
  const last = attempts.at(-1);
  return JSON.stringify({
    timestamp: new Date(at).toISOString(),
    'event.name': 'msgsvc.delivery.ended',
    trace_id: traceIdOf(account, messageId),
    [semconv.ATTR_MESSAGING_SYSTEM]: 'msgsvc',
    [semconv.ATTR_MESSAGING_MESSAGE_ID]: messageId,
    [semconv.ATTR_MESSAGING_DESTINATION_NAME]: destinationOf(message),
    [semconv.ATTR_MESSAGING_MESSAGE_CONVERSATION_ID]: message.workflowRunId,
    [semconv.ATTR_MSGSVC_ACCOUNT]: account,
    [semconv.ATTR_MSGSVC_OUTCOME]: outcome,
    [semconv.ATTR_MSGSVC_ATTEMPTS]: attempts.length,
    'messaging.msgsvc.duration_ms': dueAt === undefined ? undefined : Math.max(0, at - dueAt),
    [semconv.ATTR_HTTP_REQUEST_METHOD]: message.method,
    [semconv.ATTR_HTTP_RESPONSE_STATUS_CODE]: last?.responseStatus,
    [semconv.ATTR_ERROR_TYPE]: outcome === 'failed' ? (last?.responseStatus?.toString() ?? last?.failure) : undefined,
    [semconv.ATTR_URL_FULL]: message.url === undefined ? undefined : storableUrl(message.url),
  });
}
