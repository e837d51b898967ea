/** Dead letters of messages, as reported by failure callbacks. */
import { MOST_DEAD_LETTERS, type DeadLetter } from '#foundation/domain/dead-letter.ts';
import { editOf } from '#foundation/domain/carried-message.ts';
import type { SignalInbox, Signals } from '#automate/ledger/signals.ts';
import { records, run } from './database.ts';
import { DELETE_BODY, insertBody } from './ledger-bodies.ts';
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
    noteDeadLetter: (deadLetter, body) =>
      database.transaction(function* () {
        const { account, dlqId, learnedAt } = deadLetter;
        yield* run(INSERT, account, dlqId, learnedAt, JSON.stringify(deadLetter));
        return body === undefined ? { isNewBody: false, dropped: 0 } : yield* insertBody(deadLetter, body);
      }),
    async deadLetters(account, limit = MOST_DEAD_LETTERS) {
      return (await database.read(records<DeadLetter>(NEWEST, account, limit))).toReversed();
    },
    async forgetDeadLetter(account, dlqId) {
      await database.transaction(function* () {
        yield* run(DELETE, account, dlqId);
        for (const id of [dlqId, editOf(dlqId)]) yield* run(DELETE_BODY, account, id);
      }, account);
    },
  };
}
