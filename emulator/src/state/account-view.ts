/** Snapshot of an account for tests. No part of it is sent over the interface. */
import type { AccountState } from './account-state.ts';
import type { Account } from './account.ts';
import type { DeadLetterQueue } from './dlq.ts';
import { viewOf } from './message-view.ts';
import type { State } from './message.ts';

const NEWEST = 100;

export function accountView(account: Account, state: AccountState, now: number) {
  const messages: Partial<Record<State, number>> = {};
  for (const message of state.messages.values()) messages[message.state] = (messages[message.state] ?? 0) + 1;
  return {
    id: account.id,
    plan: account.plan,
    state: account.state ?? 'active',
    /** Counts of the known messages by state. */
    messages,
    /** Oldest first. */
    newest: [...state.messages.values()].slice(-NEWEST).map(viewOf),
    logEntries: state.log.size,
    dlq: deadLettersOf(state.dlq, now),
    workflowDlq: deadLettersOf(state.workflowDlq, now),
    flowControl: state.flow.all().map(([flowControlKey, lane]) => ({ flowControlKey, ...lane.figures() })),
    urlGroups: state.urlGroups.all().map(({ name }) => name),
  };
}

function deadLettersOf(queue: DeadLetterQueue, now: number) {
  queue.trim(now);
  return [...queue.deadLetters()].map(({ dlqId, message: { id, url, workflow }, failedAt }) => ({
    dlqId,
    messageId: id,
    url,
    failedAt,
    workflowRunId: workflow?.runId,
  }));
}
