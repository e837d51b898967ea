/** Schedule settings: `every` on the monotonic clock, or `schedule` by cron. */
import { validateDetailed } from 'node-cron';
import * as z from 'zod/mini';
import { durationSetting, optional } from './blocks.ts';
import { cronSlots } from './cron.ts';

const CRON = 'expected five cron fields (minute hour day month weekday), or six with seconds first';
const TIMEZONE = 'expected an IANA time zone such as Europe/Berlin';

const cronExpression = z.string(CRON).check(
  z.regex(/^\s*\S+(\s+\S+){4,5}\s*$/, { error: CRON, abort: true }),
  z.superRefine((text, context) => {
    for (const error of validateDetailed(text).errors) {
      const isNever = error.message.includes('impossible day of month');
      const fault = error.message.replace(' is a invalid expression for ', ' is not valid for the ');
      const message = isNever ? 'never runs: the day does not exist in that month' : `not a cron expression: ${fault}`;
      context.addIssue({ code: 'custom', message });
    }
    const step = tooWideStep(text);
    if (step !== undefined) context.addIssue({ code: 'custom', message: step });
  }),
);

/** A step starts again with each hour or day: one beyond the field matches only 0, and every hour or day. */
function tooWideStep(text: string): string | undefined {
  const [hour, minute] = text.trim().split(/\s+/).slice(-5, -3).toReversed();
  const wide = (field: string | undefined, size: number): boolean =>
    Number(/^\*\/(\d+)$/.exec(field ?? '')?.[1]) >= size;
  if (wide(minute, 60))
    return `${minute} in the minute runs once an hour, at minute 0; for longer intervals use every: 90m`;
  return wide(hour, 24)
    ? `${hour} in the hour runs once a day, at hour 0; for longer intervals use every: 36h`
    : undefined;
}

export const timezone = z.string(TIMEZONE).check(z.refine(isTimezone, TIMEZONE));

function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Keys of a schedule, to be spread into a settings object. `refineSchedule` checks their combinations. */
export const scheduleKeys = {
  every: optional('Interval, on the monotonic clock.', durationSetting({ min: '1s', max: '31d' })),
  schedule: optional(
    'Cron expression (UTC unless a timezone is given); the day of month and the weekday must both match.',
    cronExpression,
  ),
  timezone: optional('IANA time zone of `schedule`.', timezone),
};

export function refineSchedule(
  value: { every?: number; schedule?: string; timezone?: string },
  context: z.core.$RefinementCtx,
): void {
  if (value.every !== undefined && value.schedule !== undefined) {
    context.addIssue({
      code: 'custom',
      path: ['schedule'],
      message: 'every and schedule are mutually exclusive; keep one of them',
    });
  }
  if (value.timezone !== undefined && value.schedule === undefined) {
    context.addIssue({
      code: 'custom',
      path: ['timezone'],
      message: 'timezone has no effect without schedule; remove it, or set schedule',
    });
  }
}

export type Schedule = { readonly every: number } | { readonly cron: string; readonly timezone: string };

/** Returns the schedule of validated settings; `fallbackMs` applies if neither key is set. */
export function scheduleOf(
  value: { every?: number; schedule?: string; timezone?: string },
  fallbackMs: number,
): Schedule {
  if (value.schedule !== undefined) return { cron: value.schedule, timezone: value.timezone ?? 'UTC' };
  return { every: value.every ?? fallbackMs };
}

const WEEK_MS = 7 * 86_400_000;
/** Number of slots to check for an expression's rhythm: one week of every ten minutes. */
const LOOK_AHEAD = 1_010;

/**
 * Returns the longest time between two runs, in milliseconds. For a cron expression, the longest one within a week or
 * 1,000 slots.
 */
export function intervalOf(schedule: Schedule): number {
  if ('every' in schedule) return schedule.every;
  const slots = cronSlots(schedule.cron, schedule.timezone);
  // Any Monday works, because only the rhythm matters.
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

/** Returns the runs per day. For a cron expression, the average over the same week or slots. */
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
  // A slot less often than once a week counts as one per week. The estimate may be too high.
  const span = runs < LOOK_AHEAD ? WEEK_MS : slot! - start;
  return (Math.max(1, runs) * DAY_MS) / span;
}
