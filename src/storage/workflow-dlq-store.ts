/** Store of the workflow DLQ aggregation: one transaction per commit, one row per changed run. */
import {
  WorkflowDlqMemory,
  type KnownRun,
  type WorkflowDlqCommit,
  type WorkflowDlqAggregationStore,
} from '#observe/aggregation/workflow-dlq-store.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { all, each, get, withoutNulls, run, type Nullable, type Work } from './database.ts';
import { loadedOnce } from './loaded-once.ts';
import { PART_ROWS, paged } from './paged.ts';
import type { StoredTotals } from './totals.ts';
import type { Store } from './sqlite.ts';

const SELECT_LISTED = 'SELECT listed_at FROM workflow_dlq_aggregation WHERE account = ?';
const PUT_LISTED = `INSERT INTO workflow_dlq_aggregation (account, listed_at) VALUES (?, ?)
  ON CONFLICT (account) DO UPDATE SET listed_at = excluded.listed_at`;
const SELECT_RUNS = `SELECT dlq_id AS "dlqId", workflow, created AS "createdAt", run_id AS "workflowRunId",
    missed_since AS "missedSince", left_at AS "leftAt" FROM workflow_dlq_runs
  WHERE account = ? AND dlq_id > ? ORDER BY dlq_id LIMIT ${PART_ROWS}`;
const PUT_RUN = `INSERT INTO workflow_dlq_runs (account, dlq_id, workflow, created, run_id, missed_since, left_at)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (account, dlq_id) DO UPDATE SET workflow = excluded.workflow, created = excluded.created,
  run_id = excluded.run_id, missed_since = excluded.missed_since, left_at = excluded.left_at`;

export function createWorkflowDlqStore(
  { database }: Pick<Store, 'database'>,
  totals: StoredTotals,
): WorkflowDlqAggregationStore {
  const memory = loadedOnce((account) => database.read(load(account)));
  const forget = `DELETE FROM workflow_dlq_runs WHERE account = ?1 AND dlq_id IN ${database.dialect.members('?2')}`;

  function* save({ account, listedAt, changed, forgotten }: WorkflowDlqCommit): Work<void> {
    if (listedAt !== undefined) yield* run(PUT_LISTED, account, listedAt);
    // The last change of a run counts.
    const runs = new Map(changed.map((one) => [one.dlqId, one]));
    yield* each(PUT_RUN, runs.values(), ({ dlqId, workflow, createdAt, workflowRunId, missedSince, leftAt }) => {
      return [account, dlqId, workflow, createdAt, workflowRunId, missedSince ?? null, leftAt ?? null];
    });
    if (forgotten.length > 0) yield* run(forget, account, JSON.stringify(forgotten));
  }

  return {
    memory,
    async commitWorkflowDlq(account, decide) {
      const known = await memory(account);
      return totals.commit(account, () => {
        const commit = decide(known);
        if (commit === undefined) return undefined;
        const { increments, histograms } = commit;
        // The store needs the time of a listing only for the runs of the account.
        const isEmpty = known.runs.size === 0 && commit.changed.length === 0 && increments.length === 0;
        if (isEmpty && known.listedAt !== undefined && commit.listedAt !== undefined) {
          known.remember(commit);
          return undefined;
        }
        return { increments, histograms, work: () => save(commit), committed: () => known.remember(commit) };
      });
    },
  };
}

function* load(account: string): Work<WorkflowDlqMemory> {
  const memory = new WorkflowDlqMemory();
  const listed = yield* get(SELECT_LISTED, account);
  memory.listedAt = listed === undefined ? undefined : Number(listed['listed_at']);
  // All runs of a workflow share one string.
  const names = new Map<string, string>();
  yield* paged<Nullable<KnownRun>>(
    (last) => all(SELECT_RUNS, account, last?.dlqId ?? ''),
    (row) => {
      const workflow = getOrAdd(names, row.workflow, () => row.workflow);
      memory.workflows.add(workflow);
      memory.runs.set(row.dlqId, { ...withoutNulls<KnownRun>(row), workflow });
    },
  );
  return memory;
}
