/** When something runs: `every` on the monotonic clock, or `schedule` by cron. */
import { validateDetailed } from 'node-cron';
import { z } from 'zod';
import { durationSetting } from '../platform/settings.ts';
import { cronSlots } from './cron.ts';

const CRON = 'expected five cron fields (minute hour day month weekday), or six with seconds first';
const TIMEZONE = 'expected an IANA time zone such as Europe/Berlin';

const cronExpression = z
  .string(CRON)
  .regex(/^\s*\S+(\s+\S+){4,5}\s*$/, { error: CRON, abort: true })
  .superRefine((text, context) => {
    for (const error of validateDetailed(text).errors) {
      const isNever = error.message.includes('impossible day of month');
      const fault = error.message.replace(' is a invalid expression for ', ' is not valid for the ');
      const message = isNever ? 'never runs: no such month has such a day' : `not a cron expression: ${fault}`;
      context.addIssue({ code: 'custom', message });
    }
  });

const timezone = z.string(TIMEZONE).refine(isTimezone, TIMEZONE);

function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Keys of a schedule, to be spread into an object of settings. `refineSchedule` says which go together. */
export const scheduleKeys = {
  every: durationSetting({ min: '1s', max: '31d' }).exactOptional().describe('Interval, on the monotonic clock.'),
  schedule: cronExpression
    .exactOptional()
    .describe('Cron expression (UTC unless a timezone is given); day of month and weekday must both match.'),
  timezone: timezone.exactOptional().describe('IANA time zone of `schedule`.'),
};

export function refineSchedule(
  value: { every?: number; schedule?: string; timezone?: string },
  context: z.RefinementCtx,
): void {
  if (value.every !== undefined && value.schedule !== undefined) {
    context.addIssue({
      code: 'custom',
      path: ['schedule'],
      message: 'every and schedule exclude each other; keep one of them',
    });
  }
  if (value.timezone !== undefined && value.schedule === undefined) {
    context.addIssue({
      code: 'custom',
      path: ['timezone'],
      message: 'a timezone means nothing without schedule; remove it, or write a schedule',
    });
  }
}

export type Schedule = { readonly every: number } | { readonly cron: string; readonly timezone: string };

/** The schedule that validated settings mean; `fallbackMs` when neither key is given. */
export function scheduleOf(
  value: { every?: number; schedule?: string; timezone?: string },
  fallbackMs: number,
): Schedule {
  if (value.schedule !== undefined) return { cron: value.schedule, timezone: value.timezone ?? 'UTC' };
  return { every: value.every ?? fallbackMs };
}

const WEEK_MS = 7 * 86_400_000;
/** Slots looked at to tell an expression's rhythm: a week of every ten minutes. */
const LOOK_AHEAD = 1_010;

/** The longest time between two runs, in milliseconds: of a cron expression, the longest found in a week or 1,000 slots. */
export function intervalOf(schedule: Schedule): number {
  if ('every' in schedule) return schedule.every;
  const slots = cronSlots(schedule.cron, schedule.timezone);
  // Any Monday will do: the rhythm counts, not the moment.
  const start = Date.UTC(2026, 0, 5);
  let slot = slots.next(start);
  let longest = 0;
  for (let n = 0; slot !== undefined && n < LOOK_AHEAD; n += 1) {
    const next = slots.next(slot);
    if (next === undefined) break;
    longest = Math.max(longest, next - slot);
    if (next - start > WEEK_MS) break;
    slot = next;
  }
  return longest;
}

/** Runs a day: of a cron expression, as in the week or the 1,000 slots that are looked at. */
export function runsPerDay(schedule: Schedule): number {
  const DAY_MS = WEEK_MS / 7;
  if ('every' in schedule) return DAY_MS / schedule.every;
  const slots = cronSlots(schedule.cron, schedule.timezone);
  const start = Date.UTC(2026, 0, 5);
  let [slot, runs] = [slots.next(start - 1), 0];
  while (slot !== undefined && slot < start + WEEK_MS && runs < LOOK_AHEAD) {
    runs += 1;
    slot = slots.next(slot);
  }
  // A slot less often than once a week counts as one a week: too many is what an estimate may say.
  const span = runs < LOOK_AHEAD ? WEEK_MS : slot! - start;
  return (Math.max(1, runs) * DAY_MS) / span;
}
