/**
 * Projects the workflow DLQ to gauges: counts by workflow and cause, never single runs. Ages are computed at the time
 * of the reading, so that all values of a batch are of one moment. Runs are grouped before the export, because there
 * may be a hundred thousand.
 */
import { isStamp } from '#foundation/domain/lineage.ts';
import { failureReason } from '#foundation/domain/reason.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { workflowLabel } from '#foundation/domain/workflow-label.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { memoByText } from '#foundation/platform/memo.ts';
import type { Project } from './resource-gauges.ts';
import { seconds } from './values.ts';

const HOUR_MS = 3_600_000;

/** Disjoint age ranges. Each is exported even if it is empty, so that their sum always exists. */
const AGES: readonly (readonly [name: string, belowMs: number])[] = [
  ['below_1h', HOUR_MS],
  ['1h_to_6h', 6 * HOUR_MS],
  ['6h_to_1d', 24 * HOUR_MS],
  ['1d_to_7d', 168 * HOUR_MS],
  ['above_7d', Infinity],
];

const EXPIRING: readonly (readonly [within: string, ms: number])[] = [
  ['24h', 24 * HOUR_MS],
  ['72h', 72 * HOUR_MS],
];

const FAILURE_FUNCTION_STATES = new Set([
  'CALLBACK_INPROGRESS',
  'CALLBACK_SUCCESS',
  'CALLBACK_FAIL',
  'CALLBACK_CANCELED',
]);

const labelOfUrl = memoByText(2_000, workflowLabel);

/** Aggregates of the runs of one workflow. */
interface Workflow {
  readonly reasons: Map<string, number>;
  readonly states: Map<string, number>;
  readonly expiring: number[];
  oldest: number;
  newest: number;
}

/** Aggregates of all runs. */
interface Counts {
  readonly ages: Map<string, number>;
  readonly codes: Map<string, number>;
  readonly keys: Map<string, number>;
  readonly labels: Map<string, number>;
  readonly workflows: Map<string, Workflow>;
}

type Settings = Parameters<Project<'workflowDlq'>>[2];

/** Number of rows between two yields. */
const STEP_ROWS = 256;
/** Cost of a sample in rows: its labels are cleaned and need a place. */
const ROWS_A_SAMPLE = 8;

export const projectWorkflowDlq: Project<'workflowDlq'> = function* ({ account, rows, at, dropped }, put, settings) {
  const counts: Counts = {
    ages: new Map(AGES.map(([age]) => [age, 0])),
    codes: new Map(),
    keys: new Map(),
    labels: new Map(),
    workflows: new Map(),
  };
  for (let from = 0; from < rows.length; from += STEP_ROWS) {
    const step = rows.slice(from, from + STEP_ROWS);
    for (const run of step) countRun(run, counts, at, settings);
    yield STEP_ROWS;
  }
  // Invalid rows are runs, too: without them, the sums would be wrong.
  put('msgsvc_workflow_dlq_aged_runs', { account, age: 'unknown' }, dropped);
  if (dropped > 0) put('msgsvc_workflow_dlq_runs', { account, workflow: 'unknown', reason: 'unknown' }, dropped);
  for (const [age, runs] of counts.ages) put('msgsvc_workflow_dlq_aged_runs', { account, age }, runs);
  for (const [code, runs] of counts.codes) put('msgsvc_workflow_dlq_status_runs', { account, code }, runs);
  for (const [key, runs] of byNumber(counts.keys)) {
    put('msgsvc_workflow_dlq_flow_control_runs', { account, flow_control_key: key }, runs);
    yield ROWS_A_SAMPLE;
  }
  for (const [label, runs] of byNumber(counts.labels)) {
    put('msgsvc_workflow_dlq_labeled_runs', { account, label }, runs);
    yield ROWS_A_SAMPLE;
  }
  for (const [workflow, { reasons, states, oldest, newest, expiring }] of counts.workflows) {
    for (const [reason, runs] of reasons) put('msgsvc_workflow_dlq_runs', { account, workflow, reason }, runs);
    for (const [state, runs] of states) {
      put('msgsvc_workflow_dlq_failure_function_runs', { account, workflow, state }, runs);
    }
    put('msgsvc_workflow_dlq_oldest_run_timestamp_seconds', { account, workflow }, seconds(oldest));
    put('msgsvc_workflow_dlq_newest_run_timestamp_seconds', { account, workflow }, seconds(newest));
    for (const [index, [within]] of (settings.dlqRetentionMs === undefined ? [] : EXPIRING).entries()) {
      put('msgsvc_workflow_dlq_expiring_runs', { account, workflow, within }, expiring[index]);
    }
    yield ROWS_A_SAMPLE * (reasons.size + states.size + 2 + expiring.length);
  }
};

function countRun(run: WorkflowDlqEntry, counts: Counts, at: number, settings: Settings): void {
  const { dlqRetentionMs, workflowDlqLabels } = settings;
  const { ages, codes, keys, labels, workflows } = counts;
  count(ages, AGES.find(([, belowMs]) => at - run.createdAt < belowMs)![0]);
  count(codes, run.responseStatus === undefined ? 'none' : String(run.responseStatus));
  if (run.flowControlKey !== undefined) count(keys, run.flowControlKey);
  if (workflowDlqLabels) {
    for (const label of new Set(run.labels)) if (!isStamp(label)) count(labels, label);
  }
  const workflow = getOrAdd(workflows, labelOfUrl(run.workflowUrl), newWorkflow);
  count(workflow.reasons, failureReason(run.responseStatus, run.responseText));
  count(workflow.states, stateOf(run));
  workflow.oldest = Math.min(workflow.oldest, run.createdAt);
  workflow.newest = Math.max(workflow.newest, run.createdAt);
  if (dlqRetentionMs === undefined) return;
  const leftMs = run.createdAt + dlqRetentionMs - at;
  for (const [index, [, ms]] of EXPIRING.entries()) if (leftMs <= ms) workflow.expiring[index]! += 1;
}

function newWorkflow(): Workflow {
  return {
    reasons: new Map(),
    states: new Map(),
    expiring: EXPIRING.map(() => 0),
    oldest: Infinity,
    newest: -Infinity,
  };
}

function count(counts: Map<string, number>, value: string): void {
  counts.set(value, (counts.get(value) ?? 0) + 1);
}

/** Sorts by number, largest first. If a label has too few places for all values, the largest are exported. */
function byNumber(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].sort(([, a], [, b]) => b - a);
}

function stateOf({ failureFunctionState: state }: WorkflowDlqEntry): string {
  if (state === undefined || state === '') return 'none';
  return FAILURE_FUNCTION_STATES.has(state) ? state : 'other';
}
