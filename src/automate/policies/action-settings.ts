/** Settings of actions. Functions, because a schema takes time and memory even where nothing uses it. */
import { z } from 'zod';
import { always, durationSetting } from '#foundation/platform/settings.ts';

const flowControl = () =>
  z.strictObject({
    enabled: z.boolean().default(true).describe('False sends no flow control.'),
    key: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,128}$/, 'expected letters, digits, dots, hyphens and underscores, at most 128')
      .exactOptional()
      .describe('Flow-control key. Default: opsd- and the policy’s name.'),
    parallelism: z.int().min(1).max(10_000).default(2).describe('Maximum number of runs at the same time.'),
    rate: z.int().min(1).max(100_000).default(5).describe('Maximum number of steps in a period.'),
    period: durationSetting({ min: '1s', max: '7d' })
      .refine((ms) => ms % 1_000 === 0, 'expected whole seconds')
      .prefault('1s')
      .describe('Period of the rate, in whole seconds.'),
  });

/** Default number of retries: small, so that the outcome of a resumed run is known soon. */
export const DEFAULT_RETRIES = 1;

export const resumeAction = () =>
  z.strictObject({
    type: z.literal('workflow-dlq.resume').describe('Resume each selected run, with one request for each run.'),
    retries: z
      .int()
      .min(0)
      .max(10)
      .default(DEFAULT_RETRIES)
      .describe('Retries of each step of the resumed run. A small number shows the outcome sooner.'),
    flowControlIfAbsent: flowControl()
      .prefault({})
      .describe(
        'Flow control for runs that have none of their own, so that resumes do not overload a recovering destination.',
      ),
  });

export const workflowDeleteAction = () =>
  z.strictObject({
    type: z.literal('workflow-dlq.delete').describe('Delete each selected run by its id.'),
    archive: z
      .strictObject({
        dir: z.string().min(1).describe('Folder that entries are written to before they are deleted.'),
        require: z.boolean().default(true).describe('True keeps an entry in the DLQ if it cannot be archived.'),
      })
      .describe('Archive of deleted entries. Credentials in headers are stored as hashes.'),
    grace: durationSetting({ min: '1h', max: '3650d' })
      .prefault('72h')
      .describe('Time between the first run that matches an entry and the first run that may delete it.'),
  });

export const messageDeleteAction = () =>
  z.strictObject({
    type: z.literal('message-dlq.delete').describe('Delete dead messages by the ids from failure callbacks.'),
  });

export const pruneAction = () =>
  z.strictObject({
    type: z.literal('message-dlq.prune').describe('Delete old dead messages by filters, without listing them first.'),
  });

const CEILING = 'expected 20 to 10000';

export const budgetAction = () =>
  z.strictObject({
    type: z.literal('budget.raise').describe('Set a higher monthly budget.'),
    step: z
      .strictObject({
        percent: z.number().gt(0).max(100).exactOptional().describe('Percent of the known budget.'),
        usd: z.int().min(1).max(9_980).exactOptional().describe('Dollars, instead of percent.'),
        roundUpTo: z
          .int()
          .min(1)
          .max(1_000)
          .default(10)
          .describe('Rounds the new budget up to a multiple of this number of dollars.'),
      })
      .superRefine((step, context) => {
        if (step.percent !== undefined && step.usd !== undefined) {
          const message = 'percent and usd exclude each other; remove one of them';
          context.addIssue({ code: 'custom', path: ['usd'], message });
        }
        if (step.percent === undefined && step.usd === undefined) {
          const message = 'the amount is missing; add percent or usd';
          context.addIssue({ code: 'custom', message, params: { missing: ['percent', 'usd'] } });
        }
      }, always)
      .describe('Amount of one raise.'),
    ceilingUsd: z.int(CEILING).min(20, CEILING).max(10_000, CEILING).describe('Maximum budget, in dollars a month.'),
    confirm: z
      .strictObject({
        readings: z.int().min(2).max(10).default(2).describe('Number of consecutive readings that must agree.'),
        apart: durationSetting({ min: '1m', max: '6h' })
          .prefault('15m')
          .describe('Minimum time between the first and the last of these readings.'),
      })
      .prefault({})
      .describe('Readings that must confirm the need for a raise.'),
  });
