/** How much, how fast and how often a policy may act. All is finite, and zero is an error. */
import { z } from 'zod';
import { always, durationSetting } from '#foundation/platform/settings.ts';

const maxPerHour = (fallback: number) =>
  z.int().min(1).max(100_000).default(fallback).describe('Acts of a sliding hour.');
const maxPerDay = (fallback: number) =>
  z.int().min(1).max(1_000_000).default(fallback).describe('Acts of a sliding day.');
const minInterval = durationSetting({ min: '1s', max: '31d' })
  .exactOptional()
  .describe('Least time between two acts of one run and the next run’s; without it none.');
const onTrip = (fallback: 'approve' | 'abort') =>
  z
    .enum(['approve', 'abort'])
    .default(fallback)
    .describe('When more matches than may: approve asks a person, abort acts on none.');
const probation = z
  .strictObject({
    runs: z.int().min(1).max(100).default(3).describe('Audit runs of a policy that is new or was widened.'),
  })
  .prefault({})
  .describe('Runs that a new or widened policy makes in audit mode first.');

export const resumeLimits = z.strictObject({
  maxMatched: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(10_000)
    .describe('Entries that may match; more of them do not pass as a matter of course.'),
  onTrip: onTrip('approve'),
  maxPerRun: z.int().min(1).max(10_000).default(500).describe('Acts of one run.'),
  maxPerHour: maxPerHour(4_000),
  maxPerDay: maxPerDay(10_000),
  minInterval,
  attempts: z
    .strictObject({
      max: z.int().min(1).max(20).default(3).describe('Resumes of one run, across all its returns to the DLQ.'),
      backoff: z
        .array(durationSetting({ min: '1s' }))
        .min(1)
        .prefault(['10m', '1h', '6h'])
        .describe('Waits after the first, second, … resume; the last one holds for all further ones.'),
    })
    .prefault({})
    .describe('How often one run is tried again.'),
});

const deleteCaps = {
  maxPerRun: z.int().min(1).max(10_000).default(100).describe('Acts of one run.'),
  maxPerHour: maxPerHour(100),
  maxPerDay: maxPerDay(300),
  minInterval,
  probation,
};

export const deleteLimits = z.strictObject({
  maxMatched: z
    .int()
    .min(1)
    .max(100_000)
    .default(200)
    .describe('Entries that may match; more of them do not pass as a matter of course.'),
  maxMatchedShare: z
    .number()
    .gt(0)
    .max(1)
    .default(0.25)
    .describe('Most of a known population of at least 25 that may match, 0 to 1.'),
  onTrip: onTrip('abort'),
  ...deleteCaps,
});

/** Nothing is listed, so nothing is known of what matches. */
export const pruneLimits = z.strictObject(deleteCaps);

export const budgetLimits = z.strictObject({
  minInterval: durationSetting({ min: '1h', max: '31d' }).prefault('12h').describe('Least time between two raises.'),
  maxPerMonth: z.int().min(1).max(31).default(3).describe('Raises of a calendar month (UTC).'),
  maxRaisePerMonthUsd: z
    .int()
    .min(1)
    .max(9_980)
    .default(150)
    .describe('Dollars by which the budget may rise in a calendar month (UTC).'),
});

export const rampSettings = z
  .strictObject({
    groupBy: z
      .enum(['workflowUrl', 'destination'])
      .default('workflowUrl')
      .describe('What is released step by step, each by itself.'),
    start: z.int().min(1).max(100).default(1).describe('Entries of the first step.'),
    factor: z.number().min(1).max(10).default(3).describe('How much larger than a verified step the next one is.'),
    max: z.int().min(1).max(10_000).default(500).describe('Most entries of a step.'),
    settle: durationSetting({ min: '1s', max: '45m' })
      .prefault('5m')
      .describe('Time between a step and its verdict; longer where the retries of the step can last longer.'),
  })
  .superRefine(({ start, max }, context) => {
    if (typeof start !== 'number' || typeof max !== 'number' || start <= max) return;
    context.addIssue({ code: 'custom', message: `start is ${start}, and max is ${max}; make max as large at least` });
  }, always);
