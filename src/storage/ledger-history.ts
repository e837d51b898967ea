/** History of entries, runs and lineages. Each query serves a whole listing, and none runs once for each entry. */
import type { CampaignStep } from '#foundation/domain/campaign.ts';
import type { ClaimKind } from '#foundation/domain/plan.ts';
import type { History, LineageHistory, Resume } from '#automate/ledger/history.ts';
import { all, type Dialect, type Row, type Work } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { ACTIONS, actionRows } from './ledger-rows.ts';

/** Actions of campaigns that are read at once: 100,000 would take half a second, and block everything else. */
const MOST_STEP_ACTIONS = 5_000;

/** Newest actions of campaigns, in the order of their index. */
function newestOf(campaigns: string): string {
  return `(SELECT id, campaign, step FROM intents WHERE campaign IN ${campaigns}
    ORDER BY campaign DESC, step DESC LIMIT ${MOST_STEP_ACTIONS})`;
}

/**
 * Returns the queries by name; `?2` is a JSON array of ids. They must stay fast with a million intents. SQLite does not
 * reorder a `CROSS JOIN`: it looks up each id.
 */
export const historyQueries = ({ members, wanted, jsonNumber }: Dialect) => ({
  claims: `SELECT target, action FROM ${wanted('?2')} CROSS JOIN intents
    WHERE account = ?1 AND active = 1 AND target = wanted.value`,
  operationClaims: `SELECT target, action FROM ${wanted('?2')} CROSS JOIN operation_claims
    WHERE account = ?1 AND target = wanted.value`,
  // A run that got its id from a resume counts before an entry of it that was acted on. A condition on the lineage would
  // make SQLite walk all lineages of the account.
  lineagesOfRuns: `SELECT subject AS run_id, lineage FROM ${wanted('?2')} CROSS JOIN intents
      WHERE account = ?1 AND subject = wanted.value
    UNION ALL SELECT o.new_run_id, i.lineage FROM ${wanted('?2')} CROSS JOIN outcomes o JOIN intents i ON i.id = o.intent_id
      WHERE i.account = ?1 AND o.new_run_id = wanted.value`,
  resumedRuns: `SELECT o.new_run_id, i.subject FROM outcomes o JOIN intents i ON i.id = o.intent_id
    WHERE i.account = ?1 AND o.new_run_id IN ${members('?2')} ORDER BY o.id`,
  histories: `SELECT lineage, count(*) AS known, max(at) AS last_at, max(${jsonNumber('proposal', 'attempt')}) AS attempt
    FROM ${wanted('?2')} CROSS JOIN intents
    WHERE account = ?1 AND lineage = wanted.value AND active = 1 GROUP BY lineage`,
  resumes: `SELECT lineage, target AS "dlqId", at, ${jsonNumber('proposal', 'failedAt')} AS "failedAt" FROM intents
    WHERE account = ?1 AND lineage IN ${members('?2')} AND active = 1 AND action IN ('workflow-dlq.resume', 'message-dlq.republish')`,
  steps: `SELECT n.campaign, n.step, min(i.at) AS at, count(*) AS sent
    FROM ${newestOf(members('?2'))} n JOIN intents i ON i.id = n.id
    WHERE i.account = ?1 GROUP BY n.campaign, n.step ORDER BY min(i.at), n.campaign, n.step`,
  outcomesOfSteps: `SELECT n.campaign, n.step, o.at / 60000 * 60000 AS at, o.outcome, count(*) AS count
    FROM ${newestOf(members('?2'))} n JOIN intents i ON i.id = n.id JOIN outcomes o ON o.intent_id = i.id
    WHERE i.account = ?1 AND o.outcome IN ('verified', 'failed_again')
    GROUP BY n.campaign, n.step, o.at / 60000 * 60000, o.outcome ORDER BY 3, 4`,
  actionsOn: `${ACTIONS} WHERE i.id IN (
      SELECT id FROM intents WHERE target IN ${members('?2')} UNION SELECT id FROM intents WHERE subject IN ${members('?2')}
      UNION SELECT intent_id FROM outcomes WHERE new_run_id IN ${members('?2')}
    ) AND (CAST(?1 AS TEXT) IS NULL OR i.account = ?1) ORDER BY i.id DESC`,
});

/** Number of ids of one query. The texts of a whole listing would be large, and live long. */
const PART_IDS = 1_000;

function* partsOf(ids: Iterable<string>): Generator<readonly string[]> {
  let part: string[] = [];
  for (const id of ids) {
    if (part.push(id) < PART_IDS) continue;
    yield part;
    part = [];
  }
  yield part;
}

export function createHistory({ database }: Journal): History {
  const queries = historyQueries(database.dialect);

  /** Reads rows of ids. A join has rows for each repetition of an id. */
  function* rowsOf<R = Row>(name: keyof typeof queries, account: string, ids: readonly string[]): Work<readonly R[]> {
    return ids.length === 0 ? [] : yield* all<R>(queries[name], account, JSON.stringify(ids));
  }

  function* claims(account: string, targets: Iterable<string>): Work<ReadonlyMap<string, ClaimKind>> {
    const found = new Map<string, ClaimKind>();
    for (const ids of partsOf(targets)) {
      const byOperators = yield* rowsOf('operationClaims', account, ids);
      const byIntents = yield* rowsOf('claims', account, ids);
      for (const row of [...byOperators, ...byIntents]) found.set(String(row['target']), row['action'] as ClaimKind);
    }
    return found;
  }

  function* histories(account: string, lineages: Iterable<string>): Work<ReadonlyMap<string, LineageHistory>> {
    const found = new Map<string, LineageHistory>();
    for (const ids of partsOf(lineages)) {
      // An intent is counted once for each time that its lineage is wanted.
      for (const row of yield* rowsOf('histories', account, [...new Set(ids)]))
        found.set(String(row['lineage']), historyOf(row));
    }
    return found;
  }

  function* lineagesOfRuns(account: string, runIds: Iterable<string>): Work<ReadonlyMap<string, LineageHistory>> {
    const found = new Map<string, LineageHistory>();
    for (const ids of partsOf(runIds)) {
      const rows = yield* rowsOf('lineagesOfRuns', account, ids);
      const lineages = new Map<string, string>();
      for (const row of rows) if (row['lineage'] !== null) lineages.set(String(row['run_id']), String(row['lineage']));
      const known = yield* histories(account, lineages.values());
      for (const [run, lineage] of lineages) found.set(run, known.get(lineage) ?? { lineage, attempts: 0 });
    }
    return found;
  }

  function* stepsOf(account: string, campaigns: readonly string[]): Work<readonly CampaignStep[]> {
    const steps = yield* rowsOf<Omit<CampaignStep, 'outcomes'>>('steps', account, campaigns);
    const outcomes = yield* rowsOf<CampaignStep['outcomes'][number] & Pick<CampaignStep, 'campaign' | 'step'>>(
      'outcomesOfSteps',
      account,
      campaigns,
    );
    const byStep = Map.groupBy(outcomes, ({ campaign, step }) => `${campaign} ${step}`);
    // The last step in the order of the index may lack actions of a cut reading.
    const isCut = steps.reduce((sum, { sent }) => sum + sent, 0) >= MOST_STEP_ACTIONS;
    const [last] = steps.toSorted((a, b) =>
      a.campaign === b.campaign ? a.step - b.step : a.campaign < b.campaign ? -1 : 1,
    );
    const whole = isCut ? steps.filter((row) => row !== last) : steps;
    return whole.map((row) => ({
      ...row,
      outcomes: (byStep.get(`${row.campaign} ${row.step}`) ?? []).map(({ campaign: _c, step: _s, ...rest }) => rest),
    }));
  }

  return {
    claims: async (account, targets) => database.read(claims(account, targets)),
    histories: async (account, lineages) => database.read(histories(account, lineages)),
    lineagesOfRuns: async (account, runIds) => database.read(lineagesOfRuns(account, runIds)),
    stepsOf: (account, campaigns) => database.read(stepsOf(account, campaigns)),
    async resumes(account, lineages) {
      type Row = Resume & { readonly lineage: string };
      return Map.groupBy(await database.read(rowsOf<Row>('resumes', account, [...lineages])), ({ lineage }) => lineage);
    },
    async resumedFrom(account, runIds) {
      const rows = await database.read(rowsOf('resumedRuns', account, [...runIds]));
      return new Map(rows.map((row) => [String(row['new_run_id']), String(row['subject'])]));
    },
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
