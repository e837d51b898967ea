/** Search of the message log: one row a message, although the log may have an entry for each change of its state. */
import { randomUUID } from 'node:crypto';
import { STATE_ORDER, type LogEntry, type MessageState } from '#foundation/domain/log-entry.ts';
import { hasScheme, statusFilter, urlFilter } from '#foundation/domain/typed-filters.ts';
import { jsonOf } from '#foundation/domain/json.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { traceIdOf } from '#observe/tracing/trace-ids.ts';
import type { LogQuery } from '#service/api.ts';
import type { MessageRow, MessagesView } from '../contract/messages.ts';
import { HttpError } from '../http/reply.ts';
import type { LiveReads } from './live-reads.ts';

/** Filters of the log, and those that the daemon evaluates: the service compares whole URLs, and no statuses. */
export interface LogFilters extends Omit<LogQuery, 'cursor' | 'count'> {
  readonly responseStatus?: readonly string[] | undefined;
}

export interface MessageSearch {
  readonly filters: LogFilters;
  readonly limit: number;
  readonly cursor?: string;
}

/** Maximum number of requests of one call. */
const MOST_PAGES = 5;
const MOST_PER_PAGE = 100;
/** Maximum number of failures that are shown without a search. */
const MOST_RECENT = 50;

export interface MessageSearchDeps {
  readonly clock: Clock;
  readonly liveReads: LiveReads;
  readonly searches: MessageSearches;
}

/** @throws {HttpError} as `LiveReads.read` does, and 400 for an invalid cursor */
export async function searchLog(
  { clock, liveReads, searches }: MessageSearchDeps,
  account: string,
  { filters, limit, cursor: given }: MessageSearch,
  signal: AbortSignal,
): Promise<MessagesView> {
  const start = given === undefined ? { id: randomUUID(), call: 1, isWhole: isWhole(filters) } : parseCursor(given);
  const { id, call } = start;
  const seen = searches.of(id);
  // Each page must fit into the rest of the rows, since a cursor is only at the end of a page.
  const count = Math.min(MOST_PER_PAGE, Math.ceil(limit / 2));
  const { responseStatus: _evaluatedHere, ...asked } = filters;
  const isMatch = matcher(filters);
  return liveReads.read(account, MOST_PAGES, async (api) => {
    const rows = new Map<string, MessageRow>();
    const read = { pages: 0, entries: 0, dropped: 0, mismatched: 0 };
    let { cursor, isWhole: isUrlAsked } = start;
    for (;;) {
      const url = isUrlAsked ? filters.url : undefined;
      const page = await api.listLogs({ ...asked, url, count, cursor }, { signal });
      const matching = page.value.filter((entry) => isMatch(entry, isUrlAsked));
      read.pages += 1;
      read.entries += page.value.length;
      read.dropped += page.dropped;
      read.mismatched += page.value.length - matching.length;
      for (const entry of matching) takeEntry(rows, account, filters.state, entry);
      ({ cursor } = page);
      // No message has the whole URL: it may be the beginning of one.
      const isNone = url !== undefined && call === 1 && read.entries === 0 && cursor === undefined;
      if (isNone) isUrlAsked = false;
      const isEnd = cursor === undefined && !isNone;
      if (isEnd || read.pages === MOST_PAGES || limit - rows.size < count) break;
    }
    const fresh = [...rows.values()].flatMap((row) => seen.news(row, call));
    return {
      at: clock.now(),
      account,
      messages: fresh.sort((a, b) => b.at - a.at),
      cursor: cursor && formatCursor({ id, call: call + 1, cursor, isWhole: isUrlAsked }),
      read,
    };
  });
}

/** Returns false if the service cannot evaluate the filter of the destination: it compares whole URLs. */
function isWhole({ url }: LogFilters): boolean {
  return url === undefined || hasScheme(url);
}

export interface FailureDeps {
  failures(account: string): readonly LogEntry[] | undefined;
}

/** Returns the newest failed deliveries that the daemon has in memory, as rows of a search, newest first. */
export function recentFailures(deps: FailureDeps, accounts: readonly string[]): readonly MessageRow[] {
  return accounts
    .flatMap((account) => {
      const rows = new Map<string, MessageRow>();
      for (const entry of deps.failures(account) ?? []) takeEntry(rows, account, undefined, entry);
      return [...rows.values()];
    })
    .sort((a, b) => b.at - a.at)
    .slice(0, MOST_RECENT);
}

function takeEntry(
  rows: Map<string, MessageRow>,
  account: string,
  asked: LogFilters['state'],
  { time, traceparent: _traceparent, hasResponse: _hasResponse, ...entry }: LogEntry,
): void {
  const known = rows.get(entry.messageId);
  // A service without states in its entries has filtered by this one.
  const state = entry.state ?? (asked === 'IN_PROGRESS' ? undefined : asked);
  const row: MessageRow = {
    account,
    ...entry,
    state,
    at: time,
    traceId: traceIdOf(account, entry.messageId),
  };
  if (known === undefined) rows.set(entry.messageId, row);
  else rows.set(entry.messageId, isNewer(row, known) ? { ...lasting(known), ...row } : { ...lasting(row), ...known });
}

function isNewer(one: MessageRow, other: MessageRow): boolean {
  return one.at > other.at || (one.at === other.at && rank(one) > rank(other));
}

function rank({ state }: MessageRow): number {
  return state === undefined ? -1 : STATE_ORDER.indexOf(state);
}

/** Fields that are the same in all entries of a message, which not every entry has. */
function lasting(row: MessageRow): MessageRow {
  const { state: _state, error: _error, responseStatus: _status, nextDeliveryTime: _next, ...description } = row;
  return description;
}

function statesOf(filter: NonNullable<LogFilters['state']>): readonly MessageState[] {
  return filter === 'IN_PROGRESS' ? ['ACTIVE', 'RETRY', 'ERROR'] : [filter];
}

/**
 * Returns a function that is false for an entry that contradicts a filter: the service may ignore it. A field that the
 * entry lacks may match, unless only the daemon evaluates the filter.
 */
function matcher(filters: LogFilters): (entry: LogEntry, isUrlAsked: boolean) => boolean {
  const { messageId, state, label, fromDate = -Infinity, toDate = Infinity, responseStatus } = filters;
  const isUrl = filters.url === undefined ? () => true : urlFilter(filters.url);
  const statuses = responseStatus?.map(statusFilter);
  return (entry, isUrlAsked) => {
    if (messageId !== undefined && entry.messageId !== messageId) return false;
    if (entry.time < fromDate || entry.time > toDate) return false;
    if (state !== undefined && entry.state !== undefined && !statesOf(state).includes(entry.state)) return false;
    if (label !== undefined && entry.labels.length > 0 && !label.some((one) => entry.labels.includes(one)))
      return false;
    if (entry.url === undefined ? !isUrlAsked : !isUrl(entry.url)) return false;
    if (statuses?.some((matches) => entry.responseStatus !== undefined && matches(entry.responseStatus)) === false)
      return false;
    return (['topicName', 'scheduleId', 'queueName'] as const).every(
      (name) => filters[name] === undefined || entry[name] === undefined || entry[name] === filters[name],
    );
  };
}

interface Cursor {
  /** Id of the search. */
  readonly id: string;
  /** Number of the call in its search: 1 for the first. */
  readonly call: number;
  /** Cursor of the service. */
  readonly cursor?: string;
  /** False if the service is not asked for the destination. */
  readonly isWhole: boolean;
}

function formatCursor({ id, call, cursor, isWhole: isUrlAsked }: Cursor): string {
  return Buffer.from(JSON.stringify([id, call, cursor, isUrlAsked])).toString('base64url');
}

function parseCursor(text: string): Cursor {
  const parts = jsonOf(Buffer.from(text, 'base64url').toString('utf8'));
  const [id, call, cursor, isUrlAsked] = Array.isArray(parts) ? (parts as unknown[]) : [];
  const isSearch = typeof id === 'string' && id.length <= 40 && typeof call === 'number';
  if (isSearch && typeof cursor === 'string' && cursor !== '' && typeof isUrlAsked === 'boolean') {
    return { id, call, cursor, isWhole: isUrlAsked };
  }
  throw new HttpError(400, 'bad_request', 'The cursor is invalid; start again without a cursor.');
}

/** Maximum number of searches, and of messages of each. Beyond that, a message can be listed twice. */
const MOST_SEARCHES = 64;
const MOST_SEEN = 10_000;

/** Newest entries of the messages that earlier calls of a search returned, so that each message is listed once. */
class SeenMessages {
  /** By message: the newest entry, the call that returned it, and the newest entry of the calls before it. */
  readonly #newest = new Map<string, { readonly at: number; readonly call: number; readonly before?: number }>();

  /**
   * Returns the row, unless an earlier call returned the message with an entry that is as new. A repeated call returns
   * the same rows again.
   */
  news(row: MessageRow, call: number): readonly MessageRow[] {
    const found = this.#newest.get(row.messageId);
    const before =
      found !== undefined && found.call < call ? found.at : found?.call === call ? found.before : undefined;
    if (before !== undefined && before >= row.at) return [];
    this.#newest.delete(row.messageId);
    this.#newest.set(row.messageId, { at: row.at, call, before });
    for (const messageId of this.#newest.keys()) {
      if (this.#newest.size <= MOST_SEEN) break;
      this.#newest.delete(messageId);
    }
    return [before === undefined ? row : { ...row, isUpdate: true }];
  }
}

/** Searches in progress, in memory. */
export class MessageSearches {
  readonly #searches = new Map<string, SeenMessages>();

  of(id: string): SeenMessages {
    const seen = this.#searches.get(id) ?? new SeenMessages();
    this.#searches.delete(id);
    this.#searches.set(id, seen);
    for (const other of this.#searches.keys()) {
      if (this.#searches.size <= MOST_SEARCHES) break;
      this.#searches.delete(other);
    }
    return seen;
  }
}
