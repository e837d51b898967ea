/**
 * Restores the state of an earlier process from the store. Returns the messages that had not ended, so that they
 * continue.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { AccountState } from '../state/account-state.ts';
import type { Remembered } from '../state/deduplication.ts';
import type { Fact } from '../statistics/facts.ts';
import type { FlowPeriod } from '../state/flow-lane.ts';
import type { ItemKind, DeadLetterQueueName } from '../state/journal.ts';
import type { LogEntry } from '../state/log.ts';
import { readMessage, readOutcome } from '../state/message-record.ts';
import {
  type DeadMessage,
  isTerminal,
  type FlowControlSetting,
  type Message,
  type Outcome,
  type State,
} from '../state/message.ts';
import { MINUTE_MS } from '../statistics/point-time.ts';
import type { Statistics } from '../statistics/statistics.ts';
import type { UrlGroup } from '../state/url-groups.ts';

/** Positions of the next entry and the next dead letters of an account. */
export interface Positions {
  readonly log: number;
  readonly dlq: number;
  readonly workflowDlq: number;
}

export function positionsOf({ log, dlq, workflowDlq }: AccountState): Positions {
  return { log: log.nextSequence, dlq: dlq.nextSequence, workflowDlq: workflowDlq.nextSequence };
}

/** A message that had not ended when the earlier process did. */
export interface Unfinished {
  readonly message: Message;
  /** Epoch milliseconds; undefined when it did not wait for a time. */
  readonly due: number | undefined;
}

/** Maximum number of shared outcomes. Outcomes often repeat. */
const MAX_SHARED_OUTCOMES = 2_000;

export function restoreAccount(db: DatabaseSync, state: AccountState, positions: Positions): readonly Unfinished[] {
  const { accountId } = state;
  const outcomeOf = sharedOutcomes();
  const known = new Map<string, Message>();
  const due = new Map<Message, number | undefined>();
  const notices: (readonly [Message, string])[] = [];
  // Ids contain their time: oldest first, so that data that is removed together is stored together.
  for (const row of db.prepare('SELECT * FROM message WHERE account = ? ORDER BY id').iterate(accountId)) {
    const stored = readMessage(row as unknown as Parameters<typeof readMessage>[0]);
    const { message } = stored;
    if (typeof row['outcome'] === 'string') message.lastOutcome = outcomeOf(row['outcome']);
    if (typeof row['notice'] === 'string') notices.push([message, row['notice']]);
    known.set(message.id, message);
    if (!isTerminal(message.state)) due.set(message, stored.due);
  }
  for (const [message, id] of notices) {
    const notice = known.get(id);
    if (notice !== undefined) message.failureNotice = notice;
  }
  const unfinished = [...known.values()].filter((message) => !isTerminal(message.state));
  state.log.restore(entriesOf(db, state, { known, outcomeOf }), positions.log);
  // Oldest first: messages whose entries left the log precede those that the log has.
  const logged = [...state.messages.values()];
  const older = unfinished.filter(({ id }) => !state.messages.has(id));
  state.messages.clear();
  for (const message of [...older, ...logged]) state.messages.set(message.id, message);
  for (const queue of ['dlq', 'workflowDlq'] as const) {
    state[queue].restore(deadLettersOf(db, accountId, { queue, known }), positions[queue]);
  }
  restoreItems(db, state);
  // Ordered by the start of their wait, so that the first in a lane is first again.
  const since = (message: Message): number => due.get(message) ?? message.createdAt;
  return unfinished
    .toSorted((a, b) => since(a) - since(b) || (a.lastEntry ?? -1) - (b.lastEntry ?? -1))
    .map((message) => ({ message, due: due.get(message) }));
}

function* entriesOf(
  db: DatabaseSync,
  { accountId, messages }: AccountState,
  { known, outcomeOf }: { readonly known: ReadonlyMap<string, Message>; readonly outcomeOf: (text: string) => Outcome },
): Generator<LogEntry> {
  const rows = db.prepare(
    'SELECT sequence, time, state, message, next, outcome FROM entry WHERE account = ? ORDER BY sequence',
  );
  rows.setReturnArrays(true);
  for (const row of rows.iterate(accountId)) {
    const [sequence, time, state, id, next, outcome] = row as unknown as EntryRow;
    const message = known.get(id)!;
    messages.set(id, message);
    yield {
      sequence,
      time,
      state,
      message,
      nextDeliveryTime: next ?? undefined,
      outcome: outcome === null ? undefined : outcomeOf(outcome),
    };
  }
}

type EntryRow = readonly [
  sequence: number,
  time: number,
  state: State,
  message: string,
  next: number | null,
  outcome: string | null,
];

function* deadLettersOf(
  db: DatabaseSync,
  accountId: string,
  { queue, known }: { readonly queue: DeadLetterQueueName; readonly known: ReadonlyMap<string, Message> },
): Generator<Omit<DeadMessage, 'dlqId'>> {
  const rows = db.prepare('SELECT * FROM dead_letter WHERE account = ? AND queue = ? ORDER BY sequence');
  for (const row of rows.iterate(accountId, queue)) {
    yield {
      sequence: row['sequence'] as number,
      message: known.get(row['message'] as string)!,
      failedAt: row['failed_at'] as number,
    };
  }
}

function restoreItems(db: DatabaseSync, state: AccountState): void {
  const items = <T>(kind: ItemKind): (readonly [key: string, value: T])[] =>
    db
      .prepare('SELECT key, value FROM item WHERE account = ? AND kind = ?')
      .all(state.accountId, kind)
      .map((row) => [row['key'] as string, JSON.parse(row['value'] as string) as T]);
  const groups = items<UrlGroup & { readonly place?: number }>('urlGroup').map(([, group]) => group);
  groups.sort((a, b) => a.createdAt - b.createdAt || (a.place ?? 0) - (b.place ?? 0));
  for (const { place: _place, ...group } of groups) state.urlGroups.restore(group);
  // Read before the lanes are created, because each lane reports a new period.
  const periods = items<FlowPeriod>('flowPeriod');
  for (const [, setting] of items<FlowControlSetting>('flowControl')) state.flow.use(setting);
  for (const [key, period] of periods) state.flow.get(key)?.restorePeriod(period);
  const remembered = items<Remembered>('deduplication').toSorted((a, b) => a[1].at - b[1].at);
  for (const [id, value] of remembered) state.deduplication.restore(id, value);
}

/** Counts the stored facts again, so that the sums of bytes are unchanged. */
export function restoreStatistics(db: DatabaseSync, statistics: Statistics): void {
  for (const row of db.prepare('SELECT * FROM fact ORDER BY minute').iterate()) {
    const { account, minute, kind, times, bytes } = row as unknown as FactRow;
    const fact = { ...(JSON.parse(kind) as Fact), at: minute * MINUTE_MS };
    const each = Math.floor(bytes / times);
    const larger = bytes - each * times;
    if (larger > 0) statistics.record(account, withBytes(fact, each + 1), larger);
    if (times > larger) statistics.record(account, withBytes(fact, each), times - larger);
  }
}

interface FactRow {
  readonly account: string;
  readonly minute: number;
  readonly kind: string;
  readonly times: number;
  readonly bytes: number;
}

function withBytes(fact: Fact, bytes: number): Fact {
  return fact.kind === 'canceled' ? fact : { ...fact, bytes };
}

function sharedOutcomes(): (text: string) => Outcome {
  const known = new Map<string, Outcome>();
  return (text) => {
    const outcome = known.get(text) ?? readOutcome(text);
    if (known.size >= MAX_SHARED_OUTCOMES) known.clear();
    known.set(text, outcome);
    return outcome;
  };
}
