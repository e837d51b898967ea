/** Outbox of spans: one row per batch. */
import type { SpanBatch } from '#observe/aggregation/span-batch.ts';
import type { SpanOutbox } from '#observe/aggregation/span-outbox.ts';
import { all, each, get, type Work } from './database.ts';
import type { OutboxWrite } from './outbox-write.ts';
import type { Store } from './sqlite.ts';

const INSERT = 'INSERT INTO span_outbox (account, protocol, head, body, spans, made_at) VALUES (?, ?, ?, ?, ?, ?)';
const SELECT = `SELECT id, account, protocol, head, body, spans, made_at FROM span_outbox
  WHERE id > ? ORDER BY id LIMIT 1`;
const SELECT_OLDEST = 'SELECT made_at FROM span_outbox ORDER BY id LIMIT 1';
const SELECT_QUEUED = 'SELECT coalesce(sum(spans), 0) AS spans FROM span_outbox';

export interface StoredSpanOutbox extends SpanOutbox {
  /** Begins to write the spans of a commit. */
  begin(account: string, batches: readonly SpanBatch[]): OutboxWrite;
}

export async function createSpanOutbox({ database }: Pick<Store, 'database'>): Promise<StoredSpanOutbox> {
  const remove = `DELETE FROM span_outbox WHERE id IN ${database.dialect.numbers('?1')} RETURNING spans`;
  const listeners = new Set<() => void>();
  let { spans: queued, oldestAt } = await database.read(load());
  /** Number of commits, and when the batches of the last one were made. */
  let commits = 0;
  let latestAt: number | undefined;

  return {
    begin(account, batches) {
      const spans = batches.reduce((sum, batch) => sum + batch.spans, 0);
      queued += spans;
      const rows = batches.map((one) => [account, one.protocol, one.head, one.body, one.spans, one.madeAt]);
      return {
        work: each(INSERT, rows),
        committed() {
          if (batches.length === 0) return;
          commits += 1;
          latestAt = batches[0]!.madeAt;
          oldestAt ??= latestAt;
          for (const listener of listeners) listener();
        },
        failed: () => void (queued -= spans),
      };
    },
    async next(after = 0) {
      const row = await database.read(get(SELECT, after));
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
    async settle(ids) {
      const before = commits;
      const settled = await database.transaction(
        (function* () {
          const removed = yield* all(remove, JSON.stringify(ids));
          return { removed, oldest: yield* get(SELECT_OLDEST) };
        })(),
      );
      for (const { spans } of settled.removed) queued -= Number(spans);
      oldestAt = settled.oldest === undefined ? undefined : Number(settled.oldest['made_at']);
      // A batch of a later commit is not in this result.
      if (commits !== before) oldestAt ??= latestAt;
    },
    queued: () => ({ spans: queued, ...(oldestAt !== undefined && { oldestAt }) }),
    onStored(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

function* load(): Work<{ readonly spans: number; readonly oldestAt: number | undefined }> {
  const queued = yield* get(SELECT_QUEUED);
  const oldest = yield* get(SELECT_OLDEST);
  return { spans: Number(queued?.['spans']), oldestAt: oldest && Number(oldest['made_at']) };
}
