/** Options that lists share. */
import { PAST_TIME_FORM, pastTime } from '#foundation/domain/past-time.ts';
import { textOption, UsageError, valueOption, type OptionSpec, type OptionValues } from './command.ts';
import { DAEMON_OPTIONS } from './daemon-option.ts';
import { LIST_OUTPUT_OPTION } from './output.ts';
import { WATCH_OPTION } from './watch.ts';

export const ACCOUNT_OPTION: OptionSpec = valueOption('NAME', 'Account; required if there are several.', {
  names: 'account',
});

export const SINCE_OPTION: OptionSpec = valueOption('TIME', 'Only since this time: 24h, or 2026-11-21T10:00:00Z.');

export const UNTIL_OPTION: OptionSpec = { ...SINCE_OPTION, help: 'Only until this time: 1h, or 2026-11-21T11:00:00Z.' };

/** Options of filters, with the service's names. `--url` is always the address of the daemon. */
const FILTERS = {
  label: 'label',
  'workflow-url': 'workflowUrl',
  'workflow-run-id': 'workflowRunId',
  'flow-control-key': 'flowControlKey',
  'failure-function-state': 'failureFunctionState',
  'caller-ip': 'callerIp',
  'message-id': 'messageId',
  destination: 'url',
  'topic-name': 'topicName',
  'schedule-id': 'scheduleId',
  'queue-name': 'queueName',
  'response-status': 'responseStatus',
  state: 'state',
  cause: 'cause',
} as const;
export type FilterOption = keyof typeof FILTERS;

/** Values of the given filters, by the service's names. */
export function filtersOf(values: OptionValues): Readonly<Record<string, string | readonly string[]>> {
  const given = Object.entries(FILTERS).filter(([option]) => values[option] !== undefined);
  return Object.fromEntries(given.map(([option, name]) => [name, values[option] as string | readonly string[]]));
}

/** Option of a filter of the service, whose values are alternatives. */
export const filterOption = (help: string, value = 'VALUE'): OptionSpec =>
  valueOption(value, `${help} May be repeated.`, { multiple: true });

const LIMIT_OPTION: OptionSpec = valueOption('N', 'Maximum number of rows; default: 50.');
const STANDARD_LIMIT = 50;
const MAX_LIMIT = 1_000_000;

export const LIST_OPTIONS = {
  limit: LIMIT_OPTION,
  watch: WATCH_OPTION,
  ...DAEMON_OPTIONS,
  output: LIST_OUTPUT_OPTION,
} as const satisfies Readonly<Record<string, OptionSpec>>;

export function limitOption(values: OptionValues): number {
  return integerOption(values, 'limit', { min: 1, max: MAX_LIMIT }) ?? STANDARD_LIMIT;
}

export function queueOption(values: OptionValues): 'workflow' | 'message' | undefined {
  const queue = textOption(values, 'queue');
  if (queue === undefined || queue === 'workflow' || queue === 'message') return queue;
  throw new UsageError(`--queue must be workflow or message, not '${queue}'`);
}

/** @returns undefined without the option */
export function integerOption(
  values: OptionValues,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = textOption(values, name);
  if (text === undefined) return undefined;
  const number = /^\d+$/.test(text) ? Number(text) : -1;
  if (number >= min && number <= max) return number;
  throw new UsageError(`--${name} must be an integer from ${min} to ${max}, not '${text}'`);
}

/** Times of `--since` or `--from-date`, which are the same, and of `--to-date`. */
export function periodOption(values: OptionValues, now: number) {
  const since = timeOption(values, 'since', now);
  const from = timeOption(values, 'from-date', now);
  if (since !== undefined && from !== undefined) throw new UsageError('--since and --from-date are the same; use one');
  return { fromDate: since ?? from, toDate: timeOption(values, 'to-date', now) };
}

/**
 * Time of an option: an age such as `2h`, a date, or epoch milliseconds.
 *
 * @returns epoch milliseconds; undefined without the option
 */
export function timeOption(values: OptionValues, name: string, now: number): number | undefined {
  const text = textOption(values, name);
  if (text === undefined) return undefined;
  const at = pastTime(text, now);
  if (at === undefined) throw new UsageError(`--${name} must be ${PAST_TIME_FORM}, not '${text}'`);
  return at;
}
