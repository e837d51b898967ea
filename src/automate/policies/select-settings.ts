/** What the service is asked for, by resource: only filters that its interface has for the call, or that are learned. */
import { z } from 'zod';
import { FAILURE_FUNCTION_STATES } from '#foundation/domain/workflow-dlq.ts';
import { always, durationSetting } from '#foundation/platform/settings.ts';

/** A filter value goes into a comma-separated list on the wire: a comma would make two filters of one. */
const filterValue = z
  .string()
  .min(1)
  .regex(/^[^,]*$/, 'a comma would make two filters of this value; write two values');
const filterValues = (of: string) => z.array(filterValue).min(1).exactOptional().describe(of);

const within = durationSetting({ min: '1m' }).exactOptional().describe('Only entries that failed within this time.');
const before = durationSetting({ min: '1s' })
  .exactOptional()
  .describe('Only entries that failed longer ago than this.');

/** A value that is no duration is still text when this is asked, and has its own complaint. */
function refineTimes(
  select: { readonly failedWithin?: number; readonly failedBefore?: number },
  context: z.RefinementCtx,
): void {
  if (typeof select.failedWithin !== 'number' || typeof select.failedBefore !== 'number') return;
  if (select.failedBefore < select.failedWithin) return;
  context.addIssue({
    code: 'custom',
    path: ['failedBefore'],
    message: 'must be shorter than failedWithin; as it is nothing can match',
  });
}

const anyLabel = filterValues('Entries with any of these labels.');
const flowControlKey = filterValues('Entries with any of these flow-control keys.');
const callerIp = filterValues('Entries that came from any of these addresses.');

export const workflowDlqSelect = z
  .strictObject({
    resource: z.literal('workflow-dlq').describe('What is acted on.'),
    anyLabel,
    workflowUrl: filterValues('Entries of any of these workflows.'),
    flowControlKey,
    callerIp,
    failureFunctionState: z
      .array(z.enum(FAILURE_FUNCTION_STATES))
      .min(1)
      .exactOptional()
      .describe('Entries whose failure function is in any of these states.'),
    failedWithin: within,
    failedBefore: before,
  })
  .superRefine(refineTimes, always);

const letterFilters = {
  resource: z.literal('message-dlq').describe('What is acted on.'),
  anyLabel,
  url: filterValues('Dead messages to any of these URLs.'),
  topicName: filterValues('Dead messages of any of these URL Groups.'),
  scheduleId: filterValues('Dead messages of any of these schedules.'),
  responseStatus: z
    .array(z.int().min(100).max(599))
    .min(1)
    .exactOptional()
    .describe('Dead messages whose last attempt was answered with any of these statuses.'),
  failedWithin: within,
};

/** Of dead messages that failure callbacks told of: what a callback tells. */
export const deadLetterSelect = z
  .strictObject({ ...letterFilters, failedBefore: before })
  .superRefine(refineTimes, always);

const PRUNE_FILTERS = [
  'anyLabel',
  'url',
  'topicName',
  'scheduleId',
  'queueName',
  'flowControlKey',
  'callerIp',
  'responseStatus',
] as const;

/** The entries go unseen: an upper bound in time, and a filter or the word for all of them. */
export const pruneSelect = z
  .strictObject({
    ...letterFilters,
    queueName: filterValues('Dead messages of any of these queues.'),
    flowControlKey,
    callerIp,
    failedBefore: durationSetting({ min: '1h' }).describe(
      'Only entries that failed longer ago than this; at least 1h.',
    ),
    everything: z
      .literal(true, 'expected true; leave it out where there is a filter')
      .exactOptional()
      .describe('Written out where every old entry is meant.'),
  })
  .superRefine((select, context) => {
    refineTimes(select, context);
    const filters = PRUNE_FILTERS.filter((key) => select[key] !== undefined);
    if (filters.length === 0 && select.everything === undefined) {
      context.addIssue({
        code: 'custom',
        message: 'nothing but a time says what is deleted; add a filter, or everything: true if all of it is meant',
        params: { missing: [...PRUNE_FILTERS, 'everything'] },
      });
    }
    if (filters.length > 0 && select.everything !== undefined) {
      context.addIssue({
        code: 'custom',
        path: ['everything'],
        message: `${filters[0]} narrows what everything widens; keep one of them`,
      });
    }
  }, always);

export const budgetSelect = z.strictObject({
  resource: z.literal('account-budget').describe('What is acted on.'),
});
