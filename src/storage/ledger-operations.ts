/** Operations of operators, with their claims on entries. */
import type {
  Begun,
  BegunOperation,
  Operations,
  Retrigger,
  RetriggeredRun,
  RetriggerReads,
} from '#automate/ledger/operations.ts';
import { all, each, get, run, type Work } from './database.ts';
import { afterBudgetChanges } from './ledger-budgets.ts';
import type { Journal } from './ledger-journal.ts';

const INSERT = `INSERT INTO operations (at, operation, account, by, from_usd, to_usd, dlq_id, run_id, retrigger)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`;
export const RETRIGGERS = `SELECT at, by, outcome, retrigger FROM operations
  WHERE account = ?1 AND (dlq_id = ?2 OR run_id = ?2) ORDER BY id DESC`;
const CLAIM = `INSERT INTO operation_claims (account, target, action, operation_id) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, target) DO UPDATE SET action = excluded.action, operation_id = excluded.operation_id`;
const RELEASE = 'DELETE FROM operation_claims WHERE operation_id = ?';
const SELECT = 'SELECT operation FROM operations WHERE id = ? AND account = ?';
const END = 'UPDATE operations SET outcome = ?, ended_at = ? WHERE id = ?';
const OPEN = 'SELECT id, account FROM operations WHERE outcome IS NULL ORDER BY id';
const PAUSE = `SELECT reason FROM pauses WHERE scope = 'engine' AND lifted_at IS NULL`;
const ACTING = `SELECT i.policy FROM unsettled u JOIN intents i ON i.id = u.intent_id
  WHERE i.account = ? AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.intent_id = i.id) LIMIT 1`;

/** @param isOwn returns true for the accounts whose interrupted operations end */
export function createOperations(
  { database, write }: Journal,
  isOwn: (account: string) => boolean,
): Operations & RetriggerReads {
  const members = database.dialect.members('?2');
  // Only an operator can decide to repeat a call whose outcome is unknown.
  const claimedByOperations = `SELECT c.target, c.operation_id AS id FROM operation_claims c
    JOIN operations o ON o.id = c.operation_id
    WHERE c.account = ?1 AND c.target IN ${members} AND coalesce(o.outcome, '') <> 'unknown'`;
  const claimedByPolicies = `SELECT target, id, policy FROM intents
    WHERE account = ?1 AND target IN ${members} AND active = 1`;

  /** Returns the reason why an entry cannot be claimed; undefined if all of them can. */
  function* claimed(account: string, dlqIds: readonly string[]): Work<string | undefined> {
    const ids = JSON.stringify(dlqIds);
    const owners = new Map<string, string>();
    for (const { target, id, policy } of yield* all(claimedByPolicies, account, ids)) {
      owners.set(String(target), `action ${String(id)} of policy ${String(policy)} has it`);
    }
    for (const { target, id } of yield* all(claimedByOperations, account, ids)) {
      owners.set(String(target), `operation ${String(id)} has it`);
    }
    const first = dlqIds.find((dlqId) => owners.has(dlqId));
    return first === undefined ? undefined : `${first}: ${owners.get(first)}`;
  }

  function* objection({ account, claims, isBulk, isByFilter }: BegunOperation): Work<string | undefined> {
    const pause = isBulk === true ? yield* get(PAUSE) : undefined;
    if (pause !== undefined) return `the engine is paused: ${String(pause['reason'])}`;
    const acting = isByFilter === true ? yield* get(ACTING, account) : undefined;
    if (acting !== undefined) return `policy ${String(acting['policy'])} acts on account ${account} at this time`;
    return claims && (yield* claimed(account, claims.dlqIds));
  }

  const operations: Operations & RetriggerReads = {
    beginOperation: (begun) =>
      write(function* (tell): Work<Begun> {
        const { operation, account, keys, by, object, claims, budget, retrigger } = begun;
        const reason = yield* objection(begun);
        if (reason !== undefined) return { ok: false, reason };
        const at = budget === undefined ? begun.at : yield* afterBudgetChanges(account, begun.at);
        const dollars = [stored(budget?.fromUsd), stored(budget?.toUsd)];
        const { dlqId = null, workflowRunId = null } = retrigger ?? {};
        const record = retrigger === undefined ? null : JSON.stringify(retrigger);
        const row = yield* get(INSERT, at, operation, account, by, ...dollars, dlqId, workflowRunId, record);
        const id = Number(row!['id']);
        const dlqIds = claims?.dlqIds;
        yield* each(CLAIM, new Set(dlqIds), (dlqId) => [account, dlqId, claims!.action, id]);
        yield* tell({ type: 'operation.begun', account, operation, id, keys, by, object, dlqIds, ...told(retrigger) });
        return { ok: true, id };
      }, begun.account),
    endOperation: (id, account, { at, outcome, detail }) =>
      write(function* (tell) {
        const row = yield* get(SELECT, id, account);
        if (row === undefined) throw new Error(`operation ${id} is not in the ledger`);
        yield* run(END, outcome, at, id);
        if (outcome === 'rejected') yield* run(RELEASE, id);
        yield* tell({ type: 'operation.ended', account, operation: String(row['operation']), id, outcome, detail });
      }, account),
    async retriggers(account, id) {
      const rows = await database.read(all(RETRIGGERS, account, id));
      return rows.map(({ at, by, outcome, retrigger }) => ({
        ...(JSON.parse(String(retrigger)) as RetriggeredRun),
        at: Number(at),
        by: String(by),
        ...(outcome !== null && { outcome: outcome as Retrigger['outcome'] }),
      }));
    },
    async endInterruptedOperations(at) {
      const open = (await database.read(all(OPEN))).filter(({ account }) => isOwn(String(account)));
      const end = { at, outcome: 'unknown', detail: 'the daemon stopped before the response arrived' } as const;
      for (const { id, account } of open) await operations.endOperation(Number(id), String(account), end);
      return open.length;
    },
  };
  return operations;
}

/** Returns the facts about a retrigger for the audit log. */
function told(retrigger: RetriggeredRun | undefined) {
  if (retrigger === undefined) return {};
  const { dlqId: _claimed, workflowUrl: _url, workflowRunId: newRunId, ...facts } = retrigger;
  return { newRunId, ...facts };
}

/** Dollars in the store: null if unknown, 0 if unlimited. */
function stored(dollars: number | undefined): number | null {
  if (dollars === undefined) return null;
  return dollars === Infinity ? 0 : dollars;
}
