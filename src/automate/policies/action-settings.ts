/** What is done, and how. */
import { z } from 'zod';
import { always, durationSetting } from '#foundation/platform/settings.ts';

const flowControl = z.strictObject({
  enabled: z.boolean().default(true).describe('Whether it is sent at all.'),
  key: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,128}$/, 'expected letters, digits, dots, hyphens and underscores, at most 128')
    .exactOptional()
    .describe('Flow-control key; without it opsd- and the policy’s name.'),
  parallelism: z.int().min(1).max(10_000).default(2).describe('Runs at the same time.'),
  rate: z.int().min(1).max(100_000).default(5).describe('Steps in a period.'),
  period: durationSetting({ min: '1s', max: '7d' })
    .refine((ms) => ms % 1_000 === 0, 'expected whole seconds')
    .prefault('1s')
    .describe('Period of the rate.'),
});

/** Few, so that what becomes of a resumed run is known soon. */
export const DEFAULT_RETRIES = 1;

export const resumeAction = z.strictObject({
  type: z.literal('workflow-dlq.resume').describe('Resume each selected run, one request a run.'),
  retries: z
    .int()
    .min(0)
    .max(10)
    .default(DEFAULT_RETRIES)
    .describe('Retries of each step of the resumed run: few, so that what becomes of it is known soon.'),
  flowControlIfAbsent: flowControl
    .prefault({})
    .describe('Flow control of runs that have none of their own, so that what recovers is not run over.'),
});

export const workflowDeleteAction = z.strictObject({
  type: z.literal('workflow-dlq.delete').describe('Delete each selected run by its id.'),
  archive: z
    .strictObject({
      dir: z.string().min(1).describe('Folder that entries are written to before they are deleted.'),
      require: z.boolean().default(true).describe('Whether an entry that cannot be archived stays where it is.'),
    })
    .describe('What is kept of deleted entries; credentials in headers are kept as hashes.'),
  grace: durationSetting({ min: '1h', max: '3650d' })
    .prefault('72h')
    .describe('Time between the first run that matched an entry and the first that may delete it.'),
});

export const messageDeleteAction = z.strictObject({
  type: z.literal('message-dlq.delete').describe('Delete dead messages by the ids that failure callbacks told.'),
});

export const pruneAction = z.strictObject({
  type: z.literal('message-dlq.prune').describe('Delete old dead messages by filters: they go unseen.'),
});

const CEILING = 'expected 20 to 10000';

export const budgetAction = z.strictObject({
  type: z.literal('budget.raise').describe('Set a higher monthly budget.'),
  step: z
    .strictObject({
      percent: z.number().gt(0).max(100).exactOptional().describe('Percent of the known budget.'),
      usd: z.int().min(1).max(9_980).exactOptional().describe('Dollars, in place of percent.'),
      roundUpTo: z.int().min(1).max(1_000).default(10).describe('The new budget is a multiple of so many dollars.'),
    })
    .superRefine((step, context) => {
      if (step.percent !== undefined && step.usd !== undefined) {
        const message = 'percent and usd exclude each other; keep one of them';
        context.addIssue({ code: 'custom', path: ['usd'], message });
      }
      if (step.percent === undefined && step.usd === undefined) {
        const message = 'nothing says how much; add percent or usd';
        context.addIssue({ code: 'custom', message, params: { missing: ['percent', 'usd'] } });
      }
    }, always)
    .describe('By how much one raise goes up.'),
  ceilingUsd: z.int(CEILING).min(20, CEILING).max(10_000, CEILING).describe('Dollars a month that it never exceeds.'),
  confirm: z
    .strictObject({
      readings: z.int().min(2).max(10).default(2).describe('Readings in a row that must agree.'),
      apart: durationSetting({ min: '1m', max: '6h' })
        .prefault('15m')
        .describe('Least time between the first and the last of them.'),
    })
    .prefault({})
    .describe('What is read once is not acted on.'),
});
