/**
 * Store of the log aggregation on SQLite: one transaction per commit. The keys of recognized entries and ended messages are
 * packed into one row per commit and time slice. Only open messages have their own rows.
 */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import type { KeySlices } from '#observe/aggregation/keys.ts';
import {
  HOURS_KEPT_MS,
  LogMemory,
  surelyCounted,
  type LogCommit,
  type LogAggregationState,
  type LogAggregationStore,
  type EntryMode,
  type LogSweep,
} from '#observe/aggregation/log-store.ts';
import type { SqliteDeliveryOutbox } from './sqlite-delivery-outbox.ts';
import type { SqliteSpanOutbox } from './sqlite-span-outbox.ts';
import type { SqliteTotals } from './sqlite-totals.ts';
import type { Store } from './sqlite.ts';

/** @param outbox stores the spans of commits and the delivery events; without it they are not stored */
export function createLogAggregationStore(
  store: Store,
  totals: SqliteTotals,
  outbox?: Pick<SqliteSpanOutbox, 'write'> & { readonly deliveries?: Pick<SqliteDeliveryOutbox, 'write'> },
): LogAggregationStore {
  const states = stateTable(store);
  const open = openTable(store);
  const hours = hourTable(store);
  const keys = keyTable(store);
  const memories = new Map<string, LogMemory>();

  function load(account: string): LogMemory {
    const memory = new LogMemory();
    keys.load(account, 'seen', memory.seen);
    keys.load(account, 'ended', memory.ended);
    open.load(account, memory);
    return memory;
  }

  function memory(account: string): LogMemory {
    let found = memories.get(account);
    if (found === undefined) memories.set(account, (found = load(account)));
    return found;
  }

  function commitLog(commit: LogCommit): void {
    const { account, keptFrom } = commit;
    const remembered = memory(account);
    let afterwards: (() => void) | undefined;
    let afterLines: (() => void) | undefined;
    totals.commit(commit, () => {
      states.save(commit);
      keys.save(account, 'seen', { keys: commit.seen, keptFrom, sliceMs: remembered.seen.sliceMs });
      keys.save(account, 'ended', { keys: commit.ended, keptFrom, sliceMs: remembered.ended.sliceMs });
      open.save(commit);
      hours.save(commit);
      afterwards = outbox?.write(account, commit.spans, commit.closed ?? []);
      afterLines = commit.lines && outbox?.deliveries?.write(commit.lines);
    });
    remembered.remember(commit);
    afterwards?.();
    afterLines?.();
  }

  return {
    loadLogState: states.load,
    memory,
    openRecords: open.records,
    expired: open.expired,
    commitLog,
    hourCounts: hours.counts,
  };
}

/** Table of the watermark and reading state of each account. */
function stateTable({ db }: Store) {
  const select = db.prepare(
    'SELECT watermark, kept_from, swept_at, entry_mode, window_ms, sweep, proven_at FROM log_aggregation WHERE account = ?',
  );
  const upsert = db.prepare(
    'INSERT INTO log_aggregation (account, watermark, kept_from, swept_at, entry_mode, window_ms, sweep, proven_at) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?) ' +
      'ON CONFLICT (account) DO UPDATE SET watermark = excluded.watermark, kept_from = excluded.kept_from, ' +
      'swept_at = coalesce(excluded.swept_at, swept_at), entry_mode = coalesce(excluded.entry_mode, entry_mode), ' +
      'window_ms = excluded.window_ms, sweep = excluded.sweep, proven_at = excluded.proven_at',
  );
  return {
    load: (account: string): LogAggregationState => {
      const row = select.get(account);
      if (row === undefined) return {};
      return {
        watermark: Number(row['watermark']),
        keptFrom: Number(row['kept_from']),
        ...(row['swept_at'] !== null && { sweptAt: Number(row['swept_at']) }),
        ...(row['entry_mode'] !== null && { entryMode: row['entry_mode'] as EntryMode }),
        ...(row['window_ms'] !== null && { windowMs: Number(row['window_ms']) }),
        ...(row['proven_at'] !== null && { provenAt: Number(row['proven_at']) }),
        ...(row['sweep'] !== null && { sweep: JSON.parse(String(row['sweep'])) as LogSweep }),
      };
    },
    save({ account, watermark, keptFrom, sweep, ...commit }: LogCommit): void {
      const { sweptAt = null, entryMode = null, windowMs = null, provenAt = null } = commit;
      const sweepRecord = sweep === undefined ? null : JSON.stringify(sweep);
      upsert.run(account, watermark, keptFrom, sweptAt, entryMode, windowMs, sweepRecord, provenAt);
    },
  };
}

/** Table of open messages. */
function openTable({ db }: Store) {
  const selectAll = db.prepare('SELECT message_id, destination, created, due FROM log_open WHERE account = ?');
  const select = db.prepare('SELECT record FROM log_open WHERE account = ? AND message_id = ?');
  const selectExpired = db.prepare(
    'SELECT message_id, record FROM log_open WHERE account = ? AND expires < ? ORDER BY expires LIMIT ?',
  );
  const upsert = db.prepare(
    'INSERT OR REPLACE INTO log_open (account, message_id, expires, destination, created, due, record) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const remove = db.prepare('DELETE FROM log_open WHERE account = ? AND message_id = ?');
  return {
    load(account: string, { open }: LogMemory): void {
      for (const { message_id: id, destination, created, due } of selectAll.iterate(account)) {
        open.set(String(id), {
          destination: String(destination),
          createdAt: created === null ? undefined : Number(created),
          dueAt: due === null ? undefined : Number(due),
        });
      }
    },
    records: (account: string, messageIds: readonly string[]): ReadonlyMap<string, string> => {
      const records = new Map<string, string>();
      for (const messageId of messageIds) {
        const row = select.get(account, messageId);
        if (row !== undefined) records.set(messageId, String(row['record']));
      }
      return records;
    },
    expired: (account: string, before: number, limit: number) =>
      selectExpired
        .all(account, Math.min(before, Number.MAX_SAFE_INTEGER), limit)
        .map((row) => ({ messageId: String(row['message_id']), record: String(row['record']) })),
    save({ account, opened = [], closed = [] }: LogCommit): void {
      for (const { messageId, expires, destination, createdAt = null, dueAt = null, record } of opened) {
        upsert.run(account, messageId, expires, destination, createdAt, dueAt, record);
      }
      for (const messageId of closed) remove.run(account, messageId);
    },
  };
}

/** Table of entry counts by hour and state. */
function hourTable({ db }: Store) {
  const select = db.prepare('SELECT state, count FROM log_hours WHERE account = ? AND hour = ?');
  const add = db.prepare(
    'INSERT INTO log_hours (account, hour, state, count) VALUES (?, ?, ?, ?) ' +
      'ON CONFLICT (account, hour, state) DO UPDATE SET count = count + excluded.count',
  );
  const forget = db.prepare('DELETE FROM log_hours WHERE account = ? AND hour < ?');
  return {
    counts: (account: string, hour: number) =>
      new Map(select.all(account, hour).map((row) => [row['state'] as MessageState, Number(row['count'])])),
    save(commit: LogCommit): void {
      const { account, hours = [] } = commit;
      for (const { hour, state, count } of hours) add.run(account, hour, state, count);
      forget.run(account, surelyCounted(commit) - HOURS_KEPT_MS);
    },
  };
}

type KeyKind = 'seen' | 'ended';

interface KeysOfCommit {
  readonly keys: KeySlices | undefined;
  readonly keptFrom: number;
  readonly sliceMs: number;
}

/** Table of packed keys. */
function keyTable({ db }: Store) {
  const insert = db.prepare('INSERT INTO log_keys (account, kind, slice, keys) VALUES (?, ?, ?, ?)');
  const forget = db.prepare('DELETE FROM log_keys WHERE account = ? AND kind = ? AND slice < ?');
  const select = db.prepare('SELECT slice, keys FROM log_keys WHERE account = ? AND kind = ?');
  return {
    save(account: string, kind: KeyKind, { keys, keptFrom, sliceMs }: KeysOfCommit): void {
      for (const [slice, packed] of keys?.packed(keptFrom) ?? []) insert.run(account, kind, slice, packed);
      forget.run(account, kind, Math.floor(keptFrom / sliceMs));
    },
    load(account: string, kind: KeyKind, into: KeySlices): void {
      for (const row of select.iterate(account, kind)) into.unpack(Number(row['slice']), row['keys'] as Uint8Array);
    },
  };
}
