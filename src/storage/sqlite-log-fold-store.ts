/**
 * The log fold's port over SQLite: one commit, one transaction. What was recognised or ended is a row of packed keys a
 * commit and slice of time, never a row an entry; only messages that are still open have a row of their own.
 */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import type { KeySlices } from '#observe/aggregation/keys.ts';
import {
  HOURS_KEPT_MS,
  LogMemory,
  surelyCounted,
  type LogCommit,
  type LogFoldState,
  type LogFoldStore,
  type LogForm,
  type LogSweep,
} from '#observe/aggregation/log-store.ts';
import type { SqliteDeliveryOutbox } from './sqlite-delivery-outbox.ts';
import type { SqliteSpanOutbox } from './sqlite-span-outbox.ts';
import type { SqliteTotals } from './sqlite-totals.ts';
import type { Store } from './sqlite.ts';

/** @param outbox takes the spans of commits, and the lines about deliveries; without one they are not kept */
export function createLogFoldStore(
  store: Store,
  totals: SqliteTotals,
  outbox?: Pick<SqliteSpanOutbox, 'write'> & { readonly deliveries?: Pick<SqliteDeliveryOutbox, 'write'> },
): LogFoldStore {
  const { db } = store;
  const selectState = db.prepare(
    'SELECT watermark, kept_from, swept_at, form, window_ms, sweep, proven_at FROM log_fold WHERE account = ?',
  );
  const upsertState = db.prepare(
    'INSERT INTO log_fold (account, watermark, kept_from, swept_at, form, window_ms, sweep, proven_at) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?) ' +
      'ON CONFLICT (account) DO UPDATE SET watermark = excluded.watermark, kept_from = excluded.kept_from, ' +
      'swept_at = coalesce(excluded.swept_at, swept_at), form = coalesce(excluded.form, form), ' +
      'window_ms = excluded.window_ms, sweep = excluded.sweep, proven_at = excluded.proven_at',
  );
  const selectOpen = db.prepare('SELECT record FROM log_open WHERE account = ? AND message_id = ?');
  const selectExpired = db.prepare(
    'SELECT message_id, record FROM log_open WHERE account = ? AND expires < ? ORDER BY expires LIMIT ?',
  );
  const upsertOpen = db.prepare(
    'INSERT OR REPLACE INTO log_open (account, message_id, expires, destination, created, due, record) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const deleteOpen = db.prepare('DELETE FROM log_open WHERE account = ? AND message_id = ?');
  const addHour = db.prepare(
    'INSERT INTO log_hours (account, hour, state, count) VALUES (?, ?, ?, ?) ' +
      'ON CONFLICT (account, hour, state) DO UPDATE SET count = count + excluded.count',
  );
  const forgetHours = db.prepare('DELETE FROM log_hours WHERE account = ? AND hour < ?');
  const selectHour = db.prepare('SELECT state, count FROM log_hours WHERE account = ? AND hour = ?');
  const keys = keyTable(store);
  const memories = new Map<string, LogMemory>();

  function load(account: string): LogMemory {
    const memory = new LogMemory();
    keys.load(account, 'seen', memory.seen);
    keys.load(account, 'ended', memory.ended);
    const rows = db
      .prepare('SELECT message_id, destination, created, due FROM log_open WHERE account = ?')
      .iterate(account);
    for (const { message_id: id, destination, created, due } of rows) {
      memory.open.set(String(id), {
        destination: String(destination),
        createdAt: created === null ? undefined : Number(created),
        dueAt: due === null ? undefined : Number(due),
      });
    }
    return memory;
  }

  function memory(account: string): LogMemory {
    let found = memories.get(account);
    if (found === undefined) memories.set(account, (found = load(account)));
    return found;
  }

  function commitLog(commit: LogCommit): void {
    const {
      account,
      watermark,
      keptFrom,
      sweptAt = null,
      form = null,
      windowMs = null,
      sweep,
      provenAt = null,
    } = commit;
    const remembered = memory(account);
    let afterwards: (() => void) | undefined;
    let afterLines: (() => void) | undefined;
    totals.commit(commit, () => {
      const sweepRecord = sweep === undefined ? null : JSON.stringify(sweep);
      upsertState.run(account, watermark, keptFrom, sweptAt, form, windowMs, sweepRecord, provenAt);
      keys.save(account, 'seen', { keys: commit.seen, keptFrom, sliceMs: remembered.seen.sliceMs });
      keys.save(account, 'ended', { keys: commit.ended, keptFrom, sliceMs: remembered.ended.sliceMs });
      for (const { messageId, expires, destination, createdAt = null, dueAt = null, record } of commit.opened ?? []) {
        upsertOpen.run(account, messageId, expires, destination, createdAt, dueAt, record);
      }
      for (const messageId of commit.closed ?? []) deleteOpen.run(account, messageId);
      for (const { hour, state, count } of commit.hours ?? []) addHour.run(account, hour, state, count);
      forgetHours.run(account, surelyCounted(commit) - HOURS_KEPT_MS);
      afterwards = outbox?.write(account, commit.spans, commit.closed ?? []);
      afterLines = commit.lines && outbox?.deliveries?.write(commit.lines);
    });
    remembered.remember(commit);
    afterwards?.();
    afterLines?.();
  }

  return {
    loadLogState(account): LogFoldState {
      const row = selectState.get(account);
      if (row === undefined) return {};
      const {
        watermark,
        kept_from: keptFrom,
        swept_at: sweptAt,
        form,
        window_ms: windowMs,
        sweep,
        proven_at: provenAt,
      } = row;
      return {
        watermark: Number(watermark),
        keptFrom: Number(keptFrom),
        ...(sweptAt !== null && { sweptAt: Number(sweptAt) }),
        ...(form !== null && { form: form as LogForm }),
        ...(windowMs !== null && { windowMs: Number(windowMs) }),
        ...(provenAt !== null && { provenAt: Number(provenAt) }),
        ...(sweep !== null && { sweep: JSON.parse(String(sweep)) as LogSweep }),
      };
    },
    memory,
    openRecords(account, messageIds) {
      const records = new Map<string, string>();
      for (const messageId of messageIds) {
        const row = selectOpen.get(account, messageId);
        if (row !== undefined) records.set(messageId, String(row['record']));
      }
      return records;
    },
    expired: (account, before, limit) =>
      selectExpired
        .all(account, Math.min(before, Number.MAX_SAFE_INTEGER), limit)
        .map((row) => ({ messageId: String(row['message_id']), record: String(row['record']) })),
    commitLog,
    hourCounts: (account, hour) =>
      new Map(selectHour.all(account, hour).map((row) => [row['state'] as MessageState, Number(row['count'])])),
  };
}

type KeyKind = 'seen' | 'ended';

interface KeysOfCommit {
  readonly keys: KeySlices | undefined;
  readonly keptFrom: number;
  readonly sliceMs: number;
}

/** Rows of packed keys. */
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
