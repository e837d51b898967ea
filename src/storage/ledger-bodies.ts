/** Bodies of dead letters: their place, and their end. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { BodyFacts, BodyStore, NewBody } from '#automate/ledger/kept-bodies.ts';
import { all, get, run, withoutNulls, type Nullable, type Work } from './database.ts';
import type { Journal } from './ledger-journal.ts';

const INSERT = `INSERT INTO dead_letter_bodies
  (account, dlq_id, at, expires_at, size, bytes, lack, key_id, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (account, dlq_id) DO NOTHING`;
const TOTAL = 'SELECT sum(bytes) AS bytes FROM dead_letter_bodies WHERE account = ?';
const OLDEST = `SELECT dlq_id, bytes FROM dead_letter_bodies WHERE account = ? AND bytes > 0 ORDER BY at LIMIT 1`;
// The row stays until it expires: it has the reason.
const DROP = `UPDATE dead_letter_bodies SET content = NULL, key_id = NULL, bytes = 0, lack = 'total'
  WHERE account = ? AND dlq_id = ?`;
export const DELETE_BODY = 'DELETE FROM dead_letter_bodies WHERE account = ? AND dlq_id = ?';

const CONTENT = 'SELECT content FROM dead_letter_bodies WHERE account = ? AND dlq_id = ?';

const RETAIN = `UPDATE dead_letter_bodies SET expires_at = at + ?2 WHERE account = ?1 AND expires_at <> at + ?2`;
/** Rows of a batch, which others wait for. */
const BATCH = 500;
const END = `DELETE FROM dead_letter_bodies WHERE (account, dlq_id) IN (
    SELECT account, dlq_id FROM dead_letter_bodies WHERE expires_at <= ? LIMIT ${BATCH}
  ) RETURNING account, bytes`;
const BYTES = 'SELECT account, sum(bytes) AS bytes FROM dead_letter_bodies GROUP BY account';

interface BytesRow {
  readonly account: string;
  readonly bytes: number;
}

/** Stores a body, and drops the oldest ones of the account beyond its limit. */
export function* insertBody(
  { account, dlqId, learnedAt }: Pick<DeadLetter, 'account' | 'dlqId' | 'learnedAt'>,
  { size, lack, keyId, content, limits: { keep, maxTotal } }: NewBody,
): Work<{ readonly isNewBody: boolean; readonly dropped: number }> {
  const place = [account, dlqId, learnedAt, learnedAt + keep] as const;
  const about = [size, content?.length ?? 0, lack ?? null, keyId ?? null] as const;
  const isNewBody = (yield* run(INSERT, ...place, ...about, content ?? null)) > 0;
  return { isNewBody, dropped: yield* dropOldest(account, maxTotal) };
}

/** Drops the oldest contents of an account beyond its limit, at most a batch. @returns their number */
function* dropOldest(account: string, maxTotal: number): Work<number> {
  let excess = Number((yield* get(TOTAL, account))?.['bytes'] ?? 0) - maxTotal;
  let dropped = 0;
  while (excess > 0 && dropped < BATCH) {
    const oldest = yield* get<{ readonly dlq_id: string; readonly bytes: number }>(OLDEST, account);
    if (oldest === undefined) break;
    yield* run(DROP, account, oldest.dlq_id);
    excess -= oldest.bytes;
    dropped += 1;
  }
  return dropped;
}

export function createBodies({ database }: Journal): BodyStore {
  const { members } = database.dialect;
  const facts = `SELECT dlq_id AS "dlqId", expires_at AS "expiresAt", size, lack, key_id AS "keyId"
    FROM dead_letter_bodies WHERE account = ?1 AND dlq_id IN ${members('?2')}`;
  return {
    async bodyFacts(account, dlqIds) {
      type FactsRow = BodyFacts & { readonly dlqId: string };
      const rows = await database.read(all<Nullable<FactsRow>>(facts, account, JSON.stringify(dlqIds)));
      return new Map(rows.map((row) => [row.dlqId, withoutNulls<FactsRow>(row)]));
    },
    async bodyContent(account, dlqId) {
      const content = (await database.read(get(CONTENT, account, dlqId)))?.['content'];
      return content instanceof Uint8Array ? content : undefined;
    },
    noteEdit: (account, dlqId, edited, learnedAt) =>
      database.transaction(function* () {
        yield* run(DELETE_BODY, account, dlqId);
        yield* insertBody({ account, dlqId, learnedAt }, edited);
      }),
    retainBodies: (account, { keep, maxTotal }) =>
      database.transaction(function* () {
        yield* run(RETAIN, account, keep);
        return yield* dropOldest(account, maxTotal);
      }, account),
    endBodies: (now) =>
      database.transaction(function* () {
        const rows = yield* all<BytesRow>(END, now);
        const ended = new Map<string, number>();
        for (const { account, bytes } of rows) if (bytes > 0) ended.set(account, (ended.get(account) ?? 0) + 1);
        return { ended, more: rows.length === BATCH };
      }),
    async bodyBytes() {
      const rows = await database.read(all<BytesRow>(BYTES));
      return new Map(rows.map(({ account, bytes }) => [account, bytes]));
    },
  };
}
