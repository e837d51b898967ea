/** Which dead letters an operation means: the given ids, or what the filters leave, beyond a cursor. */
import type { AccountState } from '../state/account-state.ts';
import type { DeadLetter, DeadLetterFilter, DeadLetterListing, DeadLetterQueue } from '../state/dlq.ts';
import type { LetterField, LetterLookup } from '../state/letter-columns.ts';
import { cursorAt, type Listing, type Query } from './query.ts';

/** A stretch of a queue, and which listing its cursors are of. */
type Wanted = DeadLetterListing & { readonly listing: Listing };

export interface Selection {
  readonly letters: readonly DeadLetter[];
  /** Given when filters were used and more letters match. */
  readonly cursor?: string;
}

/** Filters of the workflow DLQ. Dates compare with the time of the failure. */
export function workflowDlqFilter(query: Query): DeadLetterFilter {
  const own = {
    url: query.urls('workflowUrl'),
    runId: setOf(query.one('workflowRunId')),
    runCreatedAt: setOf(query.integer('workflowCreatedAt')),
    failureState: query.many('failureFunctionState'),
  };
  return { lookups: lookupsOf({ ...own, ...sharedFields(query) }), ...query.window() };
}

/** Filters of the message DLQ. */
export function messageDlqFilter(query: Query): DeadLetterFilter {
  const own = {
    messageId: setOf(query.one('messageId')),
    url: query.urls('url'),
    topicName: query.many('topicName'),
    scheduleId: query.many('scheduleId'),
    queueName: query.many('queueName'),
    responseStatus: query.integers('responseStatus'),
  };
  return { lookups: lookupsOf({ ...own, ...sharedFields(query) }), ...query.window() };
}

type Given = Readonly<Partial<Record<LetterField, ReadonlySet<string | number> | undefined>>>;

function sharedFields(query: Query): Given {
  return {
    label: query.many('label'),
    callerIp: query.many('callerIp'),
    flowControlKey: query.many('flowControlKey'),
  };
}

function lookupsOf(given: Given): readonly LetterLookup[] {
  return Object.entries(given).flatMap(([field, values]): readonly LetterLookup[] =>
    values === undefined ? [] : [[field as LetterField, values]],
  );
}

function setOf(value: string | number | undefined): ReadonlySet<string | number> | undefined {
  return value === undefined ? undefined : new Set([value]);
}

/** One page of a queue. */
export function selectPage(queue: DeadLetterQueue, wanted: Wanted): Selection {
  const { rows, last } = queue.page(wanted);
  return {
    letters: rows,
    ...(last !== undefined && { cursor: cursorAt(wanted.listing, { time: last.failedAt, ...last }) }),
  };
}

/**
 * What a bulk operation acts on. Ids make every other filter be ignored; an id that is not there is no error. Without
 * ids and filters that is everything: the interface knows no other meaning of no filter.
 */
export function selectForBulk(
  queue: DeadLetterQueue,
  query: Query,
  options: Omit<Wanted, 'after'>,
): Selection & { readonly byIds: boolean } {
  const after = query.cursor(options.listing);
  const ids = query.many('dlqIds');
  query.finish();
  if (ids === undefined) return { ...selectPage(queue, { ...options, after }), byIds: false };
  const letters = [...ids].map((id) => queue.get(id)).filter((letter) => letter !== undefined);
  return { letters, byIds: true };
}

export function dlqOf(state: AccountState, kind: 'dlq' | 'workflowDlq', now: number): DeadLetterQueue {
  const queue = state[kind];
  queue.trim(now);
  return queue;
}
