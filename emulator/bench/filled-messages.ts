/** Messages with their log entries, put into the state of an account of the emulator without requests. */
import type { AccountState } from '#emulator/state/account-state.ts';
import { orderedId } from '#emulator/state/ids.ts';
import type { Message, Outcome, State } from '#emulator/state/message.ts';
import type { Random } from '#foundation/platform/random.ts';

/** Number of log entries of a message that is delivered at the first attempt. */
export const ENTRIES_OF_DELIVERY = 3;

export interface MessageFacts {
  readonly index: number;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly kind: 'delivered' | 'failed' | 'failedRun';
  readonly bodyBytes: number;
  readonly random: Random;
}

/** Adds an ended message, its log entries, and its dead letter if it failed. Returns its id. */
export function addMessage(state: AccountState, facts: MessageFacts): string {
  const { now, kind } = facts;
  const message = messageOf(state.accountId, facts);
  state.messages.set(message.id, message);
  const enter = (next: State, outcome?: Outcome): void => {
    message.state = next;
    state.log.append({ time: now, state: next, message, nextDeliveryTime: undefined, outcome });
  };
  enter('CREATED');
  message.attempts = 1;
  enter('ACTIVE');
  message.lastOutcome = outcomeOf(now, kind === 'delivered');
  if (kind === 'delivered') {
    enter('DELIVERED', message.lastOutcome);
  } else {
    enter('ERROR', message.lastOutcome);
    message.dlqId = state[kind === 'failed' ? 'dlq' : 'workflowDlq'].add(message, now).dlqId;
    enter('FAILED', message.lastOutcome);
  }
  return message.id;
}

function messageOf(accountId: string, { index, now, kind, bodyBytes, random }: MessageFacts): Message {
  return {
    id: orderedId('msg_', now, random),
    accountId,
    url: `https://api.example/hooks/${index % 40}`,
    createdAt: now,
    notBefore: now,
    ...(index % 10 === 0 && { topicName: `group-${index % 4}`, endpointName: 'one' }),
    ...(kind === 'failedRun' && { workflow: { runId: `wfr_${index}`, createdAt: now } }),
    state: 'CREATED',
    attempts: 0,
    cancelRequested: false,
    delivery: {
      method: 'POST',
      body: Buffer.from(JSON.stringify({ order: index, items: textOf(index, bodyBytes - 40) })),
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Request-Id', `request-${index}`],
      ],
      timeoutMs: 7_200_000,
      maxRetries: 0,
      labels: [`kind-${index % 20}`, `order-${index}`],
      callerIp: '127.0.0.1',
    },
  };
}

function outcomeOf(now: number, delivered: boolean): Outcome {
  const status = delivered ? 200 : 500;
  const headers = {
    date: new Date(now).toUTCString(),
    connection: 'keep-alive',
    'keep-alive': 'timeout=5',
    'content-length': '2',
  };
  return {
    delivered,
    status,
    headers,
    body: Buffer.from('ok'),
    ...(!delivered && { error: 'destination answered 500' }),
  };
}

/** Returns a text that differs for each message, so that sharing equal ones saves nothing. */
function textOf(index: number, length: number): string {
  const seed = Math.imul(index + 1, 2_654_435_761) >>> 0;
  return seed
    .toString(36)
    .padStart(8, '0')
    .repeat(Math.ceil(length / 8))
    .slice(0, length);
}
