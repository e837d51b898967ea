/**
 * Policy state between runs: matches, versions and conditions of a policy, and the time since when an account is
 * observed.
 */
import type { PolicyMemory } from '#automate/ledger/runs.ts';
import type { Raises } from '#automate/ledger/usage.ts';
import type { Journal } from './ledger-journal.ts';

type PolicyState = PolicyMemory & Pick<Raises, 'noteAccount' | 'accountSince'>;

export function createPolicyState({ db, change }: Journal): PolicyState {
  const selectMatch = db.prepare('SELECT at FROM policy_matches WHERE policy = ? AND dlq_id = ?');
  const insertMatch = db.prepare('INSERT OR IGNORE INTO policy_matches (policy, dlq_id, at) VALUES (?, ?, ?)');
  const deleteOthers = db.prepare(
    'DELETE FROM policy_matches WHERE policy = ? AND dlq_id NOT IN (SELECT value FROM json_each(?))',
  );
  const selectVersion = db.prepare('SELECT scope, audit_runs FROM policy_versions WHERE policy = ?');
  const putVersion = db.prepare('INSERT OR REPLACE INTO policy_versions (policy, scope, audit_runs) VALUES (?, ?, ?)');
  const selectCondition = db.prepare('SELECT since, last, readings FROM policy_conditions WHERE policy = ?');
  const putCondition = db.prepare(
    'INSERT OR REPLACE INTO policy_conditions (policy, since, last, readings) VALUES (?, ?, ?, ?)',
  );
  const deleteCondition = db.prepare('DELETE FROM policy_conditions WHERE policy = ?');
  const selectSince = db.prepare('SELECT since FROM watched_accounts WHERE account = ?');
  const putAccount = db.prepare(
    `INSERT INTO watched_accounts (account, id, since) VALUES (?, ?, ?)
     ON CONFLICT (account) DO UPDATE SET id = excluded.id, since = excluded.since WHERE id <> excluded.id`,
  );

  return {
    firstMatchedAt(policy, dlqId): number | undefined {
      const row = selectMatch.get(policy, dlqId);
      return row === undefined ? undefined : Number(row['at']);
    },
    noteMatches: (policy, dlqIds, at) =>
      change(() => {
        deleteOthers.run(policy, JSON.stringify(dlqIds));
        for (const dlqId of dlqIds) insertMatch.run(policy, dlqId, at);
      }),
    policyVersion(policy) {
      const row = selectVersion.get(policy);
      if (row === undefined) return undefined;
      const scope = JSON.parse(String(row['scope'])) as Record<string, unknown>;
      return { scope, auditRuns: Number(row['audit_runs']) };
    },
    savePolicyVersion: (policy, { scope, auditRuns }) => void putVersion.run(policy, JSON.stringify(scope), auditRuns),
    condition(policy) {
      const row = selectCondition.get(policy);
      if (row === undefined) return undefined;
      return { since: Number(row['since']), last: Number(row['last']), readings: Number(row['readings']) };
    },
    saveCondition(policy, condition): void {
      if (condition === undefined) deleteCondition.run(policy);
      else putCondition.run(policy, condition.since, condition.last, condition.readings);
    },
    noteAccount: (account, id, at) => void putAccount.run(account, id, at),
    accountSince(account) {
      const since = selectSince.get(account)?.['since'];
      return since === undefined ? undefined : Number(since);
    },
  };
}
