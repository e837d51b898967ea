/** Outbox of spans: one row per batch. */
import type { SpanBatch } from '#observe/aggregation/span-batch.ts';
import type { SpanOutbox, StoredBatch } from '#observe/aggregation/span-outbox.ts';
import { all, each, get, type Database, type Work } from './database.ts';
import type { OutboxWrite } from './outbox-write.ts';
import { settleByLease } from './outbox-settle.ts';
import { WHOLE, withoutLease, type Scope } from './scope.ts';
import { accountsOf, isOwn } from './scoped-rows.ts';
import type { Store } from './sqlite.ts';

const INSERT = 'INSERT INTO span_outbox (account, protocol, head, body, spans, made_at) VALUES (?, ?, ?, ?, ?, ?)';
export interface StoredSpanOutbox extends SpanOutbox {
  /** Begins to write the spans of a commit. */
  begin(account: string, batches: readonly SpanBatch[]): OutboxWrite;
}

export async function createSpanOutbox(
  { database }: Pick<Store, 'database'>,
  whole: Scope = WHOLE,
): Promise<StoredSpanOutbox> {
  const remove = `DELETE FROM span_outbox WHERE id IN ${database.dialect.numbers('?1')} RETURNING spans`;
  const listeners = new Set<() => void>();
  /** Without the accounts whose lease was lost. */
  let scope = whole;
  let { spans: queued, oldestAt } = await database.read(load(database, scope));
  /** Number of commits, and when the batches of the last one were made. */
  let commits = 0;
  let latestAt: number | undefined;

  return {
    begin(account, batches) {
      const spans = batches.reduce((sum, batch) => sum + batch.spans, 0);
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
          for (const listener of listeners) listener();
        },
        failed: () => void (queued -= spans),
      };
    },
    next(after = 0) {
      const select = `SELECT id, account, protocol, head, body, spans, made_at AS "madeAt" FROM span_outbox
        WHERE id > ?2 AND ${isOwn(database.dialect, scope, '?1')} ORDER BY id LIMIT 1`;
      return database.read(get<StoredBatch>(select, accountsOf(scope), after));
    },
    async settle(ids) {
      const before = commits;
      const { results, lost } = await settleByLease(database, { scope, table: 'span_outbox', ids }, function* (own) {
        const removed = yield* all(remove, JSON.stringify(own));
        return { removed, oldest: yield* oldest(database, scope) };
      });
      for (const { account } of lost) scope = withoutLease(scope, account);
      for (const { spans } of results.flatMap(({ removed }) => removed)) queued -= Number(spans);
      const last = results.at(-1);
      if (last !== undefined) oldestAt = last.oldest;
      // A batch of a later commit is not in this result.
      if (commits !== before) oldestAt ??= latestAt;
    },
    queued: () => ({ spans: queued, oldestAt }),
    onStored(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

type Rows = Pick<Database, 'dialect'>;

function* oldest({ dialect }: Rows, scope: Scope): Work<number | undefined> {
  const select = `SELECT made_at FROM span_outbox WHERE ${isOwn(dialect, scope, '?1')} ORDER BY id LIMIT 1`;
  const row = yield* get(select, accountsOf(scope));
  return row && Number(row['made_at']);
}

function* load(
  { dialect }: Rows,
  scope: Scope,
): Work<{ readonly spans: number; readonly oldestAt: number | undefined }> {
  const select = `SELECT coalesce(sum(spans), 0) AS spans FROM span_outbox WHERE ${isOwn(dialect, scope, '?1')}`;
  const queued = yield* get(select, accountsOf(scope));
  return { spans: Number(queued?.['spans']), oldestAt: yield* oldest({ dialect }, scope) };
}
