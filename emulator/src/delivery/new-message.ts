/** Builds a message in its initial state. */
import type { Random } from '#foundation/platform/random.ts';
import { orderedId } from '../state/ids.ts';
import type { Delivery, Message, WorkflowRunRef } from '../state/message.ts';

export interface NewMessage {
  readonly url: string;
  readonly delivery: Delivery;
  /** Epoch milliseconds; now when absent or past. */
  readonly notBefore?: number;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly scheduleId?: string;
  readonly queueName?: string;
  /** The run whose only message this is. `isNew` is false for a run that continues under its old id. */
  readonly workflow?: WorkflowRunRef & { readonly isNew: boolean };
}

interface Beginning {
  readonly accountId: string;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly random: Random;
}

export function createMessage(request: NewMessage, { accountId, now, random }: Beginning): Message {
  const { workflow, ...rest } = request;
  return {
    ...rest,
    id: orderedId('msg_', now, random),
    accountId,
    createdAt: now,
    notBefore: Math.max(now, request.notBefore ?? now),
    ...(workflow !== undefined && { workflow: { runId: workflow.runId, createdAt: workflow.createdAt } }),
    state: 'CREATED',
    attempts: 0,
    cancelRequested: false,
  };
}
