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
  const text = textOption(values, 'limit');
  const limit = text === undefined ? STANDARD_LIMIT : Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new UsageError(`--limit must be an integer from 1 to ${MAX_LIMIT}, not '${text}'`);
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
