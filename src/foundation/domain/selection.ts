/**
 * Selection of a manual plan: ids, or filters named as the service names them. A selection without an id and without a
 * filter would mean everything, so it is refused wherever it enters.
 */

import type { BodyEdit } from './carried-message.ts';
import { filterFault } from './filter-value.ts';
import { FAILURE_FUNCTION_STATES } from './workflow-dlq.ts';

export const MANUAL_ACTIONS = ['resume', 'delete', 'republish', 'delete-messages', 'prune'] as const;
export type ManualAction = (typeof MANUAL_ACTIONS)[number];

/** Filters that are texts. The values of one filter are alternatives; all filters must match. */
export const TEXT_FILTERS = [
  'label',
  'workflowUrl',
  'workflowRunId',
  'flowControlKey',
  'failureFunctionState',
  'callerIp',
  'url',
  'topicName',
  'scheduleId',
  'queueName',
] as const;
export type TextFilter = (typeof TEXT_FILTERS)[number];
/** Filters other than time. */
export const SELECTION_FILTERS = [...TEXT_FILTERS, 'responseStatus'] as const;

type Filters = { readonly [F in TextFilter]?: readonly string[] };

export interface Selection extends Filters {
  /** Absent if the daemon has only one account. */
  readonly account?: string;
  readonly action: ManualAction;
  /** Queue of the ids, if they could be of either. */
  readonly queue?: 'workflow' | 'message';
  /** dlqIds. */
  readonly ids?: readonly string[];
  readonly responseStatus?: readonly number[];
  /** Of a republish of one id. */
  readonly edit?: BodyEdit;
  /** Epoch milliseconds, inclusive. */
  readonly fromDate?: number;
  /** Epoch milliseconds, inclusive. */
  readonly toDate?: number;
}

const RUN_FILTERS = ['label', 'workflowUrl', 'workflowRunId', 'flowControlKey', 'failureFunctionState', 'callerIp'];
const MESSAGE_FILTERS = ['label', 'url', 'topicName', 'scheduleId', 'responseStatus'];
/** Filters of each action: those of the service's call, or for single messages the fields of a failure callback. */
const FILTERS_OF: Readonly<Record<ManualAction, readonly string[]>> = {
  resume: RUN_FILTERS,
  delete: RUN_FILTERS,
  republish: MESSAGE_FILTERS,
  'delete-messages': MESSAGE_FILTERS,
  prune: ['label', 'url', 'topicName', 'scheduleId', 'queueName', 'flowControlKey', 'callerIp', 'responseStatus'],
};
/** Queue on which each action acts. */
export const QUEUE_OF = {
  resume: 'workflow',
  delete: 'workflow',
  republish: 'message',
  'delete-messages': 'message',
  prune: 'message',
} as const;

const HOUR_MS = 3_600_000;
const MOST_IDS = 1_000;
const MOST_VALUES = 100;
const MOST_CHARACTERS = 1_000;

/**
 * Returns what is wrong with a selection; undefined if it can become a plan.
 *
 * @param now epoch milliseconds
 */
export function selectionFault(selection: Selection, now: number): string | undefined {
  const { action, ids, fromDate, toDate, queue, edit } = selection;
  if (!MANUAL_ACTIONS.includes(action)) return `action must be one of ${MANUAL_ACTIONS.join(', ')}`;
  const filters = SELECTION_FILTERS.filter((name) => selection[name] !== undefined);
  const strange = filters.find((name) => !FILTERS_OF[action].includes(name));
  if (strange !== undefined) {
    return `${action} has no filter ${strange}; its filters are ${FILTERS_OF[action].join(', ')}`;
  }
  if (ids === undefined && filters.length === 0) {
    return `the selection has no id and no filter, so it would mean everything; add an id or one of ${FILTERS_OF[action].join(', ')}`;
  }
  if (queue !== undefined && queue !== QUEUE_OF[action]) {
    return `${action} acts on the ${QUEUE_OF[action]} DLQ, not on the ${queue} DLQ`;
  }
  if (edit !== undefined && (action !== 'republish' || ids?.length !== 1)) {
    return 'only a republish of one id can have an edit';
  }
  const values = ids === undefined ? undefined : faultOfTexts('ids', ids, MOST_IDS);
  if (values !== undefined) return values;
  for (const name of filters) {
    const fault =
      name === 'responseStatus' ? faultOfStatuses(selection[name]!) : faultOfTexts(name, selection[name]!, MOST_VALUES);
    if (fault !== undefined) return fault;
  }
  const states: readonly string[] = FAILURE_FUNCTION_STATES;
  if (selection.failureFunctionState?.every((state) => states.includes(state)) === false) {
    return `failureFunctionState must be one of ${states.join(', ')}`;
  }
  const isTime = (at: number | undefined): boolean => at === undefined || (Number.isSafeInteger(at) && at >= 0);
  if (!isTime(fromDate) || !isTime(toDate)) return 'fromDate and toDate must be epoch milliseconds';
  if (fromDate !== undefined && toDate !== undefined && fromDate > toDate) return 'fromDate is after toDate';
  if (fromDate !== undefined && fromDate > now) return 'fromDate is in the future, so nothing can match';
  return action === 'prune' ? faultOfPrune(selection, now) : undefined;
}

/** A prune lists nothing, so it needs a bound in time, and ids are not possible. */
function faultOfPrune({ ids, toDate }: Selection, now: number): string | undefined {
  if (ids !== undefined) return 'a prune selects by filters, not by ids; the action delete-messages takes ids';
  if (toDate === undefined) return 'a prune needs toDate: messages that failed later are kept';
  // The last check before the network requires the same.
  return toDate > now - HOUR_MS ? 'toDate must be at least an hour ago: a prune keeps newer messages' : undefined;
}

function faultOfTexts(name: string, values: readonly string[], most: number): string | undefined {
  if (values.length === 0) return `${name} is empty; remove it or add a value`;
  if (values.length > most) return `${name} has ${values.length} values, more than ${most}; use a filter`;
  const fault = values.map(filterFault).find((one) => one !== undefined);
  if (fault !== undefined) return `a value of ${name} ${fault}`;
  const isLong = values.some((value) => value.length > MOST_CHARACTERS);
  return isLong ? `${name} has a value of more than ${MOST_CHARACTERS} characters` : undefined;
}

function faultOfStatuses(values: readonly number[]): string | undefined {
  if (values.length === 0) return 'responseStatus is empty; remove it or add a value';
  const isStatus = (value: number): boolean => Number.isInteger(value) && value >= 100 && value <= 599;
  return values.every(isStatus) ? undefined : 'responseStatus must be statuses from 100 to 599';
}
