/** Wire format of messages: log entries (interface 2.3) and failed workflow messages (2.4). */
import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { headerText } from '../state/header-text.ts';
import { failureFunctionState } from '../state/failure-function-state.ts';
import type { LogEntry } from '../state/log.ts';
import type { DeadMessage, HeaderPair, Message, Redaction } from '../state/message.ts';
import type { Switches } from '../state/switches.ts';
import { headersAsArrays, type DeliveryHeaderNames } from '../delivery/wire-names.ts';

export interface JsonStyle {
  readonly switches: Switches;
  readonly headerNames: DeliveryHeaderNames;
}

/** Builds a log entry. Fields without a value are undefined, so JSON omits them. */
export function logEntryJson(entry: LogEntry, style: JsonStyle) {
  const { message, outcome } = entry;
  const { delivery } = message;
  const { callback, failureCallback } = delivery;
  return {
    time: entry.time,
    state: style.switches.logState === 'present' ? spell(entry.state, style.switches) : undefined,
    messageId: message.id,
    header: headersJson(message, style),
    ...bodyJson(message),
    error: outcome?.error,
    nextDeliveryTime: entry.nextDeliveryTime,
    url: message.url,
    topicName: message.topicName,
    endpointName: message.endpointName,
    scheduleId: message.scheduleId,
    queueName: message.queueName,
    responseStatus: outcome?.status,
    responseBody: outcome === undefined || outcome.body.length === 0 ? undefined : text(outcome.body),
    responseHeaders: outcome?.status === undefined ? undefined : headersAsArrays(outcome.headers),
    timeout: delivery.timeoutMs / 1_000,
    method: delivery.method,
    callback: callback?.url,
    callbackHeaders: callback && pairsJson(callback.headers, delivery.redaction),
    failureCallback: failureCallback?.url,
    failureCallbackHeaders: failureCallback && pairsJson(failureCallback.headers, delivery.redaction),
    maxRetries: delivery.maxRetries,
    retryDelayExpression: delivery.retryDelay?.source,
    ...labelsJson(message),
  };
}

export function workflowDeadLetterJson(deadLetter: DeadMessage, style: JsonStyle): object {
  const { message, dlqId, failedAt } = deadLetter;
  const { delivery, workflow, lastOutcome } = message;
  const failureState = failureFunctionState(message);
  return {
    dlqId,
    workflowUrl: message.url,
    workflowRunId: workflow?.runId,
    workflowCreatedAt: workflow?.createdAt,
    url: message.url,
    method: delivery.method,
    header: headersJson(message, style),
    ...bodyJson(message),
    maxRetries: delivery.maxRetries,
    createdAt: failedAt,
    failureCallback: delivery.failureCallback?.url,
    callerIP: delivery.callerIp,
    ...labelsJson(message),
    flowControlKey: delivery.flowControl?.key,
    ...(failureState !== undefined &&
      (style.switches.failureState === 'plain'
        ? { failureFunctionState: failureState }
        : { failureCallbackInfo: { state: failureState } })),
    responseStatus: lastOutcome?.status,
    responseHeader: lastOutcome?.status === undefined ? undefined : headersAsArrays(lastOutcome.headers),
    ...(lastOutcome !== undefined &&
      lastOutcome.body.length > 0 &&
      (isUtf8(lastOutcome.body)
        ? { responseBody: text(lastOutcome.body) }
        : { responseBodyBase64: base64(lastOutcome.body) })),
  };
}

function spell(state: string, switches: Switches): string {
  return state === 'CANCELLED' ? switches.canceledSpelling : state;
}

/** Builds the headers that the destination gets, with the service's own headers for run and key. */
function headersJson(message: Message, style: JsonStyle): Record<string, string[]> {
  const { delivery, workflow } = message;
  const json = pairsJson(delivery.headers, delivery.redaction);
  if (workflow !== undefined) json[style.headerNames.workflowRunId] = [workflow.runId];
  if (delivery.flowControl !== undefined) json[style.headerNames.flowControlKey] = [delivery.flowControl.key];
  return json;
}

function pairsJson(pairs: readonly HeaderPair[], redaction: Redaction | undefined): Record<string, string[]> {
  const isHidden = (name: string): boolean =>
    redaction !== undefined && (redaction.headers === true || redaction.headers.has(name.toLowerCase()));
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, [isHidden(name) ? redacted(Buffer.from(value, 'latin1')) : headerText(value)]]),
  );
}

function bodyJson({ delivery }: Message): { readonly body?: string; readonly bodyBase64?: string } {
  if (delivery.body.length === 0) return {};
  if (delivery.redaction?.body === true) return { body: redacted(delivery.body) };
  return isUtf8(delivery.body) ? { body: text(delivery.body) } : { bodyBase64: base64(delivery.body) };
}

function labelsJson({ delivery }: Message): { readonly label?: string; readonly labels?: readonly string[] } {
  const [label] = delivery.labels;
  return label === undefined ? {} : { label, labels: delivery.labels };
}

function redacted(value: Uint8Array): string {
  return `REDACTED:${createHash('sha256').update(value).digest('hex')}`;
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
