/** Settings of the collectors of an account. */
import { z } from 'zod';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import { always, durationSetting } from '#foundation/platform/settings.ts';
import { intervalOf, refineSchedule, type Schedule, scheduleKeys, scheduleOf } from '#foundation/scheduler/settings.ts';

const common = {
  ...scheduleKeys,
  enabled: z.boolean().default(true).describe('True to run this collector.'),
  timeout: durationSetting({ min: '1s', max: '1h' })
    .exactOptional()
    .describe(
      'Maximum duration of a run. Default: ten times the interval; at least 1m for a listing of many pages, at most 1m for all others.',
    ),
  maxStaleness: durationSetting({ min: '1s', max: '31d' })
    .exactOptional()
    .describe('Age of the data at which its gauges are withheld. Default: three intervals, at least 3m.'),
};

const collector = z.strictObject(common).superRefine(refineSchedule, always);

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
  logs: z
    .strictObject({
      ...common,
      lag: durationSetting({ min: '1s', max: '1h' })
        .prefault('15s')
        .describe('Delay before a time is counted, so that its entries can arrive.'),
      dimension: z
        .enum(['topicName', 'queueName', 'scheduleId', 'label'])
        .exactOptional()
        .describe(
          'Additional dimension to count entries by, in `msgsvc_log_events_by_dimension_total`. Default: none.',
        ),
      pageBudget: z.int().min(1).max(10_000).default(200).describe('Maximum pages of 100 entries that one run reads.'),
      sweep: z
        .strictObject({
          every: durationSetting({ min: '1s', max: '1h' }).prefault('5m').describe('Interval of sweeps.'),
          reach: durationSetting({ min: '1s', max: '6h' })
            .prefault('15m')
            .describe(
              'Maximum lateness of an entry that a sweep still finds. Each sweep reads this much of the log again.',
            ),
        })
        .prefault({})
        .describe('Sweeps for entries that appear later than the lag.'),
    })
    .superRefine(refineSchedule, always)
    .prefault({})
    .describe('Message log: counts of events, and traces of deliveries.'),
  accountStats: z
    .strictObject({
      ...common,
      settleDelay: durationSetting({ min: '0s', max: '1h' })
        .prefault('2m')
        .describe('Delay after its end when an interval of the statistics is considered complete.'),
      points: z
        .strictObject({
          value: z
            .enum(['sum', 'rate'])
            .default('sum')
            .describe('Meaning of a point’s value: the amount of its interval, or the amount per second.'),
          at: z.enum(['start', 'end']).default('start').describe('End of its interval that a point’s time marks.'),
        })
        .prefault({})
        .describe('Meaning of the points of the statistics, which the service does not define.'),
    })
    .superRefine(refineSchedule, always)
    .prefault({})
    .describe('Statistics of the account: messages, spend, size of the message DLQ.'),
  flowControl: z
    .strictObject({
      ...common,
      discover: z
        .int()
        .min(0)
        .max(500)
        .default(10)
        .describe(
          'Maximum number of keys to watch in addition to flowControlKeys. They are taken from log and DLQ entries; each costs one request per run.',
        ),
    })
    .superRefine(refineSchedule, always)
    .prefault({})
    .describe('Current state of the flow-control keys.'),
  workflowDlq: z
    .strictObject({
      ...common,
      full: durationSetting({ min: '10s', max: '31d' })
        .prefault('15m')
        .describe('Interval of a complete listing. In between, only new entries are read.'),
      maxPages: z
        .int()
        .min(1)
        .max(10_000)
        .default(2_000)
        .describe('Maximum pages of 100 entries that one listing reads.'),
    })
    .superRefine(refineSchedule, always)
    .prefault({})
    .describe('Failed workflow runs.'),
  urlGroups: collector.prefault({}).describe('URL Groups and their endpoints.'),
  searchIndexes: collector.prefault({}).describe('Records of the search indexes.'),
  vectorStats: collector.prefault({}).describe('Statistics of the vector indexes.'),
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
