/** Outbox of delivery events on SQLite: one row per line, at most `mostLines`. */
import type { DeliveryOutbox } from '#observe/aggregation/delivery-outbox.ts';
import type { Store } from './sqlite.ts';

const LINES_AT_ONCE = 500;
const MOST_LINES = 100_000;

export interface SqliteDeliveryOutbox extends DeliveryOutbox {
  /** Writes the lines of a commit, within its transaction. @returns a function to call after the commit */
  write(lines: readonly string[]): () => void;
}

interface DeliveryOutboxOptions {
  /** Called with the number of dropped lines when the outbox is full. */
  readonly onDropped: (lines: number) => void;
  readonly mostLines?: number;
}

export function createDeliveryOutbox({ db }: Store, options: DeliveryOutboxOptions): SqliteDeliveryOutbox {
  const { onDropped, mostLines = MOST_LINES } = options;
  const insert = db.prepare('INSERT INTO delivery_lines (line) VALUES (?)');
  const select = db.prepare('SELECT id, line FROM delivery_lines ORDER BY id LIMIT ?');
  const remove = db.prepare('DELETE FROM delivery_lines WHERE id <= ?');
  const listeners = new Set<() => void>();
  let queued = Number(db.prepare('SELECT count(*) AS lines FROM delivery_lines').get()?.['lines']);

  return {
    write(lines) {
      const kept = lines.slice(0, Math.max(0, mostLines - queued));
      for (const line of kept) insert.run(line);
      return () => {
        queued += kept.length;
        if (kept.length < lines.length) onDropped(lines.length - kept.length);
        if (kept.length > 0) for (const listener of listeners) listener();
      };
    },
    next() {
      const rows = select.all(LINES_AT_ONCE);
      if (rows.length === 0) return undefined;
      const text = rows.map((row) => `${String(row['line'])}\n`).join('');
      return { id: Number(rows.at(-1)!['id']), text, lines: rows.length };
    },
    settle(id) {
      queued -= Number(remove.run(id).changes);
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
