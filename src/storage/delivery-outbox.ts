/** Outbox of delivery events: one row per line, at most `mostLines`. */
import type { DeliveryOutbox } from '#observe/aggregation/delivery-outbox.ts';
import { all, each, get, run } from './database.ts';
import type { OutboxWrite } from './outbox-write.ts';
import { settleByLease } from './outbox-settle.ts';
import { WHOLE, withoutLease, type Scope } from './scope.ts';
import { accountsOf, isOwn } from './scoped-rows.ts';
import type { Store } from './sqlite.ts';

const LINES_AT_ONCE = 500;
const MOST_LINES = 100_000;

const INSERT = 'INSERT INTO delivery_lines (account, line) VALUES (?, ?)';
export interface StoredDeliveryOutbox extends DeliveryOutbox {
  /** Begins to write the lines of a commit. */
  begin(account: string, lines: readonly string[]): OutboxWrite;
}

interface DeliveryOutboxOptions {
  /** Called with the number of dropped lines when the outbox is full. */
  readonly onDropped: (lines: number) => void;
  readonly mostLines?: number;
}

export async function createDeliveryOutbox(
  { database }: Pick<Store, 'database'>,
  { onDropped, mostLines = MOST_LINES }: DeliveryOutboxOptions,
  whole: Scope = WHOLE,
): Promise<StoredDeliveryOutbox> {
  const { dialect } = database;
  const remove = `DELETE FROM delivery_lines WHERE id IN ${dialect.numbers('?1')}`;
  const listeners = new Set<() => void>();
  /** Without the accounts whose lease was lost. */
  let scope = whole;
  const count = `SELECT count(*) AS lines FROM delivery_lines WHERE ${isOwn(dialect, scope, '?1')}`;
  const counted = await database.read(get(count, accountsOf(scope)));
  let queued = Number(counted?.['lines']);

  return {
    begin(account, lines) {
      const kept = lines.slice(0, Math.max(0, mostLines - queued));
      queued += kept.length;
      return {
        work: each(INSERT, kept, (line) => [account, line]),
        committed() {
          if (kept.length < lines.length) onDropped(lines.length - kept.length);
          if (kept.length > 0) for (const listener of listeners) listener();
        },
        failed: () => void (queued -= kept.length),
      };
    },
    async next() {
      const own = isOwn(dialect, scope, '?1');
      const select = `SELECT id, line FROM delivery_lines WHERE ${own} ORDER BY id LIMIT ${LINES_AT_ONCE}`;
      const rows = await database.read(all<{ id: number; line: string }>(select, accountsOf(scope)));
      if (rows.length === 0) return undefined;
      return { ids: rows.map(({ id }) => id), text: rows.map(({ line }) => `${line}\n`).join('') };
    },
    async settle(ids) {
      const { results, lost } = await settleByLease(database, { scope, table: 'delivery_lines', ids }, (own) =>
        run(remove, JSON.stringify(own)),
      );
      for (const { account } of lost) scope = withoutLease(scope, account);
      for (const removed of results) queued -= removed;
    },
    get queued() {
      return queued;
    },
    onStored(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
