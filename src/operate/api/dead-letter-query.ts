/**
 * Search in the dead letters that the daemon knows: the board's last batch of each workflow DLQ, and the dead letters of
 * failure callbacks. Sends no request. The order is newest first, and a page continues after the last row of the
 * previous one, so arrivals and departures in between neither repeat nor hide other rows.
 */
import { sharedLabel } from '#foundation/domain/labels.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { DEAD_LETTER_QUEUES, type DeadLetterQueue } from '#foundation/domain/incident.ts';
import { failureCause, type FailureCause } from '#foundation/domain/reason.ts';
import { statusFilter, urlFilter } from '#foundation/domain/typed-filters.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { jsonOf } from '#foundation/domain/json.ts';
import {
  DEAD_LETTER_FILTERS,
  type DeadLetterFilter,
  type QueueStatus,
  type searchDeadLetters,
} from '../contract/dead-letters.ts';
import type { QueryOf } from '../contract/route.ts';
import { pastOf } from '../http/query.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiDeps } from './api-deps.ts';
import { knownAccount } from './known-account.ts';

export type DeadLetterDeps = Pick<ApiDeps, 'clock' | 'board' | 'accounts' | 'incidents'>;

/** Dead letter with its place. */
export type FoundDeadLetter = { readonly account: string; readonly at: number } & (
  | { readonly queue: 'workflow'; readonly row: WorkflowDlqEntry }
  | { readonly queue: 'message'; readonly row: DeadLetter }
);

export interface DeadLetterPage {
  readonly total: number;
  readonly found: readonly FoundDeadLetter[];
  readonly cursor?: string;
  readonly queues: readonly QueueStatus[];
}

type DeadLetterQuery = QueryOf<typeof searchDeadLetters>;

/** @throws {HttpError} 400 for an unknown cursor, 404 for an unknown account */
export function pageOfDeadLetters(deps: DeadLetterDeps, query: DeadLetterQuery): DeadLetterPage {
  const { limit } = query;
  const accounts = queriedAccounts(deps, query.account);
  const queues = DEAD_LETTER_QUEUES.filter((queue) => (query.queue ?? queue) === queue);
  const after = cursorOf(query.cursor);
  const matches = matcher(deps, query);
  let total = 0;
  const found: FoundDeadLetter[] = [];
  for (const place of accounts.flatMap((account) => queues.map((queue) => ({ account, queue })))) {
    // The first rows after the cursor, one more than the limit.
    let added = 0;
    for (const row of deadLetterRows(deps, place.account, place.queue, membersOf(deps, query, place))) {
      if (!matches(row)) continue;
      total += 1;
      if (added > limit || (after !== undefined && comparePositions(positionOf(row), after) <= 0)) continue;
      found.push(row);
      added += 1;
    }
  }
  found.sort(byAge);
  const page = found.slice(0, limit);
  const isMore = found.length > limit;
  return {
    total,
    found: page,
    queues: queueStatuses(deps, accounts, queues),
    cursor: isMore ? cursorAt(page.at(-1)!) : undefined,
  };
}

/** Dead letters with this id: several if accounts or queues share it. */
export function findDeadLetters(deps: DeadLetterDeps, id: string, account?: string): FoundDeadLetter[] {
  const names = deps.accounts.map(({ name }) => name).filter((name) => (account ?? name) === name);
  return names.flatMap((name) =>
    DEAD_LETTER_QUEUES.flatMap((queue) => [...deadLetterRows(deps, name, queue, new Set([id]))]),
  );
}

/** Returns the ids of the wanted incident's members in a queue; undefined if none is wanted. */
function membersOf(
  { incidents }: DeadLetterDeps,
  { incident: wanted }: DeadLetterQuery,
  { account, queue }: Pick<FoundDeadLetter, 'account' | 'queue'>,
): ReadonlySet<string> | undefined {
  if (wanted === undefined) return undefined;
  const incident = incidents.find(wanted);
  return new Set(incident?.account === account ? incidents.memberIds(incident, queue) : []);
}

/**
 * Yields the rows of a queue, newest first.
 *
 * @param ids only these; default: all
 */
export function* deadLetterRows(
  deps: DeadLetterDeps,
  account: string,
  queue: DeadLetterQueue,
  ids?: ReadonlySet<string>,
): Generator<FoundDeadLetter> {
  if (ids?.size === 0) return;
  const runs = queue === 'workflow' ? deps.board.latest(account, 'workflowDlq')?.rows : undefined;
  const rows = runs ?? (queue === 'message' ? deps.incidents.deadLetters(account) : undefined) ?? [];
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]!;
    if (ids?.has(row.dlqId) === false) continue;
    yield 'learnedAt' in row
      ? { account, queue: 'message', at: row.learnedAt, row }
      : { account, queue: 'workflow', at: row.createdAt, row };
  }
}

function matcher(deps: DeadLetterDeps, query: DeadLetterQuery): (found: FoundDeadLetter) => boolean {
  const filters = DEAD_LETTER_FILTERS.flatMap((name) => {
    const wanted = query[name];
    return wanted === undefined ? [] : [fieldFilter(name, wanted)];
  });
  const now = deps.clock.now();
  const [since, fromDate, toDate] = (['since', 'fromDate', 'toDate'] as const).map((name) => {
    const text = query[name];
    return text === undefined ? undefined : pastOf(text, now);
  });
  const from = Math.max(since ?? -Infinity, fromDate ?? -Infinity);
  const to = toDate ?? Infinity;
  const causes = query.cause && new Set<string>(query.cause);
  return (found) => {
    const { at } = found;
    if (at < from || at > to) return false;
    for (const matches of filters) if (!matches(found.row)) return false;
    return causes?.has(causeOf(found)) !== false;
  };
}

export function causeOf(found: FoundDeadLetter): FailureCause {
  return found.queue === 'workflow'
    ? failureCause(found.row.responseStatus, found.row.responseText)
    : failureCause(found.row.status, undefined);
}

type Value = string | number | undefined;

/** Returns the filter of a field. A row without the field never matches. */
function fieldFilter(name: DeadLetterFilter, wanted: readonly string[]): (row: FoundDeadLetter['row']) => boolean {
  if (name === 'label') return ({ labels }) => sharedLabel(labels, wanted) !== undefined;
  const tests = testsOf(name, wanted);
  const fields = FIELDS[name] ?? [name];
  return (row) =>
    fields.some((field) => {
      const value = (row as unknown as Readonly<Record<string, Value>>)[field];
      return value !== undefined && tests.some((matches) => matches(value));
    });
}

/** Fields of a filter, if they are not the one of its name. A run has the URL of its failed step and of its workflow. */
const FIELDS: Readonly<Partial<Record<DeadLetterFilter, readonly string[]>>> = {
  url: ['url', 'workflowUrl'],
  responseStatus: ['responseStatus', 'status'],
};

function testsOf(name: DeadLetterFilter, wanted: readonly string[]): ((value: string | number) => boolean)[] {
  if (name === 'responseStatus') return wanted.map(statusFilter) as ((value: string | number) => boolean)[];
  if (name === 'url' || name === 'workflowUrl') return wanted.map(urlFilter) as ((value: string | number) => boolean)[];
  const values = new Set(wanted);
  return [(value) => values.has(String(value))];
}

/** @throws {HttpError} 404 for an unknown account */
export function queriedAccounts(
  { accounts }: Pick<ApiDeps, 'accounts'>,
  wanted: string | undefined,
): readonly string[] {
  const account = knownAccount({ accounts }, wanted);
  return account === undefined ? accounts.map(({ name }) => name) : [account];
}

/** Position in the order of rows: newest first, then by id, account and queue. */
type Position = readonly [at: number, id: string, account: string, queue: string];

function positionOf({ at, row, account, queue }: FoundDeadLetter): Position {
  return [at, row.dlqId, account, queue];
}

function comparePositions(a: Position, b: Position): number {
  if (a[0] !== b[0]) return b[0] - a[0];
  // The rows of a queue are sorted by time and id, oldest first.
  if (a[1] !== b[1]) return a[1] < b[1] ? 1 : -1;
  if (a[2] !== b[2]) return a[2] < b[2] ? -1 : 1;
  return a[3] === b[3] ? 0 : a[3] < b[3] ? -1 : 1;
}

function byAge(a: FoundDeadLetter, b: FoundDeadLetter): number {
  return comparePositions(positionOf(a), positionOf(b));
}

function cursorAt(row: FoundDeadLetter): string {
  return Buffer.from(JSON.stringify(positionOf(row))).toString('base64url');
}

function cursorOf(text: string | undefined): Position | undefined {
  if (text === undefined) return undefined;
  const position = jsonOf(Buffer.from(text, 'base64url').toString('utf8'));
  if (
    Array.isArray(position) &&
    typeof position[0] === 'number' &&
    position.length === 4 &&
    position.slice(1).every((part) => typeof part === 'string')
  ) {
    return position as unknown as Position;
  }
  throw new HttpError(400, 'bad_request', 'cursor must be the cursor of the previous page.');
}

export function queueStatuses(
  deps: DeadLetterDeps,
  accounts: readonly string[],
  queues: readonly DeadLetterQueue[] = DEAD_LETTER_QUEUES,
): QueueStatus[] {
  return accounts.flatMap((account) => queues.map((queue) => statusOf(deps, account, queue)));
}

function statusOf({ board, incidents }: DeadLetterDeps, account: string, queue: DeadLetterQueue): QueueStatus {
  if (queue === 'message') {
    const note = 'no operation lists it, so only the dead letters of failure callbacks are known';
    const problem = incidents.deadLetters(account) === undefined ? 'not read yet' : note;
    return { account, queue, problem };
  }
  const status = board.statuses().find((one) => one.account === account && one.collector === 'workflowDlq');
  const readAt = board.latest(account, 'workflowDlq')?.at;
  const failure = status?.lastRunFailed === true ? `: ${status.lastFailure!.message}` : '';
  const problem =
    status?.off ??
    (readAt === undefined
      ? `not read yet${failure}`
      : board.isStale(account, 'workflowDlq')
        ? `the last reading is too old${failure}`
        : undefined);
  return { account, queue, readAt, problem };
}
