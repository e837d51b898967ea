/** Metrics of the workflow DLQ: what it holds, and what entered and left it. */
import { counter, family, gauge, histogram } from './metric-spec.ts';

const mirrored = { mirrored: true } as const;

const held = family(
  { heading: 'Workflow DLQ', account: true, collector: 'workflowDlq' },
  {
    msgsvc_workflow_dlq_runs: gauge(
      ['workflow', 'reason'],
      'runs',
      'count by workflowUrl (templated) and reason',
      'Failed runs held, by workflow and reason; unknown for rows that could not be understood.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_failure_function_runs: gauge(
      ['workflow', 'state'],
      'runs',
      'failureFunctionState',
      'Failed runs by state of their failure function; none when the workflow has none.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_status_runs: gauge(
      ['code'],
      'runs',
      'responseStatus',
      'Failed runs by the status of the last answer; none when there was none.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_labeled_runs: gauge(
      ['label'],
      'runs',
      'label, labels',
      'Failed runs by label, where telemetry.metrics.workflowDlqLabels is on; a run with several labels counts for each.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_flow_control_runs: gauge(
      ['flow_control_key'],
      'runs',
      'flowControlKey',
      'Failed runs by flow control key.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_aged_runs: gauge(
      ['age'],
      'runs',
      'time of the read - createdAt',
      'Failed runs by disjoint age range, unknown for rows that could not be understood; their sum is the size of the workflow DLQ.',
    ),
    msgsvc_workflow_dlq_expiring_runs: gauge(
      ['workflow', 'within'],
      'runs',
      'createdAt + limits.dlqRetention',
      'Failed runs that leave by age within 24h and within 72h, those of 24h included; absent where limits.dlqRetention is not set.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_oldest_run_timestamp_seconds: gauge(
      ['workflow'],
      'timestamp',
      'min(createdAt)',
      'When the oldest run held failed.',
      { merge: 'min' },
    ),
    msgsvc_workflow_dlq_newest_run_timestamp_seconds: gauge(
      ['workflow'],
      'timestamp',
      'max(createdAt)',
      'When the newest run held failed.',
      { merge: 'max' },
    ),
  },
);

const passed = family(
  { heading: 'Workflow DLQ', account: true },
  {
    msgsvc_workflow_dlq_entered_runs_total: counter(
      ['workflow', 'reason'],
      'runs',
      'dlqId first seen',
      'Runs that entered, each once. What was there when counting began is not among them.',
      mirrored,
    ),
    msgsvc_workflow_dlq_left_runs_total: counter(
      ['workflow', 'cause'],
      'runs',
      'dlqId gone from a whole listing, or acted on by this daemon',
      'Runs that left: resumed or deleted by this daemon, expired, elsewhere (by others; by age too, where limits.dlqRetention is not set), or unknown (gone while nobody looked, by age or by others).',
      mirrored,
    ),
    msgsvc_workflow_run_lifetime_seconds: histogram(
      [],
      [1, 5, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 259_200, 604_800],
      'createdAt - workflowCreatedAt',
      'Time from the creation of a run until it failed, of runs that entered.',
      mirrored,
    ),
  },
);

export const workflowDlq = { ...held, ...passed } as const;
