/** Outbox of spans on SQLite: one row per batch, and one row per message whose root span was sent while it was open. */
import type { SpanBatch, SpansOfCommit } from '#observe/aggregation/span-batch.ts';
import type { SpanOutbox } from '#observe/aggregation/span-outbox.ts';
import { transaction } from './sqlite-transaction.ts';
import type { Store } from './sqlite.ts';

export interface SqliteSpanOutbox extends SpanOutbox {
  /** Writes the spans of a commit, within its transaction. @returns a function to call after the commit */
  write(account: string, spans: SpansOfCommit | undefined, closed: readonly string[]): () => void;
}

export function createSpanOutbox({ db }: Store): SqliteSpanOutbox {
  const insert = db.prepare(
    'INSERT INTO span_outbox (account, protocol, head, body, spans, made_at) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const select = db.prepare('SELECT * FROM span_outbox WHERE id > ? ORDER BY id LIMIT 1');
  const remove = db.prepare('DELETE FROM span_outbox WHERE id = ? RETURNING spans');
  const insertOpen = db.prepare('INSERT OR IGNORE INTO span_left_open (account, message_id) VALUES (?, ?)');
  const deleteOpen = db.prepare('DELETE FROM span_left_open WHERE account = ? AND message_id = ?');
  const selectOldest = db.prepare('SELECT made_at FROM span_outbox ORDER BY id LIMIT 1');
  const listeners = new Set<() => void>();
  const open = new Map<string, Set<string>>();
  for (const row of db.prepare('SELECT account, message_id FROM span_left_open').iterate()) {
    openOf(String(row['account'])).add(String(row['message_id']));
  }
  let queued = Number(db.prepare('SELECT coalesce(sum(spans), 0) AS spans FROM span_outbox').get()?.['spans']);

  function openOf(account: string): Set<string> {
    let found = open.get(account);
    if (found === undefined) open.set(account, (found = new Set()));
    return found;
  }

  return {
    write(account, spans, closed) {
      const known = openOf(account);
      const gone = closed.filter((messageId) => known.has(messageId));
      const { batches = [], leftOpen = [] } = spans ?? {};
      for (const { protocol, head, body, spans: count, madeAt } of batches) {
        insert.run(account, protocol, head, body, count, madeAt);
      }
      for (const messageId of leftOpen) insertOpen.run(account, messageId);
      for (const messageId of gone) deleteOpen.run(account, messageId);
      return () => {
        for (const messageId of leftOpen) known.add(messageId);
        for (const messageId of gone) known.delete(messageId);
        for (const batch of batches) queued += batch.spans;
        if (batches.length > 0) for (const listener of listeners) listener();
      };
    },
    leftOpen: openOf,
    next(after = 0) {
      const row = select.get(after);
      if (row === undefined) return undefined;
      return {
        id: Number(row['id']),
        account: String(row['account']),
        protocol: row['protocol'] as SpanBatch['protocol'],
        head: String(row['head']),
        body: row['body'] as Uint8Array,
        spans: Number(row['spans']),
        madeAt: Number(row['made_at']),
      };
    },
    settle(ids) {
      const spans = transaction(db, () => ids.map((id) => Number(remove.get(id)?.['spans'] ?? 0)));
      for (const count of spans) queued -= count;
    },
    queued() {
      const oldest = queued === 0 ? undefined : selectOldest.get()?.['made_at'];
      return { spans: queued, ...(oldest !== undefined && { oldestAt: Number(oldest) }) };
    },
    onStored(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
