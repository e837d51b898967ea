/** Outbox of spans: one row per batch. */
import type { SpanBatch } from '#observe/aggregation/span-batch.ts';
import type { SpanOutbox, StoredBatch } from '#observe/aggregation/span-outbox.ts';
import { all, each, get, type Work } from './database.ts';
import { OutboxRows, type OutboxWrite } from './outbox.ts';
import { WHOLE, type RowScope } from './scope.ts';
import type { Store } from './sqlite.ts';

const INSERT = 'INSERT INTO span_outbox (account, protocol, head, body, spans, made_at) VALUES (?, ?, ?, ?, ?, ?)';
export interface StoredSpanOutbox extends SpanOutbox {
  /** Begins to write the spans of a commit. */
  begin(account: string, batches: readonly SpanBatch[]): OutboxWrite;
}

export async function createSpanOutbox(
  { database }: Pick<Store, 'database'>,
  scope: RowScope = WHOLE,
): Promise<StoredSpanOutbox> {
  const remove = `DELETE FROM span_outbox WHERE id IN ${database.dialect.numbers('?1')} RETURNING spans`;
  const rows = new OutboxRows(database, 'span_outbox', scope);
  const sum = `SELECT coalesce(sum(spans), 0) AS spans FROM span_outbox WHERE ${rows.own}`;
  let queued = Number((await database.read(get(sum, rows.accounts)))?.['spans']);
  let oldestAt = await database.read(oldest(rows));
  /** Number of commits, and when the batches of the last one were made. */
  let commits = 0;
  let latestAt: number | undefined;

  return {
    begin(account, batches) {
      const spans = batches.reduce((total, batch) => total + batch.spans, 0);
      queued += spans;
      return {
        work: each(INSERT, batches, ({ protocol, head, body, spans: count, madeAt }) => {
          return [account, protocol, head, body, count, madeAt];
        }),
        committed() {
          if (batches.length === 0) return;
          commits += 1;
          latestAt = batches[0]!.madeAt;
          oldestAt ??= latestAt;
          rows.stored();
        },
        failed: () => void (queued -= spans),
      };
    },
    next(after = 0) {
      const select = `SELECT id, account, protocol, head, body, spans, made_at AS "madeAt" FROM span_outbox
        WHERE id > ?2 AND ${rows.own} ORDER BY id LIMIT 1`;
      return database.read(get<StoredBatch>(select, rows.accounts, after));
    },
    async settle(ids) {
      const before = commits;
      const results = await rows.settle(ids, function* (own) {
        const removed = yield* all(remove, JSON.stringify(own));
        return { removed, oldest: yield* oldest(rows) };
      });
      for (const { spans } of results.flatMap(({ removed }) => removed)) queued -= Number(spans);
      const last = results.at(-1);
      if (last !== undefined) oldestAt = last.oldest;
      // A batch of a later commit is not in this result.
      if (commits !== before) oldestAt ??= latestAt;
    },
    queued: () => ({ spans: queued, oldestAt }),
    onStored: (listener) => rows.onStored(listener),
  };
}

function* oldest({ own, accounts }: OutboxRows): Work<number | undefined> {
  const row = yield* get(`SELECT made_at FROM span_outbox WHERE ${own} ORDER BY id LIMIT 1`, accounts);
  return row && Number(row['made_at']);
}
