/** Alerts about messages that fail: permanently (the objective), or at each attempt (a destination that is down). */
import { counted } from '../owner.ts';
import { latest, percent, promql, type AlertGroup } from '../rule.ts';
import {
  FAST_BURN,
  KEEP_FIRING,
  OBJECTIVES,
  PARTIAL_OUTAGE,
  SLOW_BURN,
  THRESHOLDS,
  type BurnRate,
  type BurnWindow,
} from '../thresholds.ts';
import {
  attemptFailureRatio,
  failedAttempts,
  failedMessages,
  failureRatio,
  knownFor,
  type Level,
} from './delivery-recording.ts';

const { downRatio, down, downSlowly, downLittleTraffic, stopped } = THRESHOLDS.deliveries;

interface Burn {
  readonly rates: readonly BurnRate[];
  readonly objective: number;
  readonly ratio: (window: BurnWindow) => string;
  readonly failed: (window: BurnWindow) => string;
  readonly known: (age: string) => string;
}

/** Both windows are above the rate: the long one shows that it matters, the short one that it continues. */
function burns({ rates, objective, ratio, failed, known }: Burn): string {
  return rates
    .map(({ factor, long, short, least, known: age }) => {
      const bound = `${factor} * (1 - ${objective})`;
      return promql`
        (
          ${ratio(long)} > ${bound}
          and ${ratio(short)} > ${bound}
          and ${failed(long)} >= ${least}
          and ${known(age)}
        )`;
    })
    .join('\nor\n');
}

function messagesBurn(level: Level, rates: readonly BurnRate[]): string {
  return burns({
    rates,
    objective: OBJECTIVES.delivered,
    ratio: (window) => failureRatio(level, window),
    failed: (window) => failedMessages(level, window),
    known: (age) => knownFor(level, 'msgsvc_messages_finished_total', age),
  });
}

/** All attempts failed, and there are enough of them. */
function isDown({ window, attempts }: { readonly window: BurnWindow; readonly attempts: number }): string {
  return promql`
    (
      ${attemptFailureRatio('account_destination', window)} >= ${downRatio}
      and ${failedAttempts('account_destination', window)} >= ${attempts}
    )`;
}

/** A few attempts within the hour, all failed, in both of the last two quarters. */
function isDownSlowly(): string {
  const failed = failedAttempts('account_destination', downSlowly.quarter);
  return promql`
    (
      ${isDown(downSlowly)}
      and (${failed} > 0)
      and (${failed} offset ${downSlowly.quarter} > 0)
    )`;
}

const attemptsWithin = (window: string, offset = ''): string =>
  counted('increase', 'msgsvc_message_attempts_total', 'account', { window, offset });

const PROMISE = `(limit ${percent(1 - OBJECTIVES.delivered)})`;

export const deliveryAlerts: AlertGroup = {
  name: 'msgsvc-deliveries',
  rules: [
    {
      alert: 'MsgsvcDestinationDown',
      expr: `${isDown(down)}\nor\n${isDownSlowly()}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'critical',
      area: 'deliveries',
      summary: `{{ $labels.account }} → {{ $labels.destination }}: {{ $value | humanizePercentage }} of attempts fail (limit ${percent(downRatio)})`,
      description:
        'Every attempt within the last minutes failed. Messages fail permanently when their retries are used up. Check the error codes, then repair the destination.',
    },
    {
      alert: 'MsgsvcDestinationDown',
      // A few messages a day never make enough attempts within minutes.
      expr: isDown(downLittleTraffic),
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: `{{ $labels.account }} → {{ $labels.destination }}: {{ $value | humanizePercentage }} of attempts fail in 6 h (limit ${percent(downRatio)})`,
      description:
        'This destination gets few messages, and all of their attempts failed. Messages fail permanently when their retries are used up. Check the error codes.',
    },
    {
      alert: 'MsgsvcDeliveryBudgetBurn',
      expr: messagesBurn('account', FAST_BURN),
      for: '2m',
      keepFiringFor: KEEP_FIRING,
      severity: 'critical',
      area: 'deliveries',
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} permanent failures ${PROMISE}`,
      description: 'At this rate the monthly error budget is used up within days. Find the destination that fails.',
    },
    {
      alert: 'MsgsvcDeliveryBudgetBurn',
      expr: messagesBurn('account', SLOW_BURN),
      for: '15m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} permanent failures over days ${PROMISE}`,
      description: 'At this rate the account misses its monthly objective. Find the destination that fails.',
    },
    {
      alert: 'MsgsvcDestinationBudgetBurn',
      expr: messagesBurn('account_destination', FAST_BURN),
      for: '2m',
      keepFiringFor: KEEP_FIRING,
      severity: 'critical',
      area: 'deliveries',
      summary: `{{ $labels.account }} → {{ $labels.destination }}: {{ $value | humanizePercentage }} permanent failures ${PROMISE}`,
      description:
        'Messages that failed permanently are delivered only if someone resumes or republishes them. Check the reasons and codes of the failures.',
    },
    {
      alert: 'MsgsvcDestinationBudgetBurn',
      expr: messagesBurn('account_destination', SLOW_BURN),
      for: '15m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      extended: true,
      summary: `{{ $labels.account }} → {{ $labels.destination }}: {{ $value | humanizePercentage }} permanent failures in days ${PROMISE}`,
      description:
        'At this rate the destination misses its monthly objective. Check the reasons and codes of the failures.',
    },
    {
      alert: 'MsgsvcDestinationDegraded',
      expr: burns({
        rates: PARTIAL_OUTAGE,
        objective: OBJECTIVES.attempts,
        ratio: (window) => attemptFailureRatio('account_destination', window),
        failed: (window) => failedAttempts('account_destination', window),
        known: (age) => knownFor('account_destination', 'msgsvc_message_attempts_total', age),
      }),
      // Long enough that a total failure of 5 minutes does not fire, and that half of the attempts failing fires within 15.
      for: '8m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: `{{ $labels.account }} → {{ $labels.destination }}: {{ $value | humanizePercentage }} of attempts fail (limit ${percent(1 - OBJECTIVES.attempts)})`,
      description:
        'The service retries these attempts, so few messages are lost yet. Retries cost time and money and are limited. Check the error codes.',
    },
    {
      alert: 'MsgsvcTrafficStopped',
      // Nights and weekends are silent: the expression needs attempts a day ago and within the previous hours. A log that is
      // not read counts no attempts.
      expr: promql`
        ${attemptsWithin('30m', '1d')} >= ${stopped.attemptsADayAgo}
        and ${attemptsWithin('30m')} == 0
        and ${attemptsWithin('6h', '30m')} >= ${stopped.attemptsBefore}
        and ${latest('opsd_log_lag_seconds', 'account')} < ${THRESHOLDS.collectors.logsBehindSeconds}`,
      for: '5m',
      severity: 'warning',
      area: 'deliveries',
      summary: '{{ $labels.account }}: 0 attempts in 30 min, {{ $value | humanize }} at this time yesterday',
      description:
        'The service attempts no deliveries for this account. Check whether messages are in flight: if not, the publishers have stopped.',
    },
  ],
};
