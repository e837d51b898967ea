/**
 * The ledger over SQLite. Intents and outcomes are only ever added; the present state of an intent is its newest
 * outcome, and an intent that was proven without effect holds neither its claim nor its cap.
 */
import type { SQLOutputValue } from 'node:sqlite';
import type { Proposal, RunOutcome } from '../domain/plan.ts';
import type {
  ActionOutcome,
  ActionRecord,
  CapLimit,
  Intent,
  Ledger,
  LineageHistory,
  Reservation,
  RunRecord,
} from '../ledger/ledger.ts';
import { transaction, type Store } from './sqlite.ts';

type Row = Record<string, SQLOutputValue>;

/** Intents that may have had an effect: those whose newest outcome does not prove the contrary. */
const EFFECTIVE = `NOT EXISTS (
  SELECT 1 FROM outcomes o WHERE o.intent_id = i.id AND o.outcome IN ('rejected', 'resolved_not_done')
)`;

/** Outcomes that reading will still follow with another one. */
const OPEN_OUTCOMES: ReadonlySet<ActionOutcome> = new Set(['acked', 'unknown']);

/** Intents `i` beside their newest outcome `o`, if any. */
const WITH_OUTCOME = `
  FROM intents i LEFT JOIN outcomes o ON o.id = (SELECT max(id) FROM outcomes WHERE intent_id = i.id)`;

const ACTION_COLUMNS = `
  i.id, i.at, i.run_id, i.proposal, o.outcome, o.at AS outcome_at, o.detail,
  (SELECT new_run_id FROM outcomes WHERE intent_id = i.id AND new_run_id IS NOT NULL LIMIT 1) AS new_run_id`;

export function createLedger({ db, instance }: Store): Ledger {
  const insertRun = db.prepare('INSERT INTO runs (policy, account, plan_id, at) VALUES (?, ?, ?, ?)');
  const updateRun = db.prepare(
    'UPDATE runs SET finished_at = ?, outcome = ?, matched = ?, acted = ?, backlog = ?, detail = ? WHERE id = ?',
  );
  const selectLastRuns = db.prepare(
    'SELECT * FROM runs WHERE id IN (SELECT max(id) FROM runs GROUP BY policy) ORDER BY policy',
  );
  const insertIntent = db.prepare(
    'INSERT INTO intents (run_id, at, policy, account, action, dlq_id, lineage, proposal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const insertOutcome = db.prepare(
    'INSERT INTO outcomes (intent_id, at, outcome, detail, new_run_id) VALUES (?, ?, ?, ?, ?)',
  );
  const selectClaim = db.prepare(
    `SELECT i.id, i.at, i.action FROM intents i WHERE i.account = ? AND i.dlq_id = ? AND ${EFFECTIVE} LIMIT 1`,
  );
  const countUsed = db.prepare(
    `SELECT count(*) AS used FROM intents i
     WHERE i.at > ?1 AND (?2 IS NULL OR i.policy = ?2) AND (?3 IS NULL OR i.account = ?3) AND ${EFFECTIVE}`,
  );
  const insertUnsettled = db.prepare('INSERT INTO unsettled (intent_id) VALUES (?)');
  const deleteUnsettled = db.prepare('DELETE FROM unsettled WHERE intent_id = ?');
  const selectUnsettled = db.prepare(
    `SELECT ${ACTION_COLUMNS} ${WITH_OUTCOME} WHERE i.id IN (SELECT intent_id FROM unsettled) ORDER BY i.id`,
  );
  const selectRecent = db.prepare(`SELECT ${ACTION_COLUMNS} ${WITH_OUTCOME} ORDER BY i.id DESC LIMIT ?`);
  const selectLineageOfRun = db.prepare(
    'SELECT i.lineage FROM outcomes o JOIN intents i ON i.id = o.intent_id WHERE o.new_run_id = ? AND i.account = ? ORDER BY o.id DESC LIMIT 1',
  );
  const selectResumed = db.prepare(
    "SELECT json_extract(i.proposal, '$.workflowRunId') AS run FROM outcomes o JOIN intents i ON i.id = o.intent_id " +
      'WHERE o.new_run_id = ? AND i.account = ? ORDER BY o.id DESC LIMIT 1',
  );
  const selectHistory = db.prepare(
    `SELECT count(*) AS attempts, max(i.at) AS last_at FROM intents i WHERE i.account = ? AND i.lineage = ? AND ${EFFECTIVE}`,
  );

  function used(scope: { readonly policy?: string; readonly account?: string }, since: number): number {
    return Number(countUsed.get(since, scope.policy ?? null, scope.account ?? null)?.['used']);
  }

  const insertPause = db.prepare('INSERT OR IGNORE INTO pauses (scope, reason, at) VALUES (?, ?, ?)');
  const selectPauses = db.prepare('SELECT scope, reason, at FROM pauses WHERE lifted_at IS NULL ORDER BY id');
  const liftPauses = db.prepare('UPDATE pauses SET lifted_at = ?, lifted_reason = ? WHERE lifted_at IS NULL');

  function unsettled(): ActionRecord[] {
    return selectUnsettled.all().map(actionOf);
  }

  function reserve(runId: number, proposal: Proposal, at: number, caps: readonly CapLimit[]): Reservation {
    return transaction(db, (): Reservation => {
      const claim = selectClaim.get(proposal.account, proposal.dlqId);
      if (claim !== undefined) {
        return { ok: false, guard: 'claim', reason: `sent before, as action ${Number(claim['id'])}` };
      }
      for (const cap of caps) {
        if (used(scopeOf(cap, proposal), at - cap.windowMs) >= cap.limit) {
          return {
            ok: false,
            guard: 'caps',
            reason: `${cap.scope}: ${cap.limit} in ${cap.windowMs / 3_600_000} h reached`,
          };
        }
      }
      const { lastInsertRowid } = insertIntent.run(
        runId,
        at,
        proposal.policy,
        proposal.account,
        proposal.action,
        proposal.dlqId,
        proposal.lineage,
        JSON.stringify(proposal),
      );
      insertUnsettled.run(lastInsertRowid);
      return { ok: true, intent: { id: Number(lastInsertRowid), at, runId, proposal } };
    });
  }

  return {
    instance,
    beginRun: (plan, at) => Number(insertRun.run(plan.policy, plan.account, plan.id, at).lastInsertRowid),
    finishRun(runId, result): void {
      updateRun.run(
        result.at,
        result.outcome,
        result.matched,
        result.acted,
        result.backlog,
        result.detail ?? null,
        runId,
      );
    },
    reserve,
    recordOutcome(intentId, { at, outcome, detail, newRunId }): void {
      transaction(db, () => {
        insertOutcome.run(intentId, at, outcome, detail ?? null, newRunId ?? null);
        if (!OPEN_OUTCOMES.has(outcome)) deleteUnsettled.run(intentId);
      });
    },
    intentsWithoutOutcome: () => unsettled().filter((action) => action.outcome === undefined),
    unsettled: (account) =>
      unsettled().filter((action) => action.proposal.account === account && action.outcome !== undefined),
    unknownOutcomes: () => unsettled().filter((action) => action.outcome === 'unknown').length,
    pause: ({ scope, reason, at }) => void insertPause.run(scope, reason, at),
    pauses: () =>
      selectPauses.all().map((row) => ({
        scope: String(row['scope']),
        reason: String(row['reason']),
        at: Number(row['at']),
      })),
    unpause: ({ at, reason }) => Number(liftPauses.run(at, reason).changes),
    isClaimed: (account, dlqId) => selectClaim.get(account, dlqId) !== undefined,
    actionOn: (account, dlqId) => selectClaim.get(account, dlqId)?.['action'] as Proposal['action'] | undefined,
    historyOf,
    lineageOfRun(account, workflowRunId): LineageHistory | undefined {
      const row = selectLineageOfRun.get(workflowRunId, account);
      return row === undefined ? undefined : historyOf(account, String(row['lineage']));
    },
    resumedFrom(account, workflowRunId): string | undefined {
      const run = selectResumed.get(workflowRunId, account)?.['run'];
      return typeof run === 'string' ? run : undefined;
    },
    used,
    recentActions: (limit) => selectRecent.all(limit).map(actionOf),
    lastRuns: () => selectLastRuns.all().map(runOf),
  };

  function historyOf(account: string, lineage: string): LineageHistory {
    const row = selectHistory.get(account, lineage);
    const lastAt = row?.['last_at'];
    return {
      lineage,
      attempts: Number(row?.['attempts'] ?? 0),
      ...(typeof lastAt === 'number' && { lastAttemptAt: lastAt }),
    };
  }
}

function scopeOf(cap: CapLimit, proposal: Proposal): { policy?: string; account?: string } {
  switch (cap.scope) {
    case 'policy':
      return { policy: proposal.policy };
    case 'account':
      return { account: proposal.account };
    case 'engine':
      return {};
  }
}

function intentOf(row: Row): Intent {
  return {
    id: Number(row['id']),
    at: Number(row['at']),
    runId: Number(row['run_id']),
    proposal: JSON.parse(String(row['proposal'])) as Proposal,
  };
}

function actionOf(row: Row): ActionRecord {
  return {
    ...intentOf(row),
    ...(row['outcome'] != null && {
      outcome: String(row['outcome']) as ActionOutcome,
      outcomeAt: Number(row['outcome_at']),
    }),
    ...(row['detail'] != null && { detail: String(row['detail']) }),
    ...(row['new_run_id'] != null && { newRunId: String(row['new_run_id']) }),
  };
}

function runOf(row: Row): RunRecord {
  return {
    id: Number(row['id']),
    policy: String(row['policy']),
    account: String(row['account']),
    at: Number(row['at']),
    ...(row['finished_at'] != null && { finishedAt: Number(row['finished_at']) }),
    ...(row['outcome'] != null && { outcome: String(row['outcome']) as RunOutcome }),
    matched: Number(row['matched']),
    acted: Number(row['acted']),
    backlog: Number(row['backlog']),
    ...(row['detail'] != null && { detail: String(row['detail']) }),
  };
}
