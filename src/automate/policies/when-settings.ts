/** Settings that say when a policy runs, and when it is allowed to act. */
import * as z from 'zod/mini';
import { REPAIRS } from '#foundation/domain/plan.ts';
import { crossCheck, durationSetting, optional, defaulted, someText } from '#foundation/settings/blocks.ts';
import { refineSchedule, scheduleKeys, timezone } from '#foundation/settings/schedule.ts';
import { daysOf, minutesOf } from './window.ts';

const written = (what: string) =>
  optional(what, z.literal(true, 'expected true; remove the key instead of setting it to false'));

const EVENTS = ['alert', 'failureCallback', 'deploy', 'hand'] as const;

const onSettings = () =>
  z
    .strictObject({
      alert: optional(
        'Name of an alert. The policy runs each time the alert starts to fire for the account.',
        someText,
      ),
      failureCallback: written('Run after failure callbacks.'),
      deploy: written('Run after a deploy, and act only on entries that failed before it and that it is about.'),
      after: optional('Time between a deploy and the run. Default: 2m.', durationSetting({ max: '1d' })),
      hand: written('Run only at an operator’s command.'),
    })
    .check(
      crossCheck((value, context) => {
        const given = EVENTS.filter((key) => value[key] !== undefined);
        if (value.after !== undefined && value.deploy === undefined) {
          context.addIssue({ code: 'custom', path: ['after'], message: 'requires deploy: true' });
        }
        if (given.length === 1) return;
        const message =
          given.length === 0
            ? 'no event; add alert: NAME, failureCallback: true, deploy: true or hand: true'
            : `${given.join(' and ')} exclude each other; remove one of them, or write two policies`;
        context.addIssue({
          code: 'custom',
          message,
          ...(given.length === 0 && { params: { missing: [...EVENTS] } }),
        });
      }),
    );

const time = (what: string, fallback: string) =>
  defaulted(
    what,
    z
      .string('expected a time such as "06:00"')
      .check(z.refine((text) => minutesOf(text) !== undefined, 'expected a time such as 06:00, up to 24:00')),
    fallback,
  );

const windowSettings = () =>
  z
    .strictObject({
      days: defaulted(
        'Days on which the window opens.',
        z
          .string('expected days such as mon-fri or sat,sun')
          .check(z.refine((text) => daysOf(text) !== undefined, 'expected days such as mon-fri or sat,sun')),
        'mon-sun',
      ),
      from: time('Time when the window opens.', '00:00'),
      to: time('Time when the window closes. A time before `from` is on the next day.', '24:00'),
      timezone: defaulted('IANA time zone of the times.', timezone, 'UTC'),
    })
    .check(
      crossCheck((window, context) => {
        if (window.from !== window.to) return;
        const message = 'equals from, so the window never opens; write 24:00 for the end of the day';
        context.addIssue({ code: 'custom', path: ['to'], message });
      }),
    );

export const whenKeys = () => ({
  ...scheduleKeys,
  on: optional('Event that starts a run, with or without an interval.', onSettings()),
  windows: defaulted('Windows when the policy is allowed to act. Default: always.', z.array(windowSettings()), []),
});

interface When {
  readonly every?: number;
  readonly schedule?: string;
  readonly timezone?: string;
  readonly on?: { readonly hand?: true; readonly deploy?: true };
  readonly action?: { readonly type?: string };
}

/** @param mustBeSaid true if no default interval suits every policy */
export function refineWhen(mustBeSaid: boolean) {
  return (value: When, context: z.core.$RefinementCtx): void => {
    refineSchedule(value, context);
    const given = (['every', 'schedule'] as const).filter((key) => value[key] !== undefined);
    if (value.on?.hand !== undefined && given.length > 0) {
      const message = `${given.join(', ')} and on.hand exclude each other; remove one of them`;
      context.addIssue({ code: 'custom', path: ['on', 'hand'], message });
    }
    if (value.on?.deploy !== undefined && !REPAIRS.some((type) => type === value.action?.type)) {
      const message = `only ${REPAIRS.join(' and ')} can wait for a deploy`;
      context.addIssue({ code: 'custom', path: ['on', 'deploy'], message });
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
