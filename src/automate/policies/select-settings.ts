/**
 * Filters of requests, by resource: only filters that the call's interface has, or that the daemon learns from
 * callbacks.
 */
import { z } from 'zod';
import { FAILURE_FUNCTION_STATES } from '#foundation/domain/workflow-dlq.ts';
import { always, durationSetting } from '#foundation/platform/settings.ts';

/** Value of a filter. The request separates values by commas, so a comma would split one value into two. */
const filterValue = () =>
  z
    .string()
    .min(1)
    .regex(/^[^,]*$/, 'a comma splits the value into two; write two values');
const filterValues = (of: string) => z.array(filterValue()).min(1).exactOptional().describe(of);

const within = () =>
  durationSetting({ min: '1m' }).exactOptional().describe('Only entries that failed within this time.');
const before = () =>
  durationSetting({ min: '1s' }).exactOptional().describe('Only entries whose failure is older than this.');

/** Checks the times against each other. An invalid duration is still a string here; it has its own error. */
function refineTimes(
  select: { readonly failedWithin?: number; readonly failedBefore?: number },
  context: z.RefinementCtx,
): void {
  if (typeof select.failedWithin !== 'number' || typeof select.failedBefore !== 'number') return;
  if (select.failedBefore < select.failedWithin) return;
  context.addIssue({
    code: 'custom',
    path: ['failedBefore'],
    message: 'must be shorter than failedWithin, otherwise nothing can match',
  });
}

const anyLabel = () => filterValues('Entries with any of these labels.');
const flowControlKey = () => filterValues('Entries with any of these flow-control keys.');
const callerIp = () => filterValues('Entries that came from any of these addresses.');

export const workflowDlqSelect = () =>
  z
    .strictObject({
      resource: z.literal('workflow-dlq').describe('Resource of the policy.'),
      anyLabel: anyLabel(),
      workflowUrl: filterValues('Entries of any of these workflows.'),
      flowControlKey: flowControlKey(),
      callerIp: callerIp(),
      failureFunctionState: z
        .array(z.enum(FAILURE_FUNCTION_STATES))
        .min(1)
        .exactOptional()
        .describe('Entries whose failure function is in any of these states.'),
      failedWithin: within(),
      failedBefore: before(),
    })
    .superRefine(refineTimes, always);

const deadLetterFilters = () => ({
  resource: z.literal('message-dlq').describe('Resource of the policy.'),
  anyLabel: anyLabel(),
  url: filterValues('Dead messages to any of these URLs.'),
  topicName: filterValues('Dead messages of any of these URL Groups.'),
  scheduleId: filterValues('Dead messages of any of these schedules.'),
  responseStatus: z
    .array(z.int().min(100).max(599))
    .min(1)
    .exactOptional()
    .describe('Dead messages whose last attempt had a response with any of these statuses.'),
  failedWithin: within(),
});

/** Filters of dead messages: the fields of a failure callback. */
export const deadLetterSelect = () =>
  z.strictObject({ ...deadLetterFilters(), failedBefore: before() }).superRefine(refineTimes, always);

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

/** Selection of a prune, which lists no entries. It needs an upper bound in time, and a filter or `everything`. */
export const pruneSelect = () =>
  z
    .strictObject({
      ...deadLetterFilters(),
      queueName: filterValues('Dead messages of any of these queues.'),
      flowControlKey: flowControlKey(),
      callerIp: callerIp(),
      failedBefore: durationSetting({ min: '1h' }).describe(
        'Only entries whose failure is older than this; at least 1h.',
      ),
      everything: z
        .literal(true, 'expected true; remove it if there is a filter')
        .exactOptional()
        .describe('Selects every old entry. Required if there is no filter.'),
    })
    .superRefine((select, context) => {
      refineTimes(select, context);
      const filters = PRUNE_FILTERS.filter((key) => select[key] !== undefined);
      if (filters.length === 0 && select.everything === undefined) {
        context.addIssue({
          code: 'custom',
          message: 'the selection has only a time; add a filter, or everything: true to delete all old entries',
          params: { missing: [...PRUNE_FILTERS, 'everything'] },
        });
      }
      if (filters.length > 0 && select.everything !== undefined) {
        context.addIssue({
          code: 'custom',
          path: ['everything'],
          message: `everything and ${filters[0]} exclude each other; remove one of them`,
        });
      }
    }, always);

export const budgetSelect = () =>
  z.strictObject({
    resource: z.literal('account-budget').describe('Resource of the policy.'),
  });
