/** Settings of the collectors of an account. */
import { z } from 'zod';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import { always, durationSetting } from '#foundation/platform/settings.ts';
import { intervalOf, refineSchedule, type Schedule, scheduleKeys, scheduleOf } from '#foundation/scheduler/settings.ts';

const common = {
  ...scheduleKeys,
  enabled: z.boolean().default(true).describe('Whether this collector runs.'),
  timeout: durationSetting({ min: '1s', max: '1h' })
    .exactOptional()
    .describe(
      'Time within which a run must end; default: ten times the interval; for a listing of many pages at least 1m, for all else at most 1m.',
    ),
  maxStaleness: durationSetting({ min: '1s', max: '31d' })
    .exactOptional()
    .describe('Age after which its gauges are withheld; default: three intervals, at least 3m.'),
};

const collector = z.strictObject(common).superRefine(refineSchedule, always);

/** Default interval of each collector, milliseconds. */
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
        .describe('How long entries are given to arrive before their time is counted.'),
      dimension: z
        .enum(['topicName', 'queueName', 'scheduleId', 'label'])
        .exactOptional()
        .describe('What else entries are counted by, in `msgsvc_log_events_by_total`; off unless given.'),
      pageBudget: z.int().min(1).max(10_000).default(200).describe('Pages of 100 entries that one run may read.'),
      sweep: z
        .strictObject({
          every: durationSetting({ min: '1s', max: '1h' }).prefault('5m').describe('How often that is looked for.'),
          reach: durationSetting({ min: '1s', max: '6h' })
            .prefault('15m')
            .describe('How late an entry may show and be found all the same; so much of what was read is read again.'),
        })
        .prefault({})
        .describe('Looking for entries that show later than the lag.'),
    })
    .superRefine(refineSchedule, always)
    .prefault({})
    .describe('Message logs: events, and the traces of deliveries.'),
  accountStats: z
    .strictObject({
      ...common,
      settleDelay: durationSetting({ min: '0s', max: '1h' })
        .prefault('2m')
        .describe('How long after its end an interval of the statistics is taken to be complete.'),
      points: z
        .strictObject({
          value: z
            .enum(['sum', 'rate'])
            .default('sum')
            .describe('Whether a point is how much fell into its interval, or how much a second.'),
          at: z.enum(['start', 'end']).default('start').describe('Which end of its interval a point’s time is.'),
        })
        .prefault({})
        .describe('What the points of the statistics mean, which the service does not say.'),
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
          'How many keys are watched besides those in flowControlKeys, of those that entries carry; each is one more request a run.',
        ),
    })
    .superRefine(refineSchedule, always)
    .prefault({})
    .describe('Live state of the flow-control keys.'),
  workflowDlq: z
    .strictObject({
      ...common,
      full: durationSetting({ min: '10s', max: '31d' })
        .prefault('15m')
        .describe('Interval of a whole listing; in between only what is new is read.'),
      maxPages: z.int().min(1).max(10_000).default(2_000).describe('Pages of 100 entries that one listing may read.'),
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
/** They follow a cursor to its end: how many requests that takes is not known beforehand. */
const PAGED: readonly CollectorName[] = ['logs', 'workflowDlq'];

/** How far behind the watermark the log is read again, at most: so long its entries must be recognised. Milliseconds. */
export function readAgainMs(settings: CollectorsSettings): number {
  const { lag, sweep } = settings.logs;
  // A sweep begins with the first run after its time, which was as much as an interval after its watermark.
  return sweep.reach + sweep.every + 2 * timing('logs', settings).intervalMs + lag + MINUTE_MS;
}

/** When a collector runs, how long it may take, and how old its data may become; milliseconds. */
export interface CollectorTiming {
  readonly schedule: Schedule;
  readonly timeoutMs: number;
  readonly maxStalenessMs: number;
  /** Of a cron expression: its longest gap. */
  readonly intervalMs: number;
  /** For people: `every 30s`, or the cron expression with its zone. */
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
