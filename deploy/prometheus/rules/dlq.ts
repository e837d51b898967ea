/** Alerts about the message DLQ and the workflow DLQ: entries are lost by age, or when the DLQ is full. */
import { counted, type Counted } from '../owner.ts';
import { duration, latest, percent, promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
import { KEEP_FIRING, THRESHOLDS } from '../thresholds.ts';

const { fullRatio, growthMessages } = THRESHOLDS.dlq;
const { growthRuns, oldestSeconds, expiringRuns, failureFunctionRuns } = THRESHOLDS.workflows;

const USED = 'account:msgsvc_account_dlq_used:ratio';
const HELD = 'msgsvc_account_dlq_messages';

const withinHour = (series: Counted): string => counted('increase', series, 'account, workflow', { window: '1h' });
const ENTERED = withinHour('msgsvc_workflow_dlq_entered_runs_total');
const LEFT = withinHour('msgsvc_workflow_dlq_left_runs_total');

export const dlqRecording: RecordingGroup = {
  name: 'msgsvc-dlq-recording',
  rules: [
    {
      // Absent without limits.dlqMessages in the configuration.
      record: USED,
      expr: promql`
        ${latest(HELD, 'account')}
        /
        ${latest('msgsvc_account_limit_dlq_messages', 'account')}`,
    },
  ],
};

export const dlqAlerts: AlertGroup = {
  name: 'msgsvc-dlq',
  rules: [
    {
      alert: 'MsgsvcDlqNearFull',
      expr: `${USED} >= ${fullRatio.critical}`,
      for: '5m',
      severity: 'critical',
      area: 'dlq',
      summary: `{{ $labels.account }}: DLQ {{ $value | humanizePercentage }} full (limit ${percent(fullRatio.critical)})`,
      description: 'Messages that fail permanently may be lost once the DLQ is full. Prune it now.',
    },
    {
      alert: 'MsgsvcDlqNearFull',
      expr: `${USED} >= ${fullRatio.warning}`,
      for: '15m',
      severity: 'warning',
      area: 'dlq',
      summary: `{{ $labels.account }}: DLQ {{ $value | humanizePercentage }} full (limit ${percent(fullRatio.warning)})`,
      description:
        'Messages that fail permanently may be lost once the DLQ is full. Repair the destination that fails, or prune the DLQ.',
    },
    {
      alert: 'MsgsvcDlqGrowing',
      // Needs a value from an hour ago: an unknown size has not grown.
      expr: `${latest(HELD, 'account')} - ${latest(HELD, 'account', { offset: '1h' })} >= ${growthMessages}`,
      for: '5m',
      severity: 'warning',
      area: 'dlq',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanize }} more DLQ messages in 1 h (limit ${growthMessages})`,
      description: 'More messages fail permanently than leave the DLQ. Find the destination that fails.',
    },
    {
      alert: 'MsgsvcWorkflowDlqGrowing',
      // From counters, not from the size: runs that were listed when counting began did not enter within the hour.
      expr: promql`
        ${ENTERED}
        - (${LEFT} or 0 * ${ENTERED})
        >= ${growthRuns}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'workflows',
      summary: `{{ $labels.account }} {{ $labels.workflow }}: {{ $value | humanize }} more failed runs in 1 h (limit ${growthRuns})`,
      description: 'More runs entered the workflow DLQ than left it. Repair the workflow, then resume the runs.',
    },
    {
      alert: 'MsgsvcWorkflowDlqOld',
      expr: `time() - ${latest('msgsvc_workflow_dlq_oldest_run_timestamp_seconds', 'account, workflow', { how: 'min' })} > ${oldestSeconds}`,
      for: '30m',
      severity: 'warning',
      area: 'workflows',
      extended: true,
      summary: `{{ $labels.account }} {{ $labels.workflow }}: oldest failed run is {{ $value | humanizeDuration }} (limit ${duration(oldestSeconds)})`,
      description:
        'No one has resumed or deleted the run. It expires at the end of its retention. Decide: resume it or delete it.',
    },
    {
      alert: 'MsgsvcWorkflowDlqExpiring',
      // Absent without limits.dlqRetention in the configuration.
      expr: `${latest('msgsvc_workflow_dlq_expiring_runs{within="24h"}', 'account, workflow')} >= ${expiringRuns}`,
      for: '10m',
      severity: 'warning',
      area: 'workflows',
      summary: `{{ $labels.account }} {{ $labels.workflow }}: {{ $value | humanize }} failed runs expire in 24 h (limit ${expiringRuns - 1})`,
      description: 'The service deletes expired runs, and they cannot be resumed. Resume those that matter now.',
    },
    {
      alert: 'MsgsvcFailureFunctionFailing',
      expr: `${latest('msgsvc_workflow_dlq_failure_function_runs{state="CALLBACK_FAIL"}', 'account, workflow')} >= ${failureFunctionRuns}`,
      for: '10m',
      severity: 'warning',
      area: 'workflows',
      extended: true,
      summary: `{{ $labels.account }} {{ $labels.workflow }}: failure function failed {{ $value | humanize }} times (limit ${failureFunctionRuns - 1})`,
      description:
        'The failure functions of these failed runs failed as well. Their cleanup or notification did not happen. Repair the failure function.',
    },
  ],
};
