/**
 * Alerts about messages that are late. A slow destination and a long wait are told apart: the first is the owner's of the
 * destination, the second the service's or flow control's.
 *
 * Quantiles, not shares of one bucket: the label `le` of the same bound is written "10" by one version of Prometheus and
 * "10.0" by another.
 */
import { promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
import { KEEP_FIRING, THRESHOLDS } from '../thresholds.ts';

const { quantile, minObservations, attemptSeconds, queueWaitSeconds, deliverySeconds, overdueSeconds } =
  THRESHOLDS.latency;

type Duration = 'attempt_duration' | 'queue_wait' | 'delivery_duration';

/** The recorded quantile of the last 15 minutes. */
const recorded = (what: Duration): string => `account_destination:msgsvc_message_${what}_seconds:p95_rate15m`;

function quantileOf(what: Duration) {
  return {
    record: recorded(what),
    expr: promql`
      histogram_quantile(
        ${quantile},
        sum by (account, destination, le) (rate(msgsvc_message_${what}_seconds_bucket[15m]))
      )`,
  };
}

function slower(what: Duration, seconds: number): string {
  return promql`
    ${recorded(what)} > ${seconds}
    and sum by (account, destination) (increase(msgsvc_message_${what}_seconds_count[15m])) >= ${minObservations}`;
}

/** No series: nothing is due, or the log is not read. */
const OVERDUE = 'time() - min by (account, destination) (msgsvc_messages_oldest_due_timestamp_seconds)';

const OVERDUE_SUMMARY =
  'A message to {{ $labels.destination }} of {{ $labels.account }} has been due for {{ $value | humanizeDuration }}.';

export const latencyRecording: RecordingGroup = {
  name: 'msgsvc-latency-recording',
  rules: [quantileOf('attempt_duration'), quantileOf('queue_wait'), quantileOf('delivery_duration')],
};

export const latencyAlerts: AlertGroup = {
  name: 'msgsvc-latency',
  rules: [
    {
      alert: 'MsgsvcAttemptsSlow',
      expr: slower('attempt_duration', attemptSeconds),
      for: '10m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: '{{ $labels.destination }} of {{ $labels.account }} answers slowly.',
      description: `One attempt in twenty takes longer than {{ $value | humanizeDuration }}; ${attemptSeconds} s are the bound. The destination is slow, not the service.`,
    },
    {
      alert: 'MsgsvcQueueWaitLong',
      expr: slower('queue_wait', queueWaitSeconds),
      for: '10m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: 'Messages to {{ $labels.destination }} of {{ $labels.account }} wait long before their attempt.',
      description: `One attempt in twenty begins more than {{ $value | humanizeDuration }} after it was due; ${queueWaitSeconds} s are the bound. The service or flow control is late, not the destination.`,
    },
    {
      alert: 'MsgsvcDeliveriesSlow',
      expr: slower('delivery_duration', deliverySeconds),
      for: '10m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: 'Deliveries to {{ $labels.destination }} of {{ $labels.account }} take long.',
      description: `One message in twenty is delivered more than {{ $value | humanizeDuration }} after it was due, retries included; ${deliverySeconds} s are the bound.`,
    },
    {
      alert: 'MsgsvcMessageOverdue',
      expr: `${OVERDUE} > ${overdueSeconds.critical}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'critical',
      area: 'deliveries',
      summary: OVERDUE_SUMMARY,
      description:
        'It is due, has not ended, and no retry of it is scheduled for later: deliveries to this destination do not go on.',
    },
    {
      alert: 'MsgsvcMessageOverdue',
      expr: `${OVERDUE} > ${overdueSeconds.warning}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: OVERDUE_SUMMARY,
      description:
        'It is due, has not ended, and no retry of it is scheduled for later. Flow control may hold it, or the service is late.',
    },
  ],
};
