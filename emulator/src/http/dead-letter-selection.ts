/** Selects the dead letters of an operation: by ids, or by filters and cursor. */
import type { DeadMessage } from '../state/message.ts';
import type { AccountState } from '../state/account-state.ts';
import type { DeadLetterQueue } from '../state/dlq.ts';
import type { Filter, Window } from '../state/search.ts';
import { cursorAt, type Listing, type Query } from './query.ts';

/** A page of a queue, with the listing that its cursors belong to. */
interface Wanted {
  readonly listing: Listing;
  readonly window: Window;
  readonly filter: Filter;
  readonly count: number;
}

export interface Selection {
  readonly deadLetters: readonly DeadMessage[];
  /** Set when filters were used and more dead letters match. */
  readonly cursor?: string;
}

/** Parses the filters of the workflow DLQ. */
export function workflowDlqFilter(query: Query): Filter {
  return {
    url: query.urls('workflowUrl'),
    runId: query.one('workflowRunId'),
    runCreatedAt: query.integer('workflowCreatedAt'),
    state: query.many('failureFunctionState'),
    ...sharedFilter(query),
  };
}

/** Parses the filters of the message DLQ. */
export function messageDlqFilter(query: Query): Filter {
  return {
    messageId: query.one('messageId'),
    url: query.urls('url'),
    topicName: query.many('topicName'),
    scheduleId: query.many('scheduleId'),
    queueName: query.many('queueName'),
    responseStatus: query.integers('responseStatus'),
    ...sharedFilter(query),
  };
}

function sharedFilter(query: Query): Filter {
  return {
    label: query.many('label'),
    callerIp: query.many('callerIp'),
    flowControlKey: query.many('flowControlKey'),
  };
}

/** Returns one page of a queue. */
export function selectPage(queue: DeadLetterQueue, wanted: Wanted): Selection {
  const { listing, window, filter, count } = wanted;
  const { rows, last } = queue.page(window, filter, count);
  return {
    deadLetters: rows,
    ...(last !== undefined && { cursor: cursorAt(listing, { time: last.failedAt, ...last }) }),
  };
}

/**
 * Selects the dead letters of a bulk operation. If ids are given, all other filters are ignored, and unknown ids are
 * not errors. Without ids and filters the operation applies to the whole queue: the interface gives an absent filter no
 * other meaning.
 */
export function selectForBulk(
  queue: DeadLetterQueue,
  query: Query,
  options: Wanted,
): Selection & { readonly byIds: boolean } {
  const after = query.cursor(options.listing);
  const ids = query.many('dlqIds');
  query.finish();
  const window = { ...options.window, after };
  if (ids === undefined) return { ...selectPage(queue, { ...options, window }), byIds: false };
  const deadLetters = [...ids].map((id) => queue.get(id)).filter((deadLetter) => deadLetter !== undefined);
  return { deadLetters, byIds: true };
}

export function dlqOf(state: AccountState, kind: 'dlq' | 'workflowDlq', now: number): DeadLetterQueue {
  const queue = state[kind];
  queue.trim(now);
  return queue;
}
