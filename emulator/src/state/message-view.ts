/** A message in its internal state, for tests. No part of it was sent over the wire. */
import type { DeadLetterQueue } from './dlq.ts';
import type { Message, State } from './message.ts';

export interface MessageView {
  readonly id: string;
  readonly state: State;
  readonly url: string;
  /** Number of delivery attempts begun. */
  readonly attempts: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly labels: readonly string[];
  readonly topicName?: string;
  readonly flowControlKey?: string;
  readonly workflowRunId?: string;
  readonly scheduleId?: string;
  readonly queueName?: string;
  /** Set when the message entered a DLQ, and kept after its removal. */
  readonly dlqId?: string;
  /** HTTP status of the last attempt. */
  readonly lastStatus?: number;
}

export function viewOf(message: Message): MessageView {
  const { delivery, workflow, lastOutcome, scheduleId, queueName } = message;
  return {
    id: message.id,
    state: message.state,
    url: message.url,
    attempts: message.attempts,
    createdAt: message.createdAt,
    labels: delivery.labels,
    ...(message.topicName !== undefined && { topicName: message.topicName }),
    ...(delivery.flowControl !== undefined && { flowControlKey: delivery.flowControl.key }),
    ...(workflow !== undefined && { workflowRunId: workflow.runId }),
    ...(scheduleId !== undefined && { scheduleId }),
    ...(queueName !== undefined && { queueName }),
    ...(message.dlqId !== undefined && { dlqId: message.dlqId }),
    ...(lastOutcome?.status !== undefined && { lastStatus: lastOutcome.status }),
  };
}

/** A failed run that is in the workflow DLQ now. */
export interface FailedRunView extends MessageView {
  readonly dlqId: string;
  readonly workflowRunId: string;
  /** Epoch milliseconds. */
  readonly failedAt: number;
}

/** Returns failed runs, oldest failure first. */
export function failedRuns(workflowDlq: DeadLetterQueue | undefined, now: number): readonly FailedRunView[] {
  if (workflowDlq === undefined) return [];
  workflowDlq.trim(now);
  return [...workflowDlq.deadLetters()].map(({ message, dlqId, failedAt }) => ({
    ...viewOf(message),
    dlqId,
    workflowRunId: message.workflow!.runId,
    failedAt,
  }));
}
