/** Settings of the collectors of an account. */
import * as z from 'zod/mini';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import {
  group,
  crossCheck,
  defaulted,
  durationSetting,
  wholeNumber,
  optional,
  settingsBlock,
} from '#foundation/settings/blocks.ts';
import { intervalOf, refineSchedule, type Schedule, scheduleKeys, scheduleOf } from '#foundation/settings/schedule.ts';

const common = {
  ...scheduleKeys,
  enabled: defaulted('True to run this collector.', z.boolean(), true),
  timeout: optional(
    'Maximum duration of a run. Default: ten times the interval; at least 1m for a listing of many pages, at most 1m for all others.',
    durationSetting({ min: '1s', max: '1h' }),
  ),
  maxStaleness: optional(
    'Age of the data at which its gauges are withheld. Default: three intervals, at least 3m.',
    durationSetting({ min: '1s', max: '31d' }),
  ),
};

/** Mapping of a collector: the common keys and its own. */
function collector<Keys extends z.core.$ZodLooseShape>(what: string, keys: Keys) {
  const schema = z.strictObject({ ...common, ...keys });
  return settingsBlock(what, schema.check(crossCheck(refineSchedule) as z.core.$ZodCheck<z.output<typeof schema>>));
}

/** Default interval of each collector, in milliseconds. */
export const DEFAULT_INTERVAL_MS = {
  logs: 30_000,
  accountStats: 60_000,
  flowControl: 15_000,
  workflowDlq: 60_000,
  urlGroups: 300_000,
  searchIndexes: 900_000,
  vectorStats: 300_000,
} as const;

export const collectorsSettings = z.strictObject({
  logs: collector('Message log: counts of events, and traces of deliveries.', {
    lag: defaulted(
      'Delay before a time is counted, so that its entries can arrive.',
      durationSetting({ min: '1s', max: '1h' }),
      '15s',
    ),
    dimension: optional(
      'Additional dimension to count entries by, in `msgsvc_log_events_by_dimension_total`. Default: none.',
      z.enum(['topicName', 'queueName', 'scheduleId', 'label']),
    ),
    pageBudget: defaulted('Maximum pages of 100 entries that one run reads.', wholeNumber(1, 10_000), 200),
    sweep: group('Sweeps for entries that appear later than the lag.', {
      every: defaulted('Interval of sweeps.', durationSetting({ min: '1s', max: '1h' }), '5m'),
      reach: defaulted(
        'Maximum lateness of an entry that a sweep still finds. Each sweep reads this much of the log again.',
        durationSetting({ min: '1s', max: '6h' }),
        '15m',
      ),
    }),
  }),
  accountStats: collector('Statistics of the account: messages, spend, size of the message DLQ.', {
    settleDelay: defaulted(
      'Delay after its end when an interval of the statistics is considered complete.',
      durationSetting({ min: '0s', max: '1h' }),
      '2m',
    ),
    points: group('Meaning of the points of the statistics, which the service does not define.', {
      value: defaulted(
        'Meaning of a point’s value: the amount of its interval, or the amount per second.',
        z.enum(['sum', 'rate']),
        'sum',
      ),
      at: defaulted('End of its interval that a point’s time marks.', z.enum(['start', 'end']), 'start'),
    }),
  }),
  flowControl: collector('Current state of the flow-control keys.', {
    discover: defaulted(
      'Maximum number of keys to watch in addition to flowControlKeys. They are taken from log and DLQ entries; each costs one request per run.',
      wholeNumber(0, 500),
      10,
    ),
  }),
  workflowDlq: collector('Failed workflow runs.', {
    full: defaulted(
      'Interval of a complete listing. In between, only new entries are read.',
      durationSetting({ min: '10s', max: '31d' }),
      '15m',
    ),
    maxPages: defaulted('Maximum pages of 100 entries that one listing reads.', wholeNumber(1, 10_000), 2_000),
  }),
  urlGroups: collector('URL Groups and their endpoints.', {}),
  searchIndexes: collector('Records of the search indexes.', {}),
  vectorStats: collector('Statistics of the vector indexes.', {}),
});

export type CollectorsSettings = z.output<typeof collectorsSettings>;

const MINUTE_MS = 60_000;
/** Collectors that follow a cursor to its end. Their number of requests is not known in advance. */
const PAGED: readonly CollectorName[] = ['logs', 'workflowDlq'];

/**
 * Returns how far behind the watermark the log may be read again, in milliseconds. Entries must be recognized for this
 * long.
 */
export function readAgainMs(settings: CollectorsSettings): number {
  const { lag, sweep } = settings.logs;
  // A sweep begins with the first run after its time, up to one interval after its watermark.
  return sweep.reach + sweep.every + 2 * timing('logs', settings).intervalMs + lag + MINUTE_MS;
}

/** Timing of a collector: its schedule, its timeout and the maximum age of its data, in milliseconds. */
export interface CollectorTiming {
  readonly schedule: Schedule;
  readonly timeoutMs: number;
  readonly maxStalenessMs: number;
  /** Interval; the longest gap of a cron expression. */
  readonly intervalMs: number;
  /** Readable schedule: `every 30s`, or the cron expression with its time zone. */
  readonly describe: string;
}

export function timing(name: CollectorName, settings: CollectorsSettings): CollectorTiming {
  const own = settings[name];
  const schedule = scheduleOf(own, DEFAULT_INTERVAL_MS[name]);
  const intervalMs = intervalOf(schedule);
  const ten = 10 * intervalMs;
  return {
    schedule,
    intervalMs,
    timeoutMs: own.timeout ?? (PAGED.includes(name) ? Math.max(ten, MINUTE_MS) : Math.min(ten, MINUTE_MS)),
    maxStalenessMs: own.maxStaleness ?? Math.max(3 * intervalMs, 3 * MINUTE_MS),
    describe:
      'every' in schedule ? `every ${formatDuration(schedule.every)}` : `${schedule.cron} (${schedule.timezone})`,
  };
}
