/** Store of the workflow DLQ aggregation on SQLite: one transaction per commit, one row per changed run. */
import {
  WorkflowDlqMemory,
  type WorkflowDlqCommit,
  type WorkflowDlqAggregationStore,
} from '#observe/aggregation/workflow-dlq-store.ts';
import type { SqliteTotals } from './sqlite-totals.ts';
import type { Store } from './sqlite.ts';

export function createWorkflowDlqStore({ db }: Store, totals: SqliteTotals): WorkflowDlqAggregationStore {
  const selectListed = db.prepare('SELECT listed_at FROM workflow_dlq_aggregation WHERE account = ?');
  const putListed = db.prepare('INSERT OR REPLACE INTO workflow_dlq_aggregation (account, listed_at) VALUES (?, ?)');
  const selectRuns = db.prepare(
    'SELECT dlq_id, workflow, created, run_id, missed_since, left_at FROM workflow_dlq_runs WHERE account = ?',
  );
  const putRun = db.prepare(
    'INSERT OR REPLACE INTO workflow_dlq_runs (account, dlq_id, workflow, created, run_id, missed_since, left_at) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const deleteRun = db.prepare('DELETE FROM workflow_dlq_runs WHERE account = ? AND dlq_id = ?');
  const memories = new Map<string, WorkflowDlqMemory>();

  function load(account: string): WorkflowDlqMemory {
    const memory = new WorkflowDlqMemory();
    const listedAt = selectListed.get(account)?.['listed_at'];
    const names = new Map<string, string>();
    for (const row of selectRuns.iterate(account)) {
      const dlqId = String(row['dlq_id']);
      const { run_id: runId, missed_since: missedSince, left_at: leftAt } = row;
      // All runs of a workflow share one string.
      const name = String(row['workflow']);
      const workflow = names.get(name) ?? name;
      names.set(workflow, workflow);
      memory.workflows.add(workflow);
      memory.runs.set(dlqId, {
        dlqId,
        workflow,
        createdAt: Number(row['created']),
        ...(runId !== null && { workflowRunId: String(runId) }),
        ...(missedSince !== null && { missedSince: Number(missedSince) }),
        ...(leftAt !== null && { leftAt: Number(leftAt) }),
      });
    }
    memory.listedAt = listedAt === undefined ? undefined : Number(listedAt);
    return memory;
  }

  function memory(account: string): WorkflowDlqMemory {
    let found = memories.get(account);
    if (found === undefined) memories.set(account, (found = load(account)));
    return found;
  }

  return {
    memory,
    commitWorkflowDlq(commit: WorkflowDlqCommit): void {
      const { account, listedAt } = commit;
      const remembered = memory(account);
      totals.commit(commit, () => {
        if (listedAt !== undefined) putListed.run(account, listedAt);
        for (const { dlqId, workflow, createdAt, workflowRunId, missedSince, leftAt } of commit.changed) {
          const rest = [workflowRunId, missedSince, leftAt].map((value) => value ?? null);
          putRun.run(account, dlqId, workflow, createdAt, ...rest);
        }
        for (const dlqId of commit.forgotten) deleteRun.run(account, dlqId);
      });
      remembered.remember(commit);
    },
  };
}
