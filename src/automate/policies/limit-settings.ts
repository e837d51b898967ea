/** Limits of a policy: how much, how fast and how often it is allowed to act. All are finite, and zero is an error. */
import { z } from 'zod';
import { always, durationSetting } from '#foundation/platform/settings.ts';

const maxPerHour = (fallback: number) =>
  z.int().min(1).max(100_000).default(fallback).describe('Maximum number of actions in a sliding hour.');
const maxPerDay = (fallback: number) =>
  z.int().min(1).max(1_000_000).default(fallback).describe('Maximum number of actions in a sliding day.');
const minInterval = () =>
  durationSetting({ min: '1s', max: '31d' })
    .exactOptional()
    .describe('Minimum time between the last action of a run and the first of the next run. Default: none.');
const onTrip = (fallback: 'approve' | 'abort') =>
  z
    .enum(['approve', 'abort'])
    .default(fallback)
    .describe('Consequence of too many matches. approve: ask an operator. abort: act on none.');
const probation = () =>
  z
    .strictObject({
      runs: z.int().min(1).max(100).default(3).describe('Number of audit runs of a new or widened policy.'),
    })
    .prefault({})
    .describe('First runs of a new or widened policy, which are in audit mode.');

export const resumeLimits = () =>
  z.strictObject({
    maxMatched: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(10_000)
      .describe('Maximum number of matched entries. A larger number has the consequence in onTrip.'),
    onTrip: onTrip('approve'),
    maxPerRun: z.int().min(1).max(10_000).default(500).describe('Maximum number of actions in one run.'),
    maxPerHour: maxPerHour(4_000),
    maxPerDay: maxPerDay(10_000),
    minInterval: minInterval(),
    attempts: z
      .strictObject({
        max: z
          .int()
          .min(1)
          .max(20)
          .default(3)
          .describe('Maximum number of resumes of one workflow run, across all its returns to the DLQ.'),
        backoff: z
          .array(durationSetting({ min: '1s' }))
          .min(1)
          .prefault(['10m', '1h', '6h'])
          .describe('Wait after the first resume, the second, and so on. The last value applies to all later ones.'),
      })
      .prefault({})
      .describe('Limit and spacing of the resumes of one workflow run.'),
  });

const deleteCaps = () => ({
  maxPerRun: z.int().min(1).max(10_000).default(100).describe('Maximum number of actions in one run.'),
  maxPerHour: maxPerHour(100),
  maxPerDay: maxPerDay(300),
  minInterval: minInterval(),
  probation: probation(),
});

export const deleteLimits = () =>
  z.strictObject({
    maxMatched: z
      .int()
      .min(1)
      .max(100_000)
      .default(200)
      .describe('Maximum number of matched entries. A larger number has the consequence in onTrip.'),
    maxMatchedShare: z
      .number()
      .gt(0)
      .max(1)
      .default(0.25)
      .describe('Maximum share of matched entries, 0 to 1, in a known population of at least 25.'),
    onTrip: onTrip('abort'),
    ...deleteCaps(),
  });

/** Limits of a prune. It has no limit of matched entries, since it lists none. */
export const pruneLimits = () => z.strictObject(deleteCaps());

export const budgetLimits = () =>
  z.strictObject({
    minInterval: durationSetting({ min: '1h', max: '31d' })
      .prefault('12h')
      .describe('Minimum time between two raises.'),
    maxPerMonth: z.int().min(1).max(31).default(3).describe('Maximum number of raises in a calendar month (UTC).'),
    maxRaisePerMonthUsd: z
      .int()
      .min(1)
      .max(9_980)
      .default(150)
      .describe('Maximum total of all raises in a calendar month (UTC), in dollars.'),
  });

export const rampSettings = () =>
  z
    .strictObject({
      groupBy: z
        .enum(['workflowUrl', 'destination'])
        .default('workflowUrl')
        .describe('Grouping of entries. Each group has its own steps.'),
      start: z.int().min(1).max(100).default(1).describe('Number of entries in the first step.'),
      factor: z.number().min(1).max(10).default(3).describe('Growth of the next step after a verified one.'),
      max: z.int().min(1).max(10_000).default(500).describe('Maximum number of entries in a step.'),
      settle: durationSetting({ min: '1s', max: '45m' })
        .prefault('5m')
        .describe('Time between a step and its verdict. The time is longer if the step’s retries can take longer.'),
    })
    .superRefine(({ start, max }, context) => {
      if (typeof start !== 'number' || typeof max !== 'number' || start <= max) return;
      context.addIssue({ code: 'custom', message: `start is ${start} and max is ${max}; make max at least ${start}` });
    }, always);
