/** Settings that say when a policy runs, and when it is allowed to act. */
import { z } from 'zod';
import { always } from '#foundation/platform/settings.ts';
import { refineSchedule, scheduleKeys } from '#foundation/scheduler/settings.ts';
import { daysOf, minutesOf } from './window.ts';

const written = (what: string) =>
  z.literal(true, 'expected true; remove the key instead of setting it to false').exactOptional().describe(what);

const onSettings = () =>
  z
    .strictObject({
      alert: z
        .string()
        .min(1)
        .exactOptional()
        .describe('Name of an alert. The policy runs each time the alert starts to fire for the account.'),
      failureCallback: written('Run after failure callbacks.'),
      hand: written('Run only at an operator’s command.'),
    })
    .superRefine((value, context) => {
      const given = ['alert', 'failureCallback', 'hand'].filter(
        (key) => value[key as keyof typeof value] !== undefined,
      );
      if (given.length === 1) return;
      const message =
        given.length === 0
          ? 'no event; add alert: NAME, failureCallback: true or hand: true'
          : `${given.join(' and ')} exclude each other; remove one of them, or write two policies`;
      context.addIssue({
        code: 'custom',
        message,
        ...(given.length === 0 && { params: { missing: ['alert', 'failureCallback', 'hand'] } }),
      });
    }, always);

const time = (what: string) =>
  z
    .string('expected a time such as "06:00"')
    .refine((text) => minutesOf(text) !== undefined, 'expected a time such as 06:00, up to 24:00')
    .describe(what);

const windowSettings = () =>
  z
    .strictObject({
      days: z
        .string('expected days such as mon-fri or sat,sun')
        .refine((text) => daysOf(text) !== undefined, 'expected days such as mon-fri or sat,sun')
        .default('mon-sun')
        .describe('Days on which the window opens.'),
      from: time('Time when the window opens.').default('00:00'),
      to: time('Time when the window closes. A time before `from` is on the next day.').default('24:00'),
      timezone: scheduleKeys.timezone.unwrap().default('UTC').describe('IANA time zone of the times.'),
    })
    .superRefine((window, context) => {
      if (window.from !== window.to) return;
      const message = 'equals from, so the window never opens; write 24:00 for the end of the day';
      context.addIssue({ code: 'custom', path: ['to'], message });
    }, always);

export const whenKeys = () => ({
  ...scheduleKeys,
  on: onSettings().exactOptional().describe('Event that starts a run, with or without an interval.'),
  windows: z
    .array(windowSettings())
    .default([])
    .describe('Windows when the policy is allowed to act. Default: always.'),
});

interface When {
  readonly every?: number;
  readonly schedule?: string;
  readonly timezone?: string;
  readonly on?: { readonly hand?: true };
}

/** @param mustBeSaid true if no default interval suits every policy */
export function refineWhen(mustBeSaid: boolean) {
  return (value: When, context: z.RefinementCtx): void => {
    refineSchedule(value, context);
    const given = (['every', 'schedule'] as const).filter((key) => value[key] !== undefined);
    if (value.on?.hand !== undefined && given.length > 0) {
      const message = `${given.join(', ')} and on.hand exclude each other; remove one of them`;
      context.addIssue({ code: 'custom', path: ['on', 'hand'], message });
    }
    if (mustBeSaid && given.length === 0 && value.on === undefined) {
      context.addIssue({
        code: 'custom',
        message: 'the policy has no trigger; add every, schedule or on',
        params: { missing: ['every', 'schedule', 'on'] },
      });
    }
  };
}
