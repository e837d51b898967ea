/**
 * Alerts about messages that are late. Slow destinations and long waits have separate alerts: the owner of the destination
 * acts on the first, the owner of the service or of flow control on the second.
 *
 * The rules use quantiles and not the share of one bucket: some versions of Prometheus write the label `le` of a bound as
 * "10", others as "10.0".
 */
import { counted, owned } from '../owner.ts';
import { duration, promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
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
        ${counted('rate', `msgsvc_message_${what}_seconds_bucket`, 'account, destination, le', { window: '15m' })}
      )`,
  };
}

function slower(what: Duration, seconds: number): string {
  return promql`
    ${recorded(what)} > ${seconds}
    and ${counted('increase', `msgsvc_message_${what}_seconds_count`, 'account, destination', { window: '15m' })} >= ${minObservations}`;
}

/** Absent if no message is due or the log is not read. */
const OVERDUE = `time() - min by (account, destination) (${owned('msgsvc_messages_oldest_due_timestamp_seconds')})`;

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
      extended: true,
      summary: `{{ $labels.account }} → {{ $labels.destination }}: 5 % of attempts take over {{ $value | humanizeDuration }} (limit ${attemptSeconds} s)`,
      description:
        'The destination is slow, not the service. Attempts may soon time out. Check the load of the destination.',
    },
    {
      alert: 'MsgsvcQueueWaitLong',
      expr: slower('queue_wait', queueWaitSeconds),
      for: '10m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      extended: true,
      summary: `{{ $labels.account }} → {{ $labels.destination }}: 5 % of attempts wait over {{ $value | humanizeDuration }} (limit ${queueWaitSeconds} s)`,
      description:
        'Attempts begin late. The cause is flow control or the service, not the destination. Check the flow-control keys first.',
    },
    {
      alert: 'MsgsvcDeliveriesSlow',
      expr: slower('delivery_duration', deliverySeconds),
      for: '10m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      extended: true,
      summary: `{{ $labels.account }} → {{ $labels.destination }}: 5 % of messages take over {{ $value | humanizeDuration }} (limit ${deliverySeconds} s)`,
      description: 'The time is from due to delivered and includes retries. Check for failed attempts first.',
    },
    {
      alert: 'MsgsvcMessageOverdue',
      expr: `${OVERDUE} > ${overdueSeconds.critical}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'critical',
      area: 'deliveries',
      summary: `{{ $labels.account }} → {{ $labels.destination }}: message overdue by {{ $value | humanizeDuration }} (limit ${duration(overdueSeconds.critical)})`,
      description:
        'The message is due, has not ended, and has no scheduled retry. Deliveries to this destination may have stopped. Check for a paused flow-control key.',
    },
    {
      alert: 'MsgsvcMessageOverdue',
      expr: `${OVERDUE} > ${overdueSeconds.warning}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      extended: true,
      summary: `{{ $labels.account }} → {{ $labels.destination }}: message overdue by {{ $value | humanizeDuration }} (limit ${duration(overdueSeconds.warning)})`,
      description:
        'The message is due, has not ended, and has no scheduled retry. Flow control delays it, or the service is late. Check the flow-control keys first.',
    },
  ],
};
