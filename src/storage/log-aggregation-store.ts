/**
 * Store of the log aggregation: one transaction per commit. The keys of recognized entries and ended messages are packed
 * into one row per commit and time slice. Only open messages have their own rows.
 */
import type { KeySlices } from '#observe/aggregation/keys.ts';
import { entriesByState, SUM_COLUMNS } from '#observe/aggregation/minute-sums.ts';
import {
  HOUR_MS,
  LogMemory,
  SUMS_KEPT_MS,
  surelyCounted,
  type HourCounts,
  type LogAggregationState,
  type LogAggregationStore,
  type LogCommit,
  type LogSweep,
  type OpenMessage,
} from '#observe/aggregation/log-store.ts';
import { all, get, put, withoutNulls, type Dialect, type Nullable, type Row, type Work } from './database.ts';
import { loadAttempts, saveAttempts } from './log-attempts.ts';
import { loadedOnce } from './loaded-once.ts';
import type { OutboxWrite } from './outbox.ts';
import { PART_ROWS, paged } from './paged.ts';
import type { StoredDeliveryOutbox } from './delivery-outbox.ts';
import type { StoredSpanOutbox } from './span-outbox.ts';
import type { StoredTotals } from './totals.ts';
import type { Store } from './sqlite.ts';

interface Outboxes {
  readonly spans?: Pick<StoredSpanOutbox, 'begin'>;
  readonly deliveries?: Pick<StoredDeliveryOutbox, 'begin'>;
}

const MINUTE_MS = 60_000;
/**
 * Time of the log after which the state of an account without entries is written, if no sample of the history was. A
 * crash reads this much again.
 */
const IDLE_MS = 5 * MINUTE_MS;

/** @param outboxes store the spans of commits and the delivery events; without them they are not stored */
export function createLogAggregationStore(
  { database }: Pick<Store, 'database'>,
  totals: StoredTotals,
  { spans: spanOutbox, deliveries }: Outboxes = {},
): LogAggregationStore {
  const memory = loadedOnce((account) => database.read(load(account)));
  const { selectRecords, save } = statementsOf(database.dialect);

  async function commitWith(commit: LogCommit, writes: readonly OutboxWrite[]): Promise<void> {
    const { account, increments, histograms = [] } = commit;
    try {
      const known = await memory(account);
      await totals.commit(account, () => {
        const canWait = writes.length === 0 && isProgress(commit, known);
        return {
          increments,
          histograms,
          canWait,
          *work() {
            yield* save(commit, known);
            for (const { work } of writes) yield* work;
            // The first commits of an account also write since when its attempts are known.
            if (commit.attempts !== undefined) known.writtenTo = commit.watermark;
          },
          committed: () => known.remember(commit),
        };
      });
    } catch (error) {
      for (const write of writes) write.failed();
      throw error;
    }
    for (const write of writes) write.committed();
  }

  return {
    loadLogState: async (account) => (await memory(account)).state,
    memory,
    async openRecords(account, messageIds) {
      if (messageIds.length === 0) return new Map();
      const rows = await database.read(all(selectRecords, account, JSON.stringify(messageIds)));
      return new Map(rows.map(({ message_id: id, record }) => [String(id), String(record)]));
    },
    async expired(account, before, limit) {
      if ((await memory(account)).open.size === 0) return [];
      const until = Math.max(Number.MIN_SAFE_INTEGER, Math.min(before, Number.MAX_SAFE_INTEGER));
      const rows = await database.read(all(SELECT_EXPIRED, account, until, limit));
      return rows.map(({ message_id: id, record }) => ({ messageId: String(id), record: String(record) }));
    },
    commitLog(commit) {
      // Begun at once: the next commit counts on the queues with what this one adds.
      const { account, spans, lines } = commit;
      const begun = [spans && spanOutbox?.begin(account, spans.batches), lines && deliveries?.begin(account, lines)];
      const writes = begun.filter((write) => write !== undefined);
      return commitWith(commit, writes);
    },
    hourCounts: async (account) => hoursOf(await database.read(all(SELECT_HOURS, account))),
    attempts: (account) => database.read(loadAttempts(account)),
  };
}

/** Returns true if a commit only advances the state, a little further than the store has it. */
function isProgress(commit: LogCommit, { state, writtenTo }: LogMemory): boolean {
  const { increments, histograms = [], minutes = [], opened = [], closed = [], attempts, sweep, watermark } = commit;
  const isSame = sweep === undefined && commit.sweptAt === state.sweptAt && commit.entryMode === state.entryMode;
  const isEmpty =
    [histograms, minutes, opened, closed, attempts?.attempts ?? []].every(({ length }) => length === 0) &&
    increments.every(({ metric }) => metric === 'opsd_log_pages_total');
  return isSame && isEmpty && watermark >= writtenTo && watermark - writtenTo < IDLE_MS;
}

const SELECT_STATE = `SELECT watermark, kept_from AS "keptFrom", swept_at AS "sweptAt", entry_mode AS "entryMode",
    window_ms AS "windowMs", sweep, proven_at AS "provenAt" FROM log_aggregation WHERE account = ?`;
const PUT_STATE = `INSERT INTO log_aggregation
  (account, watermark, kept_from, swept_at, entry_mode, window_ms, sweep, proven_at, attempts_since)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (account) DO UPDATE SET watermark = excluded.watermark, kept_from = excluded.kept_from,
  swept_at = coalesce(excluded.swept_at, log_aggregation.swept_at),
  entry_mode = coalesce(excluded.entry_mode, log_aggregation.entry_mode),
  window_ms = excluded.window_ms, sweep = excluded.sweep, proven_at = excluded.proven_at,
  attempts_since = coalesce(log_aggregation.attempts_since, excluded.attempts_since)`;

const SELECT_OPEN = `SELECT message_id AS "messageId", destination, created AS "createdAt", due AS "dueAt" FROM log_open
  WHERE account = ? AND message_id > ? ORDER BY message_id LIMIT ${PART_ROWS}`;
const SELECT_EXPIRED = `SELECT message_id, record FROM log_open
  WHERE account = ? AND expires < ? ORDER BY expires LIMIT ?`;
const PUT_OPEN = `INSERT INTO log_open (account, message_id, expires, destination, created, due, record)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (account, message_id) DO UPDATE SET expires = excluded.expires, destination = excluded.destination,
  created = excluded.created, due = excluded.due, record = excluded.record`;
const SELECT_LEFT_OPEN = 'SELECT message_id FROM span_left_open WHERE account = ?';
const PUT_LEFT_OPEN = `INSERT INTO span_left_open (account, message_id) VALUES (?, ?)
  ON CONFLICT (account, message_id) DO NOTHING`;

/** Maximum number of hours that are compared with the statistics. */
const HOURS_COMPARED = 72;
const SELECT_HOURS = `SELECT at, ${SUM_COLUMNS.join(', ')} FROM history
  WHERE account = ? AND step = ${HOUR_MS} ORDER BY at DESC LIMIT ${HOURS_COMPARED}`;
const ADD_SUMS = `INSERT INTO history (account, step, at, ${SUM_COLUMNS.join(', ')})
  VALUES (?, ?, ?, ${SUM_COLUMNS.map(() => '?').join(', ')}) ON CONFLICT (account, step, at) DO UPDATE SET
  ${SUM_COLUMNS.map((column) => `${column} = history.${column} + excluded.${column}`).join(', ')}`;
const FORGET_SUMS = 'DELETE FROM history WHERE account = ? AND step = ? AND at < ?';

/** Reads one slice at a time, because the keys of a busy account are many. */
const SELECT_KEYS = `SELECT slice, keys FROM log_keys WHERE account = ?1 AND kind = ?2
  AND slice = (SELECT min(slice) FROM log_keys WHERE account = ?1 AND kind = ?2 AND slice > ?3)`;
const PUT_KEYS = 'INSERT INTO log_keys (account, kind, slice, keys) VALUES (?, ?, ?, ?)';
const FORGET_KEYS = 'DELETE FROM log_keys WHERE account = ? AND kind = ? AND slice < ?';

function statementsOf(dialect: Dialect) {
  const isListed = `account = ?1 AND message_id IN ${dialect.members('?2')}`;
  const deleteOpen = `DELETE FROM log_open WHERE ${isListed}`;
  const deleteLeftOpen = `DELETE FROM span_left_open WHERE ${isListed}`;

  function* saveOpen({ account, opened = [], closed = [], spans }: LogCommit, { leftOpen }: LogMemory): Work<void> {
    yield* put(
      PUT_OPEN,
      opened.map(({ messageId, expires, destination, createdAt = null, dueAt = null, record }) => {
        return [account, messageId, expires, destination, createdAt, dueAt, record];
      }),
    );
    if (closed.length > 0) yield* put(deleteOpen, [[account, JSON.stringify(closed)]]);
    yield* put(PUT_LEFT_OPEN, spans?.leftOpen.map((messageId) => [account, messageId]) ?? []);
    const gone = closed.filter((messageId) => leftOpen.has(messageId));
    if (gone.length > 0) yield* put(deleteLeftOpen, [[account, JSON.stringify(gone)]]);
  }

  function* save(commit: LogCommit, memory: LogMemory): Work<void> {
    yield* saveState(commit);
    yield* saveKeys(commit, 'seen', memory.seen.sliceMs);
    yield* saveKeys(commit, 'ended', memory.ended.sliceMs);
    yield* saveOpen(commit, memory);
    yield* saveSums(commit);
    yield* saveAttempts(commit.account, commit.watermark, commit.attempts?.attempts ?? []);
  }

  return { save, selectRecords: `SELECT message_id, record FROM log_open WHERE ${isListed}` };
}

function* saveState({ account, watermark, keptFrom, sweep, ...commit }: LogCommit): Work<void> {
  const { sweptAt = null, entryMode = null, windowMs = null, provenAt = null } = commit;
  const sweepRecord = sweep === undefined ? null : JSON.stringify(sweep);
  const since = commit.attempts?.from ?? null;
  const state = [account, watermark, keptFrom, sweptAt, entryMode, windowMs, sweepRecord, provenAt, since];
  yield* put(PUT_STATE, [state]);
}

function* saveKeys(commit: LogCommit, kind: 'seen' | 'ended', sliceMs: number): Work<void> {
  const { account, keptFrom, [kind]: keys } = commit;
  yield* put(PUT_KEYS, keys?.packed(keptFrom).map(([slice, bytes]) => [account, kind, slice, bytes]) ?? []);
  yield* put(FORGET_KEYS, [[account, kind, Math.floor(keptFrom / sliceMs)]]);
}

function* saveSums(commit: LogCommit): Work<void> {
  const { account, minutes = [] } = commit;
  const hours = new Map<number, readonly number[]>();
  for (const { minute, values } of minutes) {
    const hour = Math.floor(minute / HOUR_MS) * HOUR_MS;
    const known = hours.get(hour);
    hours.set(hour, known === undefined ? values : values.map((value, index) => value + known[index]!));
  }
  yield* put(ADD_SUMS, [
    ...minutes.map(({ minute, values }) => [account, MINUTE_MS, minute, ...values]),
    ...[...hours].map(([hour, values]) => [account, HOUR_MS, hour, ...values]),
  ]);
  yield* forgetHistory(account, surelyCounted(commit));
}

/** Deletes the sums and readings that are too old. */
export function forgetHistory(account: string, now: number): Work<void> {
  const limits = [...SUMS_KEPT_MS].map(([step, keptMs]) => [account, step, now - keptMs]);
  return put(FORGET_SUMS, limits);
}

function* load(account: string): Work<LogMemory> {
  const memory = new LogMemory();
  memory.state = stateOf(yield* get<StateRow>(SELECT_STATE, account));
  yield* loadKeys(account, 'seen', memory.seen);
  yield* loadKeys(account, 'ended', memory.ended);
  yield* paged<OpenRow>(
    (last) => all(SELECT_OPEN, account, last?.messageId ?? ''),
    ({ messageId, destination, createdAt, dueAt }) => {
      memory.open.set(messageId, { destination, createdAt: createdAt ?? undefined, dueAt: dueAt ?? undefined });
    },
  );
  for (const { message_id: id } of yield* all(SELECT_LEFT_OPEN, account)) memory.leftOpen.add(String(id));
  return memory;
}

function* loadKeys(account: string, kind: 'seen' | 'ended', into: KeySlices): Work<void> {
  for (let slice = Number.MIN_SAFE_INTEGER; ;) {
    const rows = yield* all(SELECT_KEYS, account, kind, slice);
    if (rows.length === 0) return;
    slice = Number(rows[0]!['slice']);
    for (const { keys } of rows) into.unpack(slice, keys as Uint8Array);
  }
}

type OpenRow = Nullable<Pick<OpenMessage, 'messageId' | 'destination' | 'createdAt' | 'dueAt'>>;
type StateRow = Nullable<Omit<LogAggregationState, 'sweep'> & { readonly sweep?: string }>;

function stateOf(row: StateRow | undefined): LogAggregationState {
  if (row === undefined) return {};
  const { sweep, ...state } = withoutNulls<Omit<LogAggregationState, 'sweep'> & { readonly sweep?: string }>(row);
  return { ...state, ...(sweep !== undefined && { sweep: JSON.parse(sweep) as LogSweep }) };
}

function hoursOf(rows: readonly Row[]): HourCounts {
  return new Map(
    rows.map((row) => [Number(row['at']), entriesByState(SUM_COLUMNS.map((column) => Number(row[column])))]),
  );
}
