/** Limits of a policy: how much, how fast and how often it is allowed to act. All are finite, and zero is an error. */
import * as z from 'zod/mini';
import { group, crossCheck, defaulted, durationSetting, wholeNumber, optional } from '#foundation/settings/blocks.ts';

const maxPerHour = (fallback: number) =>
  defaulted('Maximum number of actions in a sliding hour.', wholeNumber(1, 100_000), fallback);
const maxPerDay = (fallback: number) =>
  defaulted('Maximum number of actions in a sliding day.', wholeNumber(1, 1_000_000), fallback);
const maxMatched = (most: number, fallback: number) =>
  defaulted(
    'Maximum number of matched entries. A larger number has the consequence in onTrip.',
    wholeNumber(1, most),
    fallback,
  );
const minInterval = () =>
  optional(
    'Minimum time between the last action of a run and the first of the next run. Default: none.',
    durationSetting({ min: '1s', max: '31d' }),
  );
const onTrip = (fallback: 'approve' | 'abort') =>
  defaulted(
    'Consequence of too many matches. approve: ask an operator. abort: act on none.',
    z.enum(['approve', 'abort']),
    fallback,
  );
const probation = () =>
  group('First runs of a new or widened policy, which are in audit mode.', {
    runs: defaulted('Number of audit runs of a new or widened policy.', wholeNumber(1, 100), 3),
  });

export const repairLimits = () =>
  z.strictObject({
    maxMatched: maxMatched(1_000_000, 10_000),
    onTrip: onTrip('approve'),
    maxPerRun: defaulted('Maximum number of actions in one run.', wholeNumber(1, 10_000), 500),
    maxPerHour: maxPerHour(4_000),
    maxPerDay: maxPerDay(10_000),
    minInterval: minInterval(),
    attempts: group('Limit and spacing of the repairs of one run or message.', {
      max: defaulted(
        'Maximum number of repairs of one run or message, across all its returns to the DLQ.',
        wholeNumber(1, 20),
        3,
      ),
      backoff: defaulted(
        'Wait after the first repair, the second, and so on. The last value applies to all later ones.',
        z.array(durationSetting({ min: '1s' })).check(z.minLength(1)),
        ['10m', '1h', '6h'],
      ),
    }),
  });

const deleteCaps = () => ({
  maxPerRun: defaulted('Maximum number of actions in one run.', wholeNumber(1, 10_000), 100),
  maxPerHour: maxPerHour(100),
  maxPerDay: maxPerDay(300),
  minInterval: minInterval(),
  probation: probation(),
});

export const deleteLimits = () =>
  z.strictObject({
    maxMatched: maxMatched(100_000, 200),
    maxMatchedShare: defaulted(
      'Maximum share of matched entries, 0 to 1, in a known population of at least 25.',
      z.number().check(z.gt(0), z.maximum(1)),
      0.25,
    ),
    onTrip: onTrip('abort'),
    ...deleteCaps(),
  });

/** Limits of a prune. It has no limit of matched entries, since it lists none. */
export const pruneLimits = () => z.strictObject(deleteCaps());

export const budgetLimits = () =>
  z.strictObject({
    minInterval: defaulted('Minimum time between two raises.', durationSetting({ min: '1h', max: '31d' }), '12h'),
    maxPerMonth: defaulted('Maximum number of raises in a calendar month (UTC).', wholeNumber(1, 31), 3),
    maxRaisePerMonthUsd: defaulted(
      'Maximum total of all raises in a calendar month (UTC), in dollars.',
      wholeNumber(1, 9_980),
      150,
    ),
  });

/** @param by grouping other than by destination */
export const rampSettings = (by: 'workflowUrl' | 'url') =>
  z
    .strictObject({
      groupBy: defaulted('Grouping of entries. Each group has its own steps.', z.enum([by, 'destination']), by),
      start: defaulted('Number of entries in the first step.', wholeNumber(1, 100), 1),
      factor: defaulted(
        'Growth of the next step after a verified one.',
        z.number().check(z.minimum(1), z.maximum(10)),
        3,
      ),
      max: defaulted('Maximum number of entries in a step.', wholeNumber(1, 10_000), 500),
      settle: defaulted(
        'Time between a step and its verdict. The time is longer if the step’s retries can take longer.',
        durationSetting({ min: '1s', max: '45m' }),
        '5m',
      ),
    })
    .check(
      crossCheck(({ start, max }, context) => {
        if (typeof start !== 'number' || typeof max !== 'number' || start <= max) return;
        context.addIssue({
          code: 'custom',
          message: `start is ${start} and max is ${max}; make max at least ${start}`,
        });
      }),
    );
