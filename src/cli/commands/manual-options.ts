/** Options of the commands that make manual plans, and the selection that they state. */
import type { ManualAction, Selection } from '#foundation/domain/selection.ts';
import { textOption, UsageError, valueOption, type Call, type OptionSpec } from '../command.ts';
import { REASON_OPTION, YES_OPTION } from '../confirm.ts';
import { DAEMON_OPTIONS } from '../daemon-option.ts';
import {
  ACCOUNT_OPTION,
  filterOption,
  filtersOf,
  periodOption,
  queueOption,
  type FilterOption,
} from '../list-options.ts';
import { OUTPUT_OPTION } from '../output.ts';

const RUN_FILTER_OPTIONS = {
  label: filterOption('Entries with this label.'),
  'workflow-url': filterOption('Runs of this workflow.', 'URL'),
  'workflow-run-id': filterOption('This run.'),
  'flow-control-key': filterOption('Entries with this flow-control key.'),
  'failure-function-state': filterOption('Runs whose failure function is in this state.'),
  'caller-ip': filterOption('Entries that came from this address.'),
} as const satisfies Partial<Record<FilterOption, OptionSpec>>;

const MESSAGE_FILTER_OPTIONS = {
  label: filterOption('Messages with this label.'),
  destination: filterOption('Messages to this URL.', 'URL'),
  'topic-name': filterOption('Messages of this URL Group.'),
  'schedule-id': filterOption('Messages of this schedule.'),
  'response-status': filterOption('Messages whose last attempt had this status.'),
} as const satisfies Partial<Record<FilterOption, OptionSpec>>;

const TIME_OPTIONS = {
  since: valueOption('TIME', 'Failed since this time: 2h, or 2026-11-21T10:00:00Z.'),
  'from-date': valueOption('TIME', 'Same as --since.'),
  'to-date': valueOption('TIME', 'Failed until this time: 2h, or 2026-11-21T10:00:00Z.'),
} as const satisfies Record<string, OptionSpec>;

const SHARED_OPTIONS = {
  ...TIME_OPTIONS,
  account: ACCOUNT_OPTION,
  reason: { ...REASON_OPTION, help: 'Reason for the plan, recorded in the audit log; required.' },
  set: valueOption('LIMIT=VALUE', 'Limit to overrule for this plan, such as limits.maxPerRun=50; may be repeated.', {
    multiple: true,
  }),
  yes: YES_OPTION,
  wait: { type: 'boolean', help: 'Follow the progress until the plan is finished.' },
  watch: { type: 'boolean', short: 'w', help: 'Same as --wait.' },
  ...DAEMON_OPTIONS,
  output: OUTPUT_OPTION,
} as const satisfies Record<string, OptionSpec>;

export const RESUME_OPTIONS = {
  incident: valueOption('ID', 'The failed runs of this incident, at most 1,000; instead of ids.'),
  ...RUN_FILTER_OPTIONS,
  ...SHARED_OPTIONS,
} as const satisfies Record<string, OptionSpec>;

export const REPUBLISH_OPTIONS = {
  ...MESSAGE_FILTER_OPTIONS,
  body: valueOption('FILE', 'Publish this body instead of the kept one: a file, or - for stdin; for one id.'),
  header: valueOption('NAME=VALUE', 'Set a header for the destination, or remove it (NAME=); for one id.', {
    multiple: true,
  }),
  ...SHARED_OPTIONS,
} as const satisfies Record<string, OptionSpec>;

export const DELETE_OPTIONS = {
  queue: valueOption('QUEUE', 'workflow or message: the DLQ, if both have all given filters.'),
  ...RUN_FILTER_OPTIONS,
  ...MESSAGE_FILTER_OPTIONS,
  label: RUN_FILTER_OPTIONS.label,
  ...SHARED_OPTIONS,
} as const satisfies Record<string, OptionSpec>;

export const PRUNE_OPTIONS = {
  ...MESSAGE_FILTER_OPTIONS,
  'queue-name': filterOption('Messages of this queue.'),
  'flow-control-key': filterOption('Messages with this flow-control key.'),
  'caller-ip': filterOption('Messages that came from this address.'),
  ...SHARED_OPTIONS,
  'to-date': { ...TIME_OPTIONS['to-date'], help: 'Failed until this time, at least 1h ago; required.' },
} as const satisfies Record<string, OptionSpec>;

export function selectionOf(call: Call, action: ManualAction): Selection {
  const { values, positionals, io } = call;
  const account = textOption(values, 'account');
  const { fromDate, toDate } = periodOption(values, io.clock.now());
  const queue = queueOption(values);
  const { responseStatus: texts, ...filters } = filtersOf(values);
  return {
    action,
    ...(account !== undefined && { account }),
    ...(queue !== undefined && { queue }),
    ...(positionals.length > 0 && { ids: [...new Set(positionals)] }),
    ...filters,
    ...(texts !== undefined && { responseStatus: [texts].flat().map(statusOf) }),
    ...(fromDate !== undefined && { fromDate }),
    ...(toDate !== undefined && { toDate }),
  };
}

function statusOf(text: string): number {
  const status = Number(text);
  if (/^\d{3}$/.test(text)) return status;
  throw new UsageError(`--response-status must be a status such as 503, not '${text}'`);
}

const RUNS_ONLY: readonly FilterOption[] = ['workflow-url', 'workflow-run-id', 'failure-function-state'];
const MESSAGES_ONLY: readonly FilterOption[] = ['destination', 'topic-name', 'schedule-id', 'response-status'];
/** Both DLQs have these filters, but a failure callback, by which single messages are known, has no such field. */
const NOT_OF_CALLBACKS: readonly FilterOption[] = ['flow-control-key', 'caller-ip'];

/**
 * Action that --queue, or a filter that only one DLQ has, decides. It is never guessed.
 *
 * @returns undefined if ids decide, of which only the daemon knows the DLQ
 * @throws {UsageError} which says how to choose
 */
export function deleteActionOf({ values, positionals }: Call): 'delete' | 'delete-messages' | undefined {
  const given = (names: readonly FilterOption[]) => names.find((name) => values[name] !== undefined);
  const [runs, messages, pruned] = [given(RUNS_ONLY), given(MESSAGES_ONLY), given(NOT_OF_CALLBACKS)];
  if (runs !== undefined && messages !== undefined) {
    throw new UsageError(
      `--${runs} is a filter of workflow runs and --${messages} one of messages; use only one of them`,
    );
  }
  const queue = queueOption(values) ?? (runs && 'workflow') ?? (messages && 'message');
  if (queue === 'workflow') return 'delete';
  const prune = `for messages with it, use opsd dlq prune --${pruned}`;
  if (queue === 'message') {
    if (pruned === undefined) return 'delete-messages';
    throw new UsageError(`dlq delete cannot select messages by --${pruned}; ${prune}`);
  }
  if (positionals.length > 0) return undefined;
  const both = given(['label', ...NOT_OF_CALLBACKS]);
  if (both === undefined) throw new UsageError('dlq delete needs an id or a filter, which says what to delete');
  throw new UsageError(
    `--${both} is a filter of both DLQs; add --queue workflow for failed runs${pruned === undefined ? ', or --queue message for messages' : `; ${prune}`}`,
  );
}
