/** Shares of failed messages and failed attempts, over the windows of the burn rates. */
import { counted, type Counted } from '../owner.ts';
import { promql, type RecordingGroup, type RecordingRule } from '../rule.ts';
import { BURN_WINDOWS, type BurnWindow } from '../thresholds.ts';

const LEVELS = [
  { level: 'account', labels: 'account' },
  { level: 'account_destination', labels: 'account, destination' },
] as const;

export type Level = (typeof LEVELS)[number]['level'];

/** Names of what is recorded here. */
export const failureRatio = (level: Level, window: BurnWindow): string =>
  `${level}:msgsvc_message_failures:ratio_rate${window}`;
export const failedMessages = (level: Level, window: BurnWindow): string =>
  `${level}:msgsvc_message_failures:increase${window}`;
export const attemptFailureRatio = (level: Level, window: BurnWindow): string =>
  `${level}:msgsvc_message_attempt_failures:ratio_rate${window}`;
export const failedAttempts = (level: Level, window: BurnWindow): string =>
  `${level}:msgsvc_message_attempt_failures:increase${window}`;

/** Accounts or destinations whose counter had a sample so long ago, or within the half hour before that. */
export const knownFor = (level: Level, counter: string, age: string): string => {
  const { labels } = LEVELS.find((one) => one.level === level)!;
  return `group by (${labels}) (present_over_time(${counter}[30m] offset ${age}))`;
};

function rulesOf(window: BurnWindow): readonly RecordingRule[] {
  return LEVELS.flatMap(({ level, labels }) => {
    const sum = (series: Counted, how: 'rate' | 'increase' = 'rate'): string =>
      counted(how, series, labels, { window });
    return [
      // A canceled message was neither delivered nor failed. Without traffic there is no ratio, and no NaN.
      {
        record: failureRatio(level, window),
        expr: promql`
          ${sum('msgsvc_message_failures_total')}
          /
          (${sum('msgsvc_messages_finished_total')} - ${sum('msgsvc_message_cancellations_total')} > 0)`,
      },
      { record: failedMessages(level, window), expr: sum('msgsvc_message_failures_total', 'increase') },
      {
        record: attemptFailureRatio(level, window),
        expr: promql`
          ${sum('msgsvc_message_attempt_failures_total')}
          /
          (${sum('msgsvc_message_attempts_total')} > 0)`,
      },
      { record: failedAttempts(level, window), expr: sum('msgsvc_message_attempt_failures_total', 'increase') },
    ];
  });
}

const LONG: readonly BurnWindow[] = ['6h', '1d', '3d'];

export const deliveryRecording: RecordingGroup = {
  name: 'msgsvc-deliveries-recording',
  rules: BURN_WINDOWS.filter((window) => !LONG.includes(window)).flatMap(rulesOf),
};

/** Reading days of samples costs something, and what days say changes slowly. Not seldom enough for a sample to go stale. */
export const deliveryRecordingLong: RecordingGroup = {
  name: 'msgsvc-deliveries-recording-long',
  interval: '2m',
  rules: LONG.flatMap(rulesOf),
};
