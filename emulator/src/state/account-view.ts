/** Snapshot of an account for tests. No part of it is sent over the interface. */
import type { AccountState } from './account-state.ts';
import type { Account, PlanName } from './account.ts';
import type { DeadLetterQueue } from './dlq.ts';
import type { FlowFigures } from './flow-lane.ts';
import { viewOf, type MessageView } from './message-view.ts';
import type { State } from './message.ts';

export interface AccountView {
  readonly id: string;
  readonly plan: PlanName;
  readonly state: string;
  /** Counts of the known messages by state. */
  readonly messages: Readonly<Partial<Record<State, number>>>;
  /** The newest hundred, oldest first. */
  readonly newest: readonly MessageView[];
  readonly logEntries: number;
  readonly dlq: readonly DeadLetterView[];
  readonly workflowDlq: readonly DeadLetterView[];
  readonly flowControl: readonly ({ readonly flowControlKey: string } & FlowFigures)[];
  readonly urlGroups: readonly string[];
}

interface DeadLetterView {
  readonly dlqId: string;
  readonly messageId: string;
  readonly url: string;
  readonly failedAt: number;
  readonly workflowRunId?: string;
}

const NEWEST = 100;

export function accountView(account: Account, state: AccountState, now: number): AccountView {
  const messages: Partial<Record<State, number>> = {};
  for (const message of state.messages.values()) messages[message.state] = (messages[message.state] ?? 0) + 1;
  return {
    id: account.id,
    plan: account.plan,
    state: account.state ?? 'active',
    messages,
    newest: [...state.messages.values()].slice(-NEWEST).map(viewOf),
    logEntries: state.log.size,
    dlq: deadLettersOf(state.dlq, now),
    workflowDlq: deadLettersOf(state.workflowDlq, now),
    flowControl: state.flow.all().map(([flowControlKey, lane]) => ({ flowControlKey, ...lane.figures() })),
    urlGroups: state.urlGroups.all().map(({ name }) => name),
  };
}

function deadLettersOf(queue: DeadLetterQueue, now: number): readonly DeadLetterView[] {
  queue.trim(now);
  return [...queue.deadLetters()].map(({ dlqId, message, failedAt }) => ({
    dlqId,
    messageId: message.id,
    url: message.url,
    failedAt,
    ...(message.workflow !== undefined && { workflowRunId: message.workflow.runId }),
  }));
}
