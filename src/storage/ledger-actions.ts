/** Read access to actions: work lists, histories and pages. */
import type { SQLOutputValue } from 'node:sqlite';
import type { Campaigns } from '#automate/ledger/campaigns.ts';
import type { History, LineageHistory } from '#automate/ledger/history.ts';
import type { ActionOutcome, ActionRecord, Intents } from '#automate/ledger/intents.ts';
import type { Reports } from '#automate/ledger/reports.ts';
import type { Raises, Usage } from '#automate/ledger/usage.ts';
import type { Journal } from './ledger-journal.ts';
import { ACTIONS, actionOf } from './ledger-rows.ts';

/** Queries by name. They must stay fast with a million intents. */
export const ACTION_QUERIES = {
  unsettled: `${ACTIONS} WHERE i.id IN (SELECT intent_id FROM unsettled) ORDER BY i.id`,
  // CROSS JOIN: starts at the few unsettled intents instead of scanning all intents by time.
  oldestUnsettled: 'SELECT min(i.at) AS at FROM unsettled u CROSS JOIN intents i ON i.id = u.intent_id',
  lineageOfRun:
    'SELECT i.lineage FROM outcomes o JOIN intents i ON i.id = o.intent_id WHERE o.new_run_id = ? AND i.account = ? ORDER BY o.id DESC LIMIT 1',
  resumesOf: `SELECT target, json_extract(proposal, '$.failedAt') AS failed_at FROM intents
    WHERE account = ? AND lineage = ? AND active = 1 AND at > ? AND action = 'workflow-dlq.resume'`,
  resumedFrom:
    'SELECT i.subject FROM outcomes o JOIN intents i ON i.id = o.intent_id WHERE o.new_run_id = ? AND i.account = ? ORDER BY o.id DESC LIMIT 1',
  history:
    'SELECT count(*) AS attempts, max(at) AS last_at FROM intents WHERE account = ? AND lineage = ? AND active = 1',
  lastIntent: 'SELECT max(at) AS at FROM intents WHERE policy = ?',
  lastUnknown: `SELECT max(at) AS at FROM intents i WHERE policy = ? AND at > ? AND
    EXISTS (SELECT 1 FROM outcomes WHERE intent_id = i.id AND outcome IN ('unknown', 'unresolvable'))`,
  // A run without configured retries has the service's default number.
  resumedTries: `SELECT coalesce(sum(1 + coalesce(json_extract(proposal, '$.retries'), 3)), 0) AS tries FROM intents
    WHERE at > ? AND account = ? AND action = 'workflow-dlq.resume' AND active = 1`,
  raises: `${ACTIONS} WHERE i.action = 'budget.raise' AND i.account = ? AND i.at > ? AND i.active = 1 ORDER BY i.at, i.id`,
  step: `${ACTIONS} WHERE i.campaign = ? AND i.step = ? ORDER BY i.id`,
  recent: `${ACTIONS} ORDER BY i.id DESC LIMIT ?`,
  ofPolicy: `${ACTIONS} WHERE i.policy = ? ORDER BY i.id`,
  action: `${ACTIONS} WHERE i.id = ?`,
  claim: `${ACTIONS} WHERE i.account = ? AND i.target = ? AND i.active = 1`,
  on: `${ACTIONS} WHERE i.id IN (
      SELECT id FROM intents WHERE target = ?1 UNION SELECT id FROM intents WHERE subject = ?1
      UNION SELECT intent_id FROM outcomes WHERE new_run_id = ?1
    ) AND (?2 IS NULL OR i.account = ?2) ORDER BY i.id DESC`,
} as const;

type ActionReads = Pick<Intents, 'intentsWithoutOutcome' | 'unsettled' | 'oldestUnsettledAt'> &
  Pick<History, 'lineageOfRun' | 'resumesOf' | 'historyOf' | 'resumedFrom' | 'actionsOn'> &
  Pick<Usage, 'lastIntentAt' | 'lastUnknownAt' | 'resumedTries'> &
  Pick<Raises, 'raises'> &
  Pick<Campaigns, 'stepActs'> &
  Pick<Reports, 'unknownOutcomes' | 'recentActions' | 'actionsOf' | 'action'> & {
    /** Action with the active claim on an entry. */
    claimOf(account: string, dlqId: string): ActionRecord | undefined;
  };

export function createActionReads({ db }: Journal): ActionReads {
  const prepare = (name: keyof typeof ACTION_QUERIES) => db.prepare(ACTION_QUERIES[name]);
  const selectUnsettled = prepare('unsettled');
  const selectOldest = prepare('oldestUnsettled');
  const selectLineage = prepare('lineageOfRun');
  const selectResumes = prepare('resumesOf');
  const selectResumed = prepare('resumedFrom');
  const selectHistory = prepare('history');
  const selectLastIntent = prepare('lastIntent');
  const selectLastUnknown = prepare('lastUnknown');
  const selectTries = prepare('resumedTries');
  const selectRaises = prepare('raises');
  const selectStep = prepare('step');
  const selectRecent = prepare('recent');
  const selectOfPolicy = prepare('ofPolicy');
  const selectAction = prepare('action');
  const selectClaim = prepare('claim');
  const selectOn = prepare('on');

  const unsettled = (): ActionRecord[] => selectUnsettled.all().map(actionOf);

  function historyOf(account: string, lineage: string): LineageHistory {
    const row = selectHistory.get(account, lineage);
    const lastAttemptAt = numberOf(row?.['last_at']);
    return {
      lineage,
      attempts: Number(row?.['attempts'] ?? 0),
      ...(lastAttemptAt !== undefined && { lastAttemptAt }),
    };
  }

  return {
    intentsWithoutOutcome: () => unsettled().filter((action) => action.outcome === undefined),
    unsettled: (account) =>
      unsettled().filter((action) => action.proposal.account === account && action.outcome !== undefined),
    unknownOutcomes(): ReadonlyMap<string, number> {
      const counts = new Map<string, number>();
      for (const { outcome, proposal } of unsettled()) {
        if (outcome === 'unknown') counts.set(proposal.policy, (counts.get(proposal.policy) ?? 0) + 1);
      }
      return counts;
    },
    oldestUnsettledAt: () => numberOf(selectOldest.get()?.['at']),
    historyOf,
    resumesOf: (account, lineage, since) =>
      selectResumes
        .all(account, lineage, since)
        .map((row) => ({ dlqId: String(row['target']), failedAt: Number(row['failed_at']) })),
    lineageOfRun(account, workflowRunId): LineageHistory | undefined {
      const lineage = selectLineage.get(workflowRunId, account)?.['lineage'];
      return typeof lineage === 'string' ? historyOf(account, lineage) : undefined;
    },
    resumedFrom(account, workflowRunId): string | undefined {
      const run = selectResumed.get(workflowRunId, account)?.['subject'];
      return typeof run === 'string' ? run : undefined;
    },
    lastIntentAt: (policy) => numberOf(selectLastIntent.get(policy)?.['at']),
    lastUnknownAt: (policy, since) => numberOf(selectLastUnknown.get(policy, since)?.['at']),
    resumedTries: (account, since) => Number(selectTries.get(since, account)?.['tries']),
    raises: (account, since) => selectRaises.all(account, since).map(actionOf).flatMap(raiseOf),
    stepActs: (campaign, step) => selectStep.all(campaign, step).map(actionOf),
    recentActions: (limit) => selectRecent.all(limit).map(actionOf),
    actionsOf: (policy) => selectOfPolicy.all(policy).map(actionOf),
    action(id): ActionRecord | undefined {
      const row = selectAction.get(id);
      return row === undefined ? undefined : actionOf(row);
    },
    claimOf(account, dlqId): ActionRecord | undefined {
      const row = selectClaim.get(account, dlqId);
      return row === undefined ? undefined : actionOf(row);
    },
    actionsOn: (account, id) => selectOn.all(id, account ?? null).map(actionOf),
  };
}

function numberOf(value: SQLOutputValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

interface Raise {
  readonly at: number;
  readonly fromUsd: number;
  readonly toUsd: number;
  readonly outcome?: ActionOutcome;
}

function raiseOf({ at, proposal, outcome }: ActionRecord): readonly Raise[] {
  if (proposal.action !== 'budget.raise') return [];
  const { fromUsd, toUsd } = proposal;
  return [{ at, fromUsd, toUsd, ...(outcome !== undefined && { outcome }) }];
}
