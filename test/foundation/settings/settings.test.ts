/** Faults of schedules that the parser of cron expressions accepts. */
import * as z from 'zod/mini';
import { expect, test } from 'vitest';
import { scheduleKeys } from '#foundation/settings/schedule.ts';

const schedule = z.strictObject(scheduleKeys);

test.each([
  ['*/90 * * * *', '*/90 in the minute runs once an hour, at minute 0; for longer intervals use every: 90m'],
  ['0 */60 * * * *', '*/60 in the minute runs once an hour'],
  ['0 */36 * * *', '*/36 in the hour runs once a day'],
])('a step beyond its field (%s) gets a hint', (cron, message) => {
  const { error } = schedule.safeParse({ schedule: cron });
  expect(error?.issues.map((issue) => issue.message)).toEqual([expect.stringContaining(message)]);
});

test.each(['*/30 * * * *', '0 */12 * * *', '*/10 */59 * * * *'])('%s is accepted', (cron) => {
  expect(schedule.safeParse({ schedule: cron }).success).toBe(true);
});
