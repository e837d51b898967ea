/** A message in its internal state, for tests. No part of it was sent over the wire. */
import type { DeadLetterQueue } from './dlq.ts';
import type { Message } from './message.ts';

export type MessageView = ReturnType<typeof viewOf>;

export function viewOf({ delivery, workflow, lastOutcome, ...message }: Message) {
  const { id, state, url, attempts, createdAt, topicName, scheduleId, queueName, dlqId } = message;
  return {
    id,
    state,
    url,
    /** Number of delivery attempts begun. */
    attempts,
    /** Epoch milliseconds. */
    createdAt,
    labels: delivery.labels,
    topicName,
    flowControlKey: delivery.flowControl?.key,
    workflowRunId: workflow?.runId,
    scheduleId,
    queueName,
    /** Set when the message entered a DLQ, and kept after its removal. */
    dlqId,
    /** HTTP status of the last attempt. */
    lastStatus: lastOutcome?.status,
  };
}

/** Returns failed runs that are in the workflow DLQ now, oldest failure first. */
export function failedRuns(workflowDlq: DeadLetterQueue | undefined, now: number) {
  workflowDlq?.trim(now);
  return [...(workflowDlq?.deadLetters() ?? [])].map(({ message, dlqId, failedAt }) => ({
    ...viewOf(message),
    dlqId,
    workflowRunId: message.workflow!.runId,
    /** Epoch milliseconds. */
    failedAt,
  }));
}
