/** Alerts about messages that fail: for good (the objective), or at each attempt (a destination that is down). */
import { promql, type AlertGroup } from '../rule.ts';
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

const { downRatio, down, downSlowly, downLittleTraffic } = THRESHOLDS.deliveries;

interface Burn {
  readonly rates: readonly BurnRate[];
  readonly objective: number;
  readonly ratio: (window: BurnWindow) => string;
  readonly failed: (window: BurnWindow) => string;
  readonly known: (age: string) => string;
}

/** Both windows above the rate: the long one says that it matters, the short one that it goes on. */
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

/** Nothing but failed attempts, and enough of them. */
function isDown({ window, attempts }: { readonly window: BurnWindow; readonly attempts: number }): string {
  return promql`
    (
      ${attemptFailureRatio('account_destination', window)} >= ${downRatio}
      and ${failedAttempts('account_destination', window)} >= ${attempts}
    )`;
}

/** Few attempts an hour, all of them failed, and for more than a moment. */
function isDownSlowly(): string {
  const failed = failedAttempts('account_destination', downSlowly.quarter);
  return promql`
    (
      ${isDown(downSlowly)}
      and ${failed} > 0
      and ${failed} offset ${downSlowly.quarter} > 0
    )`;
}

const OF_MESSAGES = '{{ $value | humanizePercentage }} of the messages that ended failed for good';
const PROMISE = `; at most ${percent(1 - OBJECTIVES.delivered)} may`;

function percent(ratio: number): string {
  return `${Number((ratio * 100).toPrecision(6))} %`;
}

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
      summary: 'Every delivery attempt to {{ $labels.destination }} of {{ $labels.account }} fails.',
      description:
        '{{ $value | humanizePercentage }} of its attempts failed, minute after minute. Messages are retried until their retries are used up, and then fail for good.',
    },
    {
      alert: 'MsgsvcDestinationDown',
      // A few messages a day never make enough attempts within minutes.
      expr: isDown(downLittleTraffic),
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: 'Every delivery attempt to {{ $labels.destination }} of {{ $labels.account }} within 6 hours failed.',
      description:
        'It gets few messages; of the attempts within 6 hours {{ $value | humanizePercentage }} failed. Messages are retried until their retries are used up, and then fail for good.',
    },
    {
      alert: 'MsgsvcDeliveryBudgetBurn',
      expr: messagesBurn('account', FAST_BURN),
      for: '2m',
      keepFiringFor: KEEP_FIRING,
      severity: 'critical',
      area: 'deliveries',
      summary: 'Messages of {{ $labels.account }} fail for good far faster than the objective allows.',
      description: `${OF_MESSAGES}${PROMISE}. At this rate a month's error budget is used up within days.`,
    },
    {
      alert: 'MsgsvcDeliveryBudgetBurn',
      expr: messagesBurn('account', SLOW_BURN),
      for: '15m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: 'Messages of {{ $labels.account }} fail for good faster than the objective allows.',
      description: `${OF_MESSAGES} over days${PROMISE}. Nothing is urgent, and the objective of the month will be missed.`,
    },
    {
      alert: 'MsgsvcDestinationBudgetBurn',
      expr: messagesBurn('account_destination', FAST_BURN),
      for: '2m',
      keepFiringFor: KEEP_FIRING,
      severity: 'critical',
      area: 'deliveries',
      summary:
        'Messages to {{ $labels.destination }} of {{ $labels.account }} fail for good far faster than the objective allows.',
      description: `${OF_MESSAGES}${PROMISE}. What failed for good is delivered only if somebody resumes or publishes it again.`,
    },
    {
      alert: 'MsgsvcDestinationBudgetBurn',
      expr: messagesBurn('account_destination', SLOW_BURN),
      for: '15m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary:
        'Messages to {{ $labels.destination }} of {{ $labels.account }} fail for good faster than the objective allows.',
      description: `${OF_MESSAGES} over days${PROMISE}.`,
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
      // So long that 5 minutes in which everything fails do not fire, and half of the attempts do within 15.
      for: '8m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'deliveries',
      summary: 'Many delivery attempts to {{ $labels.destination }} of {{ $labels.account }} fail.',
      description: `{{ $value | humanizePercentage }} of the attempts failed (limit ${percent(1 - OBJECTIVES.attempts)}). The service retries them, so few messages are lost yet. Retries cost time and money, and they end.`,
    },
  ],
};
