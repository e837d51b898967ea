/** Alerts about the message DLQ and the workflow DLQ: what they hold is lost by age, or when they are full. */
import { latest, promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
import { GAUGE_RANGE, KEEP_FIRING, THRESHOLDS } from '../thresholds.ts';

const { fullRatio, growthMessages } = THRESHOLDS.dlq;
const { growthRuns, oldestSeconds, expiringRuns, failureFunctionRuns } = THRESHOLDS.workflows;

const USED = 'account:msgsvc_account_dlq_used:ratio';
const HELD = 'msgsvc_account_dlq_messages';

const FULL_SUMMARY = 'The DLQ of {{ $labels.account }} is {{ $value | humanizePercentage }} full.';

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
      summary: FULL_SUMMARY,
      description: 'What fails for good once it is full may be lost.',
    },
    {
      alert: 'MsgsvcDlqNearFull',
      expr: `${USED} >= ${fullRatio.warning}`,
      for: '15m',
      severity: 'warning',
      area: 'dlq',
      summary: FULL_SUMMARY,
      description:
        'What fails for good once it is full may be lost. There is time to prune, or to find out what fails.',
    },
    {
      alert: 'MsgsvcDlqGrowing',
      // A DLQ of which nothing was known an hour ago has not grown.
      expr: `${latest(HELD, 'account')} - ${latest(HELD, 'account', '1h')} >= ${growthMessages}`,
      for: '5m',
      severity: 'warning',
      area: 'dlq',
      summary: 'The DLQ of {{ $labels.account }} grew by {{ $value | humanize }} messages within an hour.',
      description:
        'More messages fail for good than leave the DLQ. Something downstream is broken, and the DLQ has an end.',
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
      summary: 'Failed runs of {{ $labels.workflow }} of {{ $labels.account }} pile up.',
      description: '{{ $value | humanize }} more runs came into the workflow DLQ within an hour than left it.',
    },
    {
      alert: 'MsgsvcWorkflowDlqOld',
      expr: `time() - min by (account, workflow) (last_over_time(msgsvc_workflow_dlq_oldest_run_timestamp_seconds[${GAUGE_RANGE}])) > ${oldestSeconds}`,
      for: '30m',
      severity: 'warning',
      area: 'workflows',
      summary:
        'A failed run of {{ $labels.workflow }} of {{ $labels.account }} has waited for {{ $value | humanizeDuration }}.',
      description: 'Nobody resumed or deleted it, and it leaves by age some day.',
    },
    {
      alert: 'MsgsvcWorkflowDlqExpiring',
      // Without limits.dlqRetention in the configuration there is none.
      expr: `${latest('msgsvc_workflow_dlq_expiring_runs{within="24h"}', 'account, workflow')} >= ${expiringRuns}`,
      for: '10m',
      severity: 'warning',
      area: 'workflows',
      summary: 'Failed runs of {{ $labels.workflow }} of {{ $labels.account }} expire within 24 hours.',
      description: '{{ $value | humanize }} of them. Then they are gone and cannot be resumed any more.',
    },
    {
      alert: 'MsgsvcFailureFunctionFailing',
      expr: `${latest('msgsvc_workflow_dlq_failure_function_runs{state="CALLBACK_FAIL"}', 'account, workflow')} >= ${failureFunctionRuns}`,
      for: '10m',
      severity: 'warning',
      area: 'workflows',
      summary: 'The failure function of {{ $labels.workflow }} of {{ $labels.account }} failed too.',
      description:
        'Failed runs held whose failure function failed as well: {{ $value | humanize }}. What it should have undone or told was not.',
    },
  ],
};
