/** The emulator's records in the form of the public types. */
import type { DeadLetterQueue } from '../state/dlq.ts';
import { failureFunctionState } from '../state/failure-function-state.ts';
import { headerText } from '../state/header-text.ts';
import type { Message, Outcome } from '../state/message.ts';
import type { ScriptedRequest } from '../control/scripted-hosts.ts';
import type { DeadLetter, DeliveredRequest, EmulatorMessage } from '../types/public.ts';

export function messageOf(message: Message): EmulatorMessage {
  const { id, state, url, attempts, createdAt, notBefore, topicName, workflow, scheduleId, queueName, dlqId } = message;
  const { method, headers, body, maxRetries, labels, flowControl, callback, failureCallback } = message.delivery;
  return {
    id,
    state,
    url,
    method,
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), headerText(value)])),
    body: text(body),
    bodyBytes: Uint8Array.from(body),
    attempts,
    maxRetries,
    createdAt,
    notBefore,
    labels: [...labels],
    ...(flowControl !== undefined && { flowControlKey: flowControl.key }),
    ...(topicName !== undefined && { urlGroup: topicName }),
    ...(workflow !== undefined && { workflowRunId: workflow.runId }),
    ...(scheduleId !== undefined && { scheduleId }),
    ...(queueName !== undefined && { queueName }),
    ...(callback !== undefined && { callbackUrl: callback.url }),
    ...(failureCallback !== undefined && { failureCallbackUrl: failureCallback.url }),
    ...(dlqId !== undefined && { dlqId }),
    ...(message.lastOutcome !== undefined && outcomeOf(message.lastOutcome)),
  };
}

function outcomeOf({
  status,
  body,
  error,
}: Outcome): Pick<EmulatorMessage, 'responseStatus' | 'responseBody' | 'error'> {
  return {
    ...(status !== undefined && { responseStatus: status, responseBody: text(body) }),
    ...(error !== undefined && { error }),
  };
}

/** Returns the dead letters of both queues that the retention keeps, oldest failure first. */
export function deadLettersOf(
  queues: Readonly<Record<DeadLetter['kind'], DeadLetterQueue>>,
  now: number,
): readonly DeadLetter[] {
  const found = (['message', 'workflow'] as const).flatMap((kind) => {
    queues[kind].trim(now);
    return [...queues[kind].deadLetters()].map(({ message, dlqId, failedAt }): DeadLetter => {
      const state = failureFunctionState(message);
      return {
        ...messageOf(message),
        kind,
        dlqId,
        failedAt,
        ...(state !== undefined && { failureFunctionState: state }),
      };
    });
  });
  return found.toSorted((one, other) => one.failedAt - other.failedAt);
}

export function deliveredOf({ body, ...request }: ScriptedRequest): DeliveredRequest {
  return { ...request, body: text(body), bodyBytes: Uint8Array.from(body) };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
