/** Alerts about the message DLQ and the workflow DLQ: what they hold is lost by age, or when they are full. */
import { duration, latest, percent, promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
import { GAUGE_RANGE, KEEP_FIRING, THRESHOLDS } from '../thresholds.ts';

const { fullRatio, growthMessages } = THRESHOLDS.dlq;
const { growthRuns, oldestSeconds, expiringRuns, failureFunctionRuns } = THRESHOLDS.workflows;

const USED = 'account:msgsvc_account_dlq_used:ratio';
const HELD = 'msgsvc_account_dlq_messages';

const ENTERED = 'sum by (account, workflow) (increase(msgsvc_workflow_dlq_entered_runs_total[1h]))';
const LEFT = 'sum by (account, workflow) (increase(msgsvc_workflow_dlq_left_runs_total[1h]))';

export const dlqRecording: RecordingGroup = {
  name: 'msgsvc-dlq-recording',
  rules: [
    {
      // Without limits.dlqMessages in the configuration there is none.
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
        'Messages that fail permanently may be lost once the DLQ is full. Prune it, or repair the destination that fails.',
    },
    {
      alert: 'MsgsvcDlqGrowing',
      // A DLQ of which nothing was known an hour ago has not grown.
      expr: `${latest(HELD, 'account')} - ${latest(HELD, 'account', '1h')} >= ${growthMessages}`,
      for: '5m',
      severity: 'warning',
      area: 'dlq',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanize }} more DLQ messages in 1 h (limit ${growthMessages})`,
      description: 'More messages fail permanently than leave the DLQ. Find the destination that fails.',
    },
    {
      alert: 'MsgsvcWorkflowDlqGrowing',
      // Counted, not measured: what was there when counting began did not come within the hour.
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
      expr: `time() - min by (account, workflow) (last_over_time(msgsvc_workflow_dlq_oldest_run_timestamp_seconds[${GAUGE_RANGE}])) > ${oldestSeconds}`,
      for: '30m',
      severity: 'warning',
      area: 'workflows',
      extended: true,
      summary: `{{ $labels.account }} {{ $labels.workflow }}: failed run waits {{ $value | humanizeDuration }} (limit ${duration(oldestSeconds)})`,
      description: 'Nobody resumed or deleted the run. It expires at the end of its retention.',
    },
    {
      alert: 'MsgsvcWorkflowDlqExpiring',
      // Without limits.dlqRetention in the configuration there is none.
      expr: `${latest('msgsvc_workflow_dlq_expiring_runs{within="24h"}', 'account, workflow')} >= ${expiringRuns}`,
      for: '10m',
      severity: 'warning',
      area: 'workflows',
      summary: `{{ $labels.account }} {{ $labels.workflow }}: {{ $value | humanize }} failed runs expire in 24 h (limit ${expiringRuns - 1})`,
      description: 'Expired runs are deleted and cannot be resumed.',
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
        'The failure functions of these failed runs failed as well. Their cleanup or notification is missing.',
    },
  ],
};
