/** Policy runs. */
import type { Reports } from '#automate/ledger/reports.ts';
import type { RunEnd, Runs } from '#automate/ledger/runs.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import { all, get, type Dialect, type Value } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { RUN_COLUMNS, runOf, type RunRow } from './ledger-rows.ts';

/** Query that finds the policies by index seeks instead of reading every run. */
export const LAST_RUNS = `
  WITH RECURSIVE names (name) AS (
    SELECT min(policy) FROM runs
    UNION ALL SELECT (SELECT min(policy) FROM runs WHERE policy > name) FROM names WHERE name IS NOT NULL
  )
  SELECT ${RUN_COLUMNS} FROM names JOIN runs ON id = (SELECT max(id) FROM runs WHERE policy = name) ORDER BY policy`;

export const LAST_STOPS =
  'SELECT policy, max(at) AS at FROM runs WHERE stopped_by = ? AND at > ? GROUP BY policy ORDER BY policy';

/** Query that reads only the newest `?2` runs of each policy in `?1`. */
export const recentRunsQuery = ({ wanted }: Dialect): string => `SELECT ${RUN_COLUMNS}
  FROM (SELECT wanted.value AS name FROM ${wanted('?1')}) AS names CROSS JOIN runs
  WHERE policy = name AND id >= coalesce(
    (SELECT q.id FROM runs q WHERE q.policy = name ORDER BY q.id DESC LIMIT 1 OFFSET CAST(?2 AS BIGINT) - 1), 0)
  ORDER BY id DESC`;

const NEWEST = `SELECT ${RUN_COLUMNS} FROM runs ORDER BY id DESC LIMIT ?`;
const NEWEST_OF_POLICY = `SELECT ${RUN_COLUMNS} FROM runs WHERE policy = ? ORDER BY id DESC LIMIT ?`;
const INSERT = 'INSERT INTO runs (policy, account, plan_id, at, cause) VALUES (?, ?, ?, ?, ?) RETURNING id';
const RECORD = `INSERT INTO runs
    (policy, account, at, cause, finished_at, outcome, matched, acted, backlog, detail, stopped_by, plan_id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`;
const UPDATE = `UPDATE runs SET finished_at = ?, outcome = ?, matched = ?, acted = ?, backlog = ?, detail = ?, stopped_by = ?,
    plan_id = coalesce(?, plan_id)
  WHERE id = ? RETURNING policy, account`;

export function createRuns({ database, write }: Journal): Runs & Pick<Reports, 'lastRuns' | 'recentRuns' | 'runs'> {
  const recent = recentRunsQuery(database.dialect);
  return {
    beginRun: async (plan, at) =>
      write(function* (tell) {
        const { policy, account, id, trigger } = plan;
        const run = Number((yield* get(INSERT, policy, account, id ?? null, at, JSON.stringify(trigger)))?.['id']);
        yield* tell({ type: 'run.begun', run, ...beginning(plan) });
        return run;
      }, plan.account),
    finishRun: async (run, account, end) =>
      write(function* (tell) {
        const policy = String((yield* get(UPDATE, ...columnsOf(end), run))?.['policy']);
        yield* tell({ type: 'run.finished', policy, account, run, ...result(end) });
      }, account),
    recordRun: async (plan, at, end) =>
      write(function* (tell) {
        const { policy, account, id, trigger } = plan;
        const columns = columnsOf({ ...end, planId: end.planId ?? id });
        const run = Number((yield* get(RECORD, policy, account, at, JSON.stringify(trigger), ...columns))?.['id']);
        yield* tell({ type: 'run.finished', run, ...beginning(plan), ...result(end) });
      }, plan.account),
    async lastStops(guard, since) {
      const rows = await database.read(all<{ policy: string; at: number }>(LAST_STOPS, guard, since));
      return new Map(rows.map(({ policy, at }) => [policy, at]));
    },
    recentRuns: async (policies, limit) =>
      (await database.read(all<RunRow>(recent, JSON.stringify(policies), limit))).map(runOf),
    lastRuns: async () => (await database.read(all<RunRow>(LAST_RUNS))).map(runOf),
    async runs({ policy, limit }) {
      const found = policy === undefined ? all<RunRow>(NEWEST, limit) : all<RunRow>(NEWEST_OF_POLICY, policy, limit);
      return (await database.read(found)).map(runOf);
    },
  };
}

/** Fields of the audit log about the beginning of a run. */
function beginning({ policy, account, id, hash, trigger, effectiveMode, chosen, manual }: Plan) {
  return {
    policy,
    account,
    plan: id,
    planHash: hash,
    mode: effectiveMode,
    // Cause of the run; for an alert, its name and the identity of its firing.
    trigger: trigger.kind,
    alert: 'name' in trigger ? trigger.name : undefined,
    key: 'key' in trigger ? trigger.key : undefined,
    chosen: chosen.length,
    origin: manual && 'manual',
    by: manual?.by,
    reason: manual?.reason,
  };
}

/** Fields of the audit log about the end of a run. */
function result({ outcome, acted, matched, backlog }: RunEnd) {
  return { outcome, acted, matched, backlog };
}

/** Values of a run that has ended, in the order of `UPDATE` and `RECORD`. */
function columnsOf({ at, planId, outcome, matched, acted, backlog, detail, stoppedBy }: RunEnd): readonly Value[] {
  const counts = [matched ?? null, acted, backlog ?? null];
  return [at, outcome, ...counts, detail ?? null, stoppedBy ?? null, planId ?? null];
}
