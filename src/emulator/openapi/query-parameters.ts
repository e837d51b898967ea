/**
 * Query parameters of every operation. The request reader (`http/query.ts`) takes names and kinds from here, and the
 * OpenAPI document is generated from here. Both therefore know the same parameters.
 */
import { FAILURE_FUNCTION_STATES } from '../state/failure-function-state.ts';
import { STATS_PERIOD_NAMES } from '../statistics/statistics-period.ts';

/** Maximum and default rows of a page. */
export const MAX_COUNT = 100;

/**
 * Kinds. `text`, `choice`, `integer` and `cursor` take one value. `texts`, `urls` and `integers` take alternatives,
 * repeated or comma-separated. `page-size` is a `count` with a default and a maximum, `at-most` only a maximum.
 */
export interface QueryParameter {
  readonly kind: 'text' | 'choice' | 'integer' | 'texts' | 'urls' | 'integers' | 'cursor' | 'page-size' | 'at-most';
  readonly description: string;
  /** Values of a choice, or the only allowed values of texts. */
  readonly values?: readonly string[];
  /** Default of a choice. */
  readonly default?: string;
}

export type QueryTable = Readonly<Record<string, QueryParameter>>;

/** Values of the `state` filter. FAILED is not one of them; both spellings of CANCELLED occur. */
const LOG_STATE_FILTERS = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'IN_PROGRESS',
  'DELIVERED',
  'CANCEL_REQUESTED',
  'CANCELLED',
  'CANCELED',
] as const;

export type LogStateFilter = (typeof LOG_STATE_FILTERS)[number];

const text = (description: string): QueryParameter => ({ kind: 'text', description });
const texts = (description: string): QueryParameter => ({ kind: 'texts', description });
const urls = (description: string): QueryParameter => ({ kind: 'urls', description });
const integer = (description: string): QueryParameter => ({ kind: 'integer', description });

const cursor: QueryParameter = {
  kind: 'cursor',
  description: 'Cursor of the previous response. The listing continues after it.',
};
const pageSize: QueryParameter = { kind: 'page-size', description: 'Rows of the answer, at most.' };
const dlqIds = texts('Ids of entries. If given, all other filters are ignored. An unknown id is not an error.');

const window: QueryTable = {
  fromDate: integer('Unix milliseconds, inclusive.'),
  toDate: integer('Unix milliseconds, inclusive.'),
};

/** Filter of labels. A comma separates labels, in a header and here. */
const label = texts('Entries with any of these labels.');

const sharedDlqFilters: QueryTable = {
  label,
  callerIp: texts('IP addresses that published.'),
  flowControlKey: texts('Flow-control keys.'),
};

const workflowFilters: QueryTable = {
  ...window,
  workflowUrl: urls('URLs of workflows.'),
  workflowRunId: text('Id of a run.'),
  workflowCreatedAt: integer('Unix milliseconds at which the run was created.'),
  failureFunctionState: { ...texts('States of the failure function.'), values: FAILURE_FUNCTION_STATES },
  ...sharedDlqFilters,
};

const period: QueryTable = {
  period: {
    kind: 'choice',
    description: '60 points spaced to fit the period; 30d has 240 points at 3 hours.',
    values: STATS_PERIOD_NAMES,
    default: '1h',
  },
};

/** Parameters by operation. Operations that are not listed have no query parameters. */
export const QUERY_PARAMETERS = {
  'list-logs': {
    cursor,
    messageId: text('Id of a message.'),
    state: {
      kind: 'choice',
      description: 'State of the entry. IN_PROGRESS is ACTIVE, RETRY and ERROR.',
      values: LOG_STATE_FILTERS,
    },
    url: text('Destination.'),
    topicName: text('Name of a URL Group.'),
    scheduleId: text('Id of a schedule.'),
    queueName: text('Name of a queue.'),
    ...window,
    count: pageSize,
    label,
  },
  'list-workflow-dlq': { cursor, count: pageSize, ...workflowFilters },
  'resume-workflow-dlq': {
    dlqIds,
    cursor,
    count: { kind: 'at-most', description: 'Runs to resume, at most; when absent all that match.' },
    ...workflowFilters,
  },
  'delete-workflow-dlq': {
    dlqIds,
    cursor,
    count: { kind: 'at-most', description: 'Runs to delete, at most; when absent all that match.' },
    ...workflowFilters,
  },
  'delete-dlq': {
    dlqIds,
    cursor,
    messageId: text('Id of a message.'),
    url: urls('Destinations.'),
    topicName: texts('Names of URL Groups.'),
    scheduleId: texts('Ids of schedules.'),
    queueName: texts('Names of queues.'),
    ...window,
    responseStatus: { kind: 'integers', description: 'HTTP statuses of the last delivery attempt.' },
    ...sharedDlqFilters,
    count: pageSize,
  },
  'get-account-stats': period,
  'get-vector-stats': period,
} as const satisfies Readonly<Record<string, QueryTable>>;
