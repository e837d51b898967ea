/** Metrics of the workflow DLQ: the runs in it, and the runs that entered and left it. */
import { counter, family, gauge, histogram } from './metric-spec.ts';

const mirrored = { mirrored: true } as const;

const held = family(
  { heading: 'Workflow DLQ', account: true, collector: 'workflowDlq' },
  {
    msgsvc_workflow_dlq_runs: gauge(
      ['workflow', 'reason'],
      'runs',
      'count by workflowUrl (templated) and reason',
      'Failed runs in the DLQ, by workflow and reason; unknown for invalid rows.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_failure_function_runs: gauge(
      ['workflow', 'state'],
      'runs',
      'failureFunctionState',
      'Failed runs by state of their failure function; none if the workflow has none.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_status_runs: gauge(
      ['code'],
      'runs',
      'responseStatus',
      'Failed runs by the status of the last response; none if there was none.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_labeled_runs: gauge(
      ['label'],
      'runs',
      'label, labels',
      'Failed runs by label; a run with several labels counts for each. Absent if telemetry.metrics.workflowDlqLabels is off.',
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
      'Failed runs by age range, unknown for invalid rows; the sum is the size of the workflow DLQ.',
    ),
    msgsvc_workflow_dlq_expiring_runs: gauge(
      ['workflow', 'within'],
      'runs',
      'createdAt + limits.dlqRetention',
      'Failed runs that expire within 24h and within 72h, which includes 24h. Absent if limits.dlqRetention is not set.',
      { lingers: true },
    ),
    msgsvc_workflow_dlq_oldest_run_timestamp_seconds: gauge(
      ['workflow'],
      'timestamp',
      'min(createdAt)',
      'Unix timestamp of the failure of the oldest run in the DLQ.',
      { merge: 'min' },
    ),
    msgsvc_workflow_dlq_newest_run_timestamp_seconds: gauge(
      ['workflow'],
      'timestamp',
      'max(createdAt)',
      'Unix timestamp of the failure of the newest run in the DLQ.',
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
      'Runs that entered the DLQ since counting began, each counted once.',
      mirrored,
    ),
    msgsvc_workflow_dlq_left_runs_total: counter(
      ['workflow', 'cause'],
      'runs',
      'dlqId gone from a whole listing, or acted on by this daemon',
      'Runs that left the DLQ, by cause: resumed or deleted by this daemon, expired, other (by others, or also by age if limits.dlqRetention is not set), or unknown (by age or by others while the daemon was not reading).',
      mirrored,
    ),
    msgsvc_workflow_run_lifetime_seconds: histogram(
      [],
      [1, 5, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 259_200, 604_800],
      'createdAt - workflowCreatedAt',
      'Time between the creation of a run and its failure in seconds, for runs that entered the DLQ.',
      mirrored,
    ),
  },
);

export const workflowDlq = { ...held, ...passed } as const;
