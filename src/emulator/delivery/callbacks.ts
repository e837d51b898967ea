/** Callbacks (interface, section 6): messages of their own that tell of another message's attempt. */
import type { CallbackSetting, Delivery, Message, Outcome } from '../state/message.ts';
import { headersAsArrays, withContentType, type DeliveryHeaderNames } from './wire-names.ts';

/** The delivery of a callback, with the retry setting of the message it tells of unless it has its own. */
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
    // The body tells of the source's body and headers: what is redacted there is redacted here.
    ...(redaction !== undefined && { redaction: { ...redaction, body: true } }),
    callerIp: source.delivery.callerIp,
  };
}

/**
 * The call of the failure function that the workflow's own server has: told as a failure callback would be, to the URL
 * of the workflow. Undefined for what is no workflow run.
 */
export function failureFunctionOf({ url, workflow }: Message, names: DeliveryHeaderNames): CallbackSetting | undefined {
  if (workflow === undefined) return undefined;
  const headers = [[names.workflowFailure, 'true'] as const, [names.workflowRunId, workflow.runId] as const];
  return { url, headers, method: 'POST', delayMs: 0 };
}

/** The JSON that the callback's receiver gets. `status` is 0 when the destination gave no answer. */
export function callbackBody(source: Message, outcome: Outcome, dlqId?: string): Uint8Array {
  const { delivery } = source;
  return Buffer.from(
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
      sourceHeader: Object.fromEntries(delivery.headers),
      sourceBody: Buffer.from(delivery.body).toString('base64'),
      notBefore: String(source.notBefore),
      createdAt: String(source.createdAt),
      scheduleId: source.scheduleId,
      callerIP: delivery.callerIp,
    }),
  );
}
