/** Settings of actions. Functions, because a schema takes time and memory even where nothing uses it. */
import * as z from 'zod/mini';
import {
  group,
  crossCheck,
  defaulted,
  described,
  durationSetting,
  instantSetting,
  wholeNumber,
  matching,
  optional,
  settingsBlock,
  someText,
} from '#foundation/settings/blocks.ts';

const flowControl = () =>
  z.strictObject({
    enabled: defaulted('False sends no flow control.', z.boolean(), true),
    key: optional(
      'Flow-control key. Default: opsd- and the policy’s name.',
      matching(/^[A-Za-z0-9_.-]{1,128}$/, 'expected letters, digits, dots, hyphens and underscores, at most 128'),
    ),
    parallelism: defaulted('Maximum number of runs at the same time.', wholeNumber(1, 10_000), 2),
    rate: defaulted('Maximum number of steps in a period.', wholeNumber(1, 100_000), 5),
    period: defaulted(
      'Period of the rate, in whole seconds.',
      durationSetting({ min: '1s', max: '7d' }).check(z.refine((ms) => ms % 1_000 === 0, 'expected whole seconds')),
      '1s',
    ),
  });

/** Default number of retries: small, so that the outcome of a resumed run is known soon. */
export const DEFAULT_RETRIES = 1;
const retriesOf = (what: string) =>
  defaulted(`Retries of ${what}. A small number shows the outcome sooner.`, wholeNumber(0, 10), DEFAULT_RETRIES);

export const resumeAction = () =>
  z.strictObject({
    type: described('Resume each selected run, with one request for each run.', z.literal('workflow-dlq.resume')),
    retries: retriesOf('each step of the resumed run'),
    flowControlIfAbsent: settingsBlock(
      'Flow control for runs that have none of their own, so that resumes do not overload a recovering destination.',
      flowControl(),
    ),
  });

export const workflowDeleteAction = () =>
  z.strictObject({
    type: described('Delete each selected run by its id.', z.literal('workflow-dlq.delete')),
    archive: described(
      'Archive of deleted entries. Credentials in headers are stored as hashes.',
      z.strictObject({
        dir: described('Folder that entries are written to before they are deleted.', someText),
        require: defaulted('True keeps an entry in the DLQ if it cannot be archived.', z.boolean(), true),
      }),
    ),
    grace: defaulted(
      'Time between the first run that matches an entry and the first run that may delete it.',
      durationSetting({ min: '1h', max: '3650d' }),
      '72h',
    ),
  });

export const republishAction = () =>
  z.strictObject({
    type: described(
      'Publish each selected dead message again from its kept body, and delete it from the DLQ once it is delivered.',
      z.literal('message-dlq.republish'),
    ),
    retries: retriesOf('the delivery'),
    notBefore: optional(
      'Time such as 2026-03-02T10:00:00Z. Messages that were created before it are not published again.',
      instantSetting(),
    ),
    evenIfRepeated: defaulted(
      'True also publishes messages of a schedule that has delivered a later message since.',
      z.boolean(),
      false,
    ),
  });

export const messageDeleteAction = () =>
  z.strictObject({
    type: described('Delete dead messages by the ids from failure callbacks.', z.literal('message-dlq.delete')),
  });

export const pruneAction = () =>
  z.strictObject({
    type: described('Delete old dead messages by filters, without listing them first.', z.literal('message-dlq.prune')),
  });

const CEILING = 'expected 20 to 10000';

export const budgetAction = () =>
  z.strictObject({
    type: described('Set a higher monthly budget.', z.literal('budget.raise')),
    step: described(
      'Amount of one raise.',
      z
        .strictObject({
          percent: optional('Percent of the known budget.', z.number().check(z.gt(0), z.maximum(100))),
          usd: optional('Dollars, instead of percent.', wholeNumber(1, 9_980)),
          roundUpTo: defaulted(
            'Rounds the new budget up to a multiple of this number of dollars.',
            wholeNumber(1, 1_000),
            10,
          ),
        })
        .check(
          crossCheck((step, context) => {
            if (step.percent !== undefined && step.usd !== undefined) {
              const message = 'percent and usd exclude each other; remove one of them';
              context.addIssue({ code: 'custom', path: ['usd'], message });
            }
            if (step.percent === undefined && step.usd === undefined) {
              const message = 'the amount is missing; add percent or usd';
              context.addIssue({ code: 'custom', message, params: { missing: ['percent', 'usd'] } });
            }
          }),
        ),
    ),
    ceilingUsd: described(
      'Maximum budget, in dollars a month.',
      z.int(CEILING).check(z.minimum(20, CEILING), z.maximum(10_000, CEILING)),
    ),
    confirm: group('Readings that must confirm the need for a raise.', {
      readings: defaulted('Number of consecutive readings that must agree.', wholeNumber(2, 10), 2),
      apart: defaulted(
        'Minimum time between the first and the last of these readings.',
        durationSetting({ min: '1m', max: '6h' }),
        '15m',
      ),
    }),
  });
