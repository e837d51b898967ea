/** Dead letters of messages, as reported by failure callbacks. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { SignalInbox, Signals } from '#automate/ledger/signals.ts';
import { records, run } from './database.ts';
import type { Journal } from './ledger-journal.ts';

// A callback may arrive twice; the first arrival of a dead letter counts.
const INSERT = `INSERT INTO dead_letters (account, dlq_id, learned_at, record) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, dlq_id) DO NOTHING`;
const NEWEST = 'SELECT record FROM dead_letters WHERE account = ? ORDER BY learned_at DESC LIMIT ?';
const DELETE = 'DELETE FROM dead_letters WHERE account = ? AND dlq_id = ?';

export function createDeadLetters({
  database,
}: Journal): Pick<SignalInbox, 'noteDeadLetter'> & Pick<Signals, 'deadLetters' | 'forgetDeadLetter'> {
  return {
    async noteDeadLetter(deadLetter) {
      const { account, dlqId, learnedAt } = deadLetter;
      await database.transaction(run(INSERT, account, dlqId, learnedAt, JSON.stringify(deadLetter)));
    },
    async deadLetters(account, limit) {
      return (await database.read(records<DeadLetter>(NEWEST, account, limit))).toReversed();
    },
    async forgetDeadLetter(account, dlqId) {
      await database.transaction(run(DELETE, account, dlqId), account);
    },
  };
}
