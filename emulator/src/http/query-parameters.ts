/** Query parameters of every operation, as requests are read. `openapi.yaml` describes them; a test compares both. */
import { FAILURE_FUNCTION_STATES } from '../state/failure-function-state.ts';
import { STATS_PERIOD_NAMES } from '../statistics/statistics-period.ts';

/** Maximum and default rows of a page. */
export const MAX_COUNT = 100;

/**
 * Kinds. `text`, `choice`, `integer` and `cursor` take one value. `texts`, `urls` and `integers` take alternatives,
 * repeated or comma-separated. `page-size` is a `count` with a default and a maximum, `at-most` only a maximum.
 */
type Kind = 'text' | 'choice' | 'integer' | 'texts' | 'urls' | 'integers' | 'cursor' | 'page-size' | 'at-most';

export interface QueryParameter {
  readonly kind: Kind;
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

const text = { kind: 'text' } as const;
const texts = { kind: 'texts' } as const;
const urls = { kind: 'urls' } as const;
const integer = { kind: 'integer' } as const;
const cursor = { kind: 'cursor' } as const;
const pageSize = { kind: 'page-size' } as const;
const atMost = { kind: 'at-most' } as const;

const window: QueryTable = { fromDate: integer, toDate: integer };

/** A comma separates labels, in a header and here. */
const sharedDlqFilters: QueryTable = { label: texts, callerIp: texts, flowControlKey: texts };

const workflowFilters: QueryTable = {
  ...window,
  workflowUrl: urls,
  workflowRunId: text,
  workflowCreatedAt: integer,
  failureFunctionState: { ...texts, values: FAILURE_FUNCTION_STATES },
  ...sharedDlqFilters,
};

const period: QueryTable = { period: { kind: 'choice', values: STATS_PERIOD_NAMES, default: '1h' } };

/** Parameters by operation. Operations that are not listed have no query parameters. */
export const QUERY_PARAMETERS = {
  'list-logs': {
    cursor,
    messageId: text,
    state: { kind: 'choice', values: LOG_STATE_FILTERS },
    url: text,
    topicName: text,
    scheduleId: text,
    queueName: text,
    ...window,
    count: pageSize,
    label: texts,
  },
  'list-workflow-dlq': { cursor, count: pageSize, ...workflowFilters },
  'resume-workflow-dlq': { dlqIds: texts, cursor, count: atMost, ...workflowFilters },
  'delete-workflow-dlq': { dlqIds: texts, cursor, count: atMost, ...workflowFilters },
  'delete-dlq': {
    dlqIds: texts,
    cursor,
    messageId: text,
    url: urls,
    topicName: texts,
    scheduleId: texts,
    queueName: texts,
    ...window,
    responseStatus: { kind: 'integers' },
    ...sharedDlqFilters,
    count: pageSize,
  },
  'get-account-stats': period,
  'get-vector-stats': period,
} as const satisfies Readonly<Record<string, QueryTable>>;

export function queryTableOf(operation: string): QueryTable {
  return (QUERY_PARAMETERS as Readonly<Record<string, QueryTable>>)[operation] ?? {};
}
