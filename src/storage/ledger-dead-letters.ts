/** Dead letters of messages, as reported by failure callbacks. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { SignalInbox, Signals } from '#automate/ledger/signals.ts';
import type { Journal } from './ledger-journal.ts';

export function createDeadLetters({
  db,
}: Journal): Pick<SignalInbox, 'noteDeadLetter'> & Pick<Signals, 'deadLetters' | 'forgetDeadLetter'> {
  // A callback may arrive twice; the first arrival of a dead letter counts.
  const insert = db.prepare(
    'INSERT OR IGNORE INTO dead_letters (account, dlq_id, learned_at, record) VALUES (?, ?, ?, ?)',
  );
  const select = db.prepare('SELECT record FROM dead_letters WHERE account = ? ORDER BY learned_at DESC LIMIT ?');
  const remove = db.prepare('DELETE FROM dead_letters WHERE account = ? AND dlq_id = ?');

  return {
    noteDeadLetter: (deadLetter) =>
      void insert.run(deadLetter.account, deadLetter.dlqId, deadLetter.learnedAt, JSON.stringify(deadLetter)),
    deadLetters: (account, limit) =>
      select
        .all(account, limit)
        .map((row) => JSON.parse(String(row['record'])) as DeadLetter)
        .toReversed(),
    forgetDeadLetter: (account, dlqId) => void remove.run(account, dlqId),
  };
}
