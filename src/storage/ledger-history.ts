/** History of entries, runs and lineages. Each query serves a whole listing, and none runs once for each entry. */
import type { ActionType } from '#foundation/domain/plan.ts';
import type { History, LineageHistory, Resume } from '#automate/ledger/history.ts';
import { all, type Dialect, type Row, type Work } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { ACTIONS, actionRows } from './ledger-rows.ts';

/** Returns the queries by name; `?2` is a JSON array of ids. They must stay fast with a million intents. */
export const historyQueries = ({ members, jsonNumber }: Dialect) => ({
  claims: `SELECT target, action FROM intents WHERE account = ?1 AND active = 1 AND target IN ${members('?2')}`,
  operationClaims: `SELECT target, action FROM operation_claims WHERE account = ?1 AND target IN ${members('?2')}`,
  // A run that got its id from a resume counts before an entry of it that was acted on.
  lineagesOfRuns: `SELECT subject AS run_id, lineage FROM intents
      WHERE account = ?1 AND subject IN ${members('?2')} AND lineage IS NOT NULL
    UNION ALL SELECT o.new_run_id, i.lineage FROM outcomes o JOIN intents i ON i.id = o.intent_id
      WHERE i.account = ?1 AND o.new_run_id IN ${members('?2')} AND i.lineage IS NOT NULL`,
  resumedRuns: `SELECT o.new_run_id, i.subject FROM outcomes o JOIN intents i ON i.id = o.intent_id
    WHERE i.account = ?1 AND o.new_run_id IN ${members('?2')} ORDER BY o.id`,
  histories: `SELECT lineage, count(*) AS known, max(at) AS last_at, max(${jsonNumber('proposal', 'attempt')}) AS attempt
    FROM intents
    WHERE account = ?1 AND lineage IN ${members('?2')} AND active = 1 GROUP BY lineage`,
  resumes: `SELECT lineage, target AS "dlqId", at, ${jsonNumber('proposal', 'failedAt')} AS "failedAt" FROM intents
    WHERE account = ?1 AND lineage IN ${members('?2')} AND active = 1 AND action = 'workflow-dlq.resume'`,
  actionsOn: `${ACTIONS} WHERE i.id IN (
      SELECT id FROM intents WHERE target IN ${members('?2')} UNION SELECT id FROM intents WHERE subject IN ${members('?2')}
      UNION SELECT intent_id FROM outcomes WHERE new_run_id IN ${members('?2')}
    ) AND (CAST(?1 AS TEXT) IS NULL OR i.account = ?1) ORDER BY i.id DESC`,
});

export function createHistory({ database }: Journal): History {
  const queries = historyQueries(database.dialect);

  /** Reads rows of ids, which may repeat: a set of 100,000 ids would cost more than it saves. */
  function* rowsOf<R = Row>(name: keyof typeof queries, account: string, ids: Iterable<string>): Work<readonly R[]> {
    const wanted = [...ids];
    return wanted.length === 0 ? [] : yield* all<R>(queries[name], account, JSON.stringify(wanted));
  }

  function* claims(account: string, targets: Iterable<string>): Work<ReadonlyMap<string, ActionType>> {
    const wanted = [...targets];
    const byOperators = yield* rowsOf('operationClaims', account, wanted);
    const rows = [...byOperators, ...(yield* rowsOf('claims', account, wanted))];
    return new Map(rows.map((row) => [String(row['target']), row['action'] as ActionType]));
  }

  function* histories(account: string, lineages: Iterable<string>): Work<ReadonlyMap<string, LineageHistory>> {
    const rows = yield* rowsOf('histories', account, lineages);
    return new Map(rows.map((row) => [String(row['lineage']), historyOf(row)]));
  }

  function* lineagesOfRuns(account: string, runIds: Iterable<string>): Work<ReadonlyMap<string, LineageHistory>> {
    const rows = yield* rowsOf('lineagesOfRuns', account, runIds);
    const lineages = new Map(rows.map((row) => [String(row['run_id']), String(row['lineage'])]));
    const known = yield* histories(account, lineages.values());
    return new Map([...lineages].map(([run, lineage]) => [run, known.get(lineage) ?? { lineage, attempts: 0 }]));
  }

  function* resumes(account: string, lineages: Iterable<string>): Work<ReadonlyMap<string, readonly Resume[]>> {
    const found = yield* rowsOf<Resume & { readonly lineage: string }>('resumes', account, lineages);
    return Map.groupBy(found, ({ lineage }) => lineage);
  }

  function* resumedFrom(account: string, runIds: Iterable<string>): Work<ReadonlyMap<string, string>> {
    const rows = yield* rowsOf('resumedRuns', account, runIds);
    return new Map(rows.map((row) => [String(row['new_run_id']), String(row['subject'])]));
  }

  return {
    claims: async (account, targets) => database.read(claims(account, targets)),
    histories: async (account, lineages) => database.read(histories(account, lineages)),
    lineagesOfRuns: async (account, runIds) => database.read(lineagesOfRuns(account, runIds)),
    resumes: async (account, lineages) => database.read(resumes(account, lineages)),
    resumedFrom: async (account, runIds) => database.read(resumedFrom(account, runIds)),
    async actionsOn(account, ids) {
      const wanted = [...ids];
      if (wanted.length === 0) return [];
      return database.read(actionRows(queries.actionsOn, account ?? null, JSON.stringify(wanted)));
    },
  };
}

/** The number of an attempt also counts those that only a stamp recorded. */
function historyOf({ lineage, known, attempt, last_at: lastAt }: Row): LineageHistory {
  const attempts = Math.max(Number(known), Number(attempt ?? 0));
  return { lineage: String(lineage), attempts, lastAttemptAt: Number(lastAt) };
}
