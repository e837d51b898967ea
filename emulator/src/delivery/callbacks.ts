/** Callbacks (interface, section 6): separate messages that report an attempt of another message. */
import type { CallbackSetting, Delivery, Message, Outcome } from '../state/message.ts';
import { headerTexts, headerValue } from '../state/header-text.ts';
import { headersAsArrays, withContentType, type DeliveryHeaderNames } from './wire-names.ts';

/** Builds the delivery of a callback. Without its own retry setting it uses that of the source message. */
export function callbackDelivery(setting: CallbackSetting, source: Message, body: Uint8Array): Delivery {
  const { redaction } = source.delivery;
  const retryDelay = setting.retryDelay ?? source.delivery.retryDelay;
  return {
    method: setting.method,
    body,
    headers: withContentType('application/json', setting.headers),
    timeoutMs: setting.timeoutMs ?? source.delivery.timeoutMs,
    maxRetries: setting.retries ?? source.delivery.maxRetries,
    ...(retryDelay !== undefined && { retryDelay }),
    labels: [],
    // The body repeats the source's body and headers, so their redaction applies here too.
    ...(redaction !== undefined && { redaction: { ...redaction, body: true } }),
    callerIp: source.delivery.callerIp,
  };
}

/**
 * Returns the call of a workflow's failure function. It equals a failure callback to the workflow's URL. Undefined for
 * messages that are not workflow runs.
 */
export function failureFunctionOf({ url, workflow }: Message, names: DeliveryHeaderNames): CallbackSetting | undefined {
  if (workflow === undefined) return undefined;
  const headers = [
    [names.workflowFailure, 'true'] as const,
    [names.workflowRunId, headerValue(workflow.runId)] as const,
  ];
  return { url, headers, method: 'POST', delayMs: 0 };
}

/** Builds the JSON that the callback's receiver gets. `status` is 0 when the destination did not respond. */
export function callbackBody(source: Message, outcome: Outcome, dlqId?: string): Uint8Array {
  const { delivery } = source;
  return new TextEncoder().encode(
    JSON.stringify({
      status: outcome.status ?? 0,
      header: headersAsArrays(outcome.headers),
      body: Buffer.from(outcome.body).toString('base64'),
      retried: source.attempts - 1,
      maxRetries: delivery.maxRetries,
      dlqId,
      sourceMessageId: source.id,
      topicName: source.topicName,
      endpointName: source.endpointName,
      url: source.url,
      method: delivery.method,
      sourceHeader: headerTexts(Object.fromEntries(delivery.headers)),
      sourceBody: Buffer.from(delivery.body).toString('base64'),
      notBefore: String(source.notBefore),
      createdAt: String(source.createdAt),
      scheduleId: source.scheduleId,
      callerIP: delivery.callerIp,
    }),
  );
}
