/** Outbox of delivery events: one row per line, at most `mostLines`. */
import type { DeliveryOutbox } from '#observe/aggregation/delivery-outbox.ts';
import { all, each, get, run } from './database.ts';
import type { OutboxWrite } from './outbox-write.ts';
import type { Store } from './sqlite.ts';

const LINES_AT_ONCE = 500;
const MOST_LINES = 100_000;

const INSERT = 'INSERT INTO delivery_lines (line) VALUES (?)';
const SELECT = `SELECT id, line FROM delivery_lines ORDER BY id LIMIT ${LINES_AT_ONCE}`;
const COUNT = 'SELECT count(*) AS lines FROM delivery_lines';

export interface StoredDeliveryOutbox extends DeliveryOutbox {
  /** Begins to write the lines of a commit. */
  begin(lines: readonly string[]): OutboxWrite;
}

interface DeliveryOutboxOptions {
  /** Called with the number of dropped lines when the outbox is full. */
  readonly onDropped: (lines: number) => void;
  readonly mostLines?: number;
}

export async function createDeliveryOutbox(
  { database }: Pick<Store, 'database'>,
  { onDropped, mostLines = MOST_LINES }: DeliveryOutboxOptions,
): Promise<StoredDeliveryOutbox> {
  const remove = `DELETE FROM delivery_lines WHERE id IN ${database.dialect.numbers('?1')}`;
  const listeners = new Set<() => void>();
  let queued = Number((await database.read(get(COUNT)))?.['lines']);

  return {
    begin(lines) {
      const kept = lines.slice(0, Math.max(0, mostLines - queued));
      queued += kept.length;
      return {
        work: each(
          INSERT,
          kept.map((line) => [line]),
        ),
        committed() {
          if (kept.length < lines.length) onDropped(lines.length - kept.length);
          if (kept.length > 0) for (const listener of listeners) listener();
        },
        failed: () => void (queued -= kept.length),
      };
    },
    async next() {
      const rows = await database.read(all(SELECT));
      if (rows.length === 0) return undefined;
      return { ids: rows.map(({ id }) => Number(id)), text: rows.map(({ line }) => `${String(line)}\n`).join('') };
    },
    async settle(ids) {
      queued -= await database.transaction(run(remove, JSON.stringify(ids)));
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
