/** Outbox of delivery events: one row per line, at most `mostLines`. */
import type { DeliveryOutbox } from '#observe/aggregation/delivery-outbox.ts';
import { all, each, get, run } from './database.ts';
import { OutboxRows, type OutboxWrite } from './outbox.ts';
import { WHOLE, type RowScope } from './scope.ts';
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
  scope: RowScope = WHOLE,
): Promise<StoredDeliveryOutbox> {
  const remove = `DELETE FROM delivery_lines WHERE id IN ${database.dialect.numbers('?1')}`;
  const rows = new OutboxRows(database, 'delivery_lines', scope);
  const count = `SELECT count(*) AS lines FROM delivery_lines WHERE ${rows.own}`;
  let queued = Number((await database.read(get(count, rows.accounts)))?.['lines']);

  return {
    begin(account, lines) {
      const kept = lines.slice(0, Math.max(0, mostLines - queued));
      queued += kept.length;
      return {
        work: each(INSERT, kept, (line) => [account, line]),
        committed() {
          if (kept.length < lines.length) onDropped(lines.length - kept.length);
          if (kept.length > 0) rows.stored();
        },
        failed: () => void (queued -= kept.length),
      };
    },
    async next() {
      const select = `SELECT id, line FROM delivery_lines WHERE ${rows.own} ORDER BY id LIMIT ${LINES_AT_ONCE}`;
      const found = await database.read(all<{ id: number; line: string }>(select, rows.accounts));
      if (found.length === 0) return undefined;
      return { ids: found.map(({ id }) => id), text: found.map(({ line }) => `${line}\n`).join('') };
    },
    async settle(ids) {
      for (const removed of await rows.settle(ids, (own) => run(remove, JSON.stringify(own)))) queued -= removed;
    },
    get queued() {
      return queued;
    },
    onStored: (listener) => rows.onStored(listener),
  };
}
