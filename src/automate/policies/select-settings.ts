/**
 * Filters of requests, by resource: only filters that the call's interface has, or that the daemon learns from
 * callbacks.
 */
import * as z from 'zod/mini';
import { filterFault } from '#foundation/domain/filter-value.ts';
import { FAILURE_FUNCTION_STATES } from '#foundation/domain/workflow-dlq.ts';
import {
  crossCheck,
  described,
  durationSetting,
  wholeNumber,
  optional,
  withMeta,
} from '#foundation/settings/blocks.ts';

/** Value of a filter. Editors know only that it is not empty and has no comma. */
const filterValue = () =>
  withMeta(
    z.string().check((context) => {
      const message = filterFault(context.value);
      if (message !== undefined) context.issues.push({ code: 'custom', message, input: context.value });
    }),
    { minLength: 1, pattern: '^[^,]*$' },
  );
const filterValues = (of: string) => optional(of, z.array(filterValue()).check(z.minLength(1)));

const within = () => optional('Only entries that failed within this time.', durationSetting({ min: '1m' }));
const before = () => optional('Only entries whose failure is older than this.', durationSetting({ min: '1s' }));

/** Checks the times against each other. An invalid duration is still a string here; it has its own error. */
function refineTimes(
  select: { readonly failedWithin?: number; readonly failedBefore?: number },
  context: z.core.$RefinementCtx,
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
      resource: described('Resource of the policy.', z.literal('workflow-dlq')),
      anyLabel: anyLabel(),
      workflowUrl: filterValues('Entries of any of these workflows.'),
      flowControlKey: flowControlKey(),
      callerIp: callerIp(),
      failureFunctionState: optional(
        'Entries whose failure function is in any of these states.',
        z.array(z.enum(FAILURE_FUNCTION_STATES)).check(z.minLength(1)),
      ),
      failedWithin: within(),
      failedBefore: before(),
    })
    .check(crossCheck(refineTimes));

const deadLetterFilters = () => ({
  resource: described('Resource of the policy.', z.literal('message-dlq')),
  anyLabel: anyLabel(),
  url: filterValues('Dead messages to any of these URLs.'),
  topicName: filterValues('Dead messages of any of these URL Groups.'),
  scheduleId: filterValues('Dead messages of any of these schedules.'),
  responseStatus: optional(
    'Dead messages whose last attempt had a response with any of these statuses.',
    z.array(wholeNumber(100, 599)).check(z.minLength(1)),
  ),
  failedWithin: within(),
});

/** Filters of dead messages: the fields of a failure callback. */
export const deadLetterSelect = () =>
  z.strictObject({ ...deadLetterFilters(), failedBefore: before() }).check(crossCheck(refineTimes));

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
      failedBefore: described(
        'Only entries whose failure is older than this; at least 1h.',
        durationSetting({ min: '1h' }),
      ),
      everything: optional(
        'Selects every old entry. Required if there is no filter.',
        z.literal(true, 'expected true; remove it if there is a filter'),
      ),
    })
    .check(
      crossCheck((select, context) => {
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
      }),
    );

export const budgetSelect = () =>
  z.strictObject({
    resource: described('Resource of the policy.', z.literal('account-budget')),
  });
