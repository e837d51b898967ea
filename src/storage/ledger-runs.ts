/** Policy runs. */
import type { Reports } from '#automate/ledger/reports.ts';
import type { Runs } from '#automate/ledger/runs.ts';
import type { Journal } from './ledger-journal.ts';
import { runOf } from './ledger-rows.ts';

/** Query that finds the policies by index seeks instead of reading every run. */
export const LAST_RUNS = `
  WITH RECURSIVE names (policy) AS (
    SELECT min(policy) FROM runs
    UNION ALL SELECT (SELECT min(policy) FROM runs WHERE policy > names.policy) FROM names WHERE policy IS NOT NULL
  )
  SELECT r.* FROM names JOIN runs r ON r.id = (SELECT max(id) FROM runs WHERE policy = names.policy) ORDER BY r.policy`;

export const STOPPED_BY = 'SELECT DISTINCT policy FROM runs WHERE stopped_by = ? AND at > ?';

export function createRuns({ db, change }: Journal): Runs & Pick<Reports, 'lastRuns' | 'runs'> {
  const insert = db.prepare('INSERT INTO runs (policy, account, plan_id, at, cause) VALUES (?, ?, ?, ?, ?)');
  const update = db.prepare(
    'UPDATE runs SET finished_at = ?, outcome = ?, matched = ?, acted = ?, backlog = ?, detail = ?, stopped_by = ? WHERE id = ? RETURNING policy, account',
  );
  const selectLast = db.prepare(LAST_RUNS);
  const selectStopped = db.prepare(STOPPED_BY);
  const selectNewest = db.prepare('SELECT * FROM runs ORDER BY id DESC LIMIT ?');
  const selectOfPolicy = db.prepare('SELECT * FROM runs WHERE policy = ? ORDER BY id DESC LIMIT ?');

  return {
    beginRun: ({ policy, account, id: plan, hash, trigger, effectiveMode, chosen, manual }, at) =>
      change((tell) => {
        const { lastInsertRowid } = insert.run(policy, account, plan, at, JSON.stringify(trigger));
        const run = Number(lastInsertRowid);
        tell({
          type: 'run.begun',
          policy,
          account,
          run,
          plan,
          planHash: hash,
          mode: effectiveMode,
          // Cause of the run; for an alert, its name and the identity of its firing.
          trigger: trigger.kind,
          ...('name' in trigger && { alert: trigger.name }),
          ...('key' in trigger && { key: trigger.key }),
          chosen: chosen.length,
          ...(manual !== undefined && { origin: 'manual', by: manual.by, reason: manual.reason }),
        });
        return run;
      }),
    finishRun: (run, { at, outcome, matched, acted, backlog, detail, stoppedBy }) =>
      change((tell) => {
        const row = update.get(at, outcome, matched, acted, backlog, detail ?? null, stoppedBy ?? null, run);
        const [policy, account] = [String(row?.['policy']), String(row?.['account'])];
        tell({ type: 'run.finished', policy, account, run, outcome, matched, acted, backlog });
      }),
    stoppedBy: (guard, since) => selectStopped.all(guard, since).map((row) => String(row['policy'])),
    lastRuns: () => selectLast.all().map(runOf),
    runs: ({ policy, limit }) =>
      (policy === undefined ? selectNewest.all(limit) : selectOfPolicy.all(policy, limit)).map(runOf),
  };
}
