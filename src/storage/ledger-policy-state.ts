/** State of policies between their runs: matches, versions and conditions. */
import type { PolicyMemory, AgreeingReadings } from '#automate/ledger/runs.ts';
import { all, each, get, run } from './database.ts';
import type { Journal } from './ledger-journal.ts';

const MATCHES = 'SELECT dlq_id, at FROM policy_matches WHERE policy = ?';
const ADD_MATCH = 'INSERT INTO policy_matches (policy, dlq_id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING';
const PUT_VERSION = `INSERT INTO policy_versions (policy, scope, audit_runs) VALUES (?, ?, ?)
  ON CONFLICT (policy) DO UPDATE SET scope = excluded.scope, audit_runs = excluded.audit_runs`;
const CONDITION = 'SELECT since, last, readings FROM policy_conditions WHERE policy = ?';
const PUT_CONDITION = `INSERT INTO policy_conditions (policy, since, last, readings) VALUES (?, ?, ?, ?)
  ON CONFLICT (policy) DO UPDATE SET since = excluded.since, last = excluded.last, readings = excluded.readings`;
const DELETE_CONDITION = 'DELETE FROM policy_conditions WHERE policy = ?';

export function createPolicyState({ database }: Journal): PolicyMemory {
  const { members } = database.dialect;
  const versions = `SELECT policy, scope, audit_runs FROM policy_versions WHERE policy IN ${members('?1')}`;
  const deleteOthers = `DELETE FROM policy_matches WHERE policy = ?1 AND dlq_id NOT IN ${members('?2')}`;

  return {
    async firstMatches(policy) {
      const rows = await database.read(all<{ dlq_id: string; at: number }>(MATCHES, policy));
      return new Map(rows.map(({ dlq_id: dlqId, at }) => [dlqId, at]));
    },
    noteMatches: async ({ name: policy, account }, dlqIds, at) =>
      database.transaction(function* () {
        yield* run(deleteOthers, policy, JSON.stringify(dlqIds));
        yield* each(ADD_MATCH, dlqIds, (dlqId) => [policy, dlqId, at]);
      }, account),
    async policyVersions(policies) {
      const rows = await database.read(all(versions, JSON.stringify(policies)));
      return new Map(
        rows.map((row) => {
          const scope = JSON.parse(String(row['scope'])) as Record<string, unknown>;
          return [String(row['policy']), { scope, auditRuns: Number(row['audit_runs']) }];
        }),
      );
    },
    async savePolicyVersion({ name, account }, { scope, auditRuns }) {
      await database.transaction(run(PUT_VERSION, name, JSON.stringify(scope), auditRuns), account);
    },
    condition: (policy) => database.read(get<AgreeingReadings>(CONDITION, policy)),
    async saveCondition({ name, account }, condition) {
      if (condition === undefined) await database.transaction(run(DELETE_CONDITION, name), account);
      else {
        const { since, last, readings } = condition;
        await database.transaction(run(PUT_CONDITION, name, since, last, readings), account);
      }
    },
  };
}
