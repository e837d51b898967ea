/**
 * Table of the service's operations (interface, section 4), with the interface's names. Raw calls, the API and the
 * commands read it; it is the only place that knows the keys.
 */
import { LOG_STATES } from '#foundation/domain/log-entry.ts';
import { STATS_PERIODS } from '#foundation/domain/statistics.ts';
import type { ValueKind } from './value-kinds.ts';

/** Place of a key in the request. `daemon`: for the daemon itself, not sent. */
type KeyPlace = 'path' | 'query' | 'header' | 'content-type' | 'body' | 'raw' | 'daemon';

export interface OperationKey {
  readonly in: KeyPlace;
  /** Name on the wire, of a header without its prefix. Default: the key itself. */
  readonly wire?: string;
  readonly kind: ValueKind;
  /** Allowed values of a `choice`. */
  readonly values?: readonly string[];
  readonly required?: true;
  /** Value if the key is absent: the id of the account in the configuration. */
  readonly default?: 'accountId';
  /** True if the key selects entries. Pages and times alone select everything. */
  readonly selects?: true;
  readonly help: string;
}

/** Object whose name must be typed before the operation is sent. */
type Confirmation = 'account' | 'index' | 'lower-budget';

export interface Operation {
  readonly name: string;
  readonly api: 'message' | 'management';
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Template. `{product}` is the installation's name in management paths. */
  readonly path: string;
  readonly summary: string;
  readonly keys: Readonly<Record<string, OperationKey>>;
  /** Entries on which it acts at once. Such a call needs ids or a filter. */
  readonly bulk?: 'workflow-dlq' | 'message-dlq';
  readonly confirm?: Confirmation;
  /** True if its response has bodies and headers of users' messages, which a viewer must not read. */
  readonly showsMessages?: true;
}

const required = <K extends OperationKey>(key: K): K & { required: true } => ({ ...key, required: true });
const selects = <K extends OperationKey>(key: K): K & { selects: true } => ({ ...key, selects: true });

const query = <K extends ValueKind>(kind: K, help: string) => ({ in: 'query', kind, help }) as const;
const body = (kind: ValueKind, help: string): OperationKey => required({ in: 'body', kind, help });
const header = (wire: string, kind: ValueKind, help: string): OperationKey => ({ in: 'header', wire, kind, help });
const choice = <V extends string>(key: Omit<OperationKey, 'kind' | 'values'>, values: readonly V[]) =>
  ({ ...key, kind: 'choice', values }) as const;

const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const cursor = query('text', 'cursor of the previous page');
const pageSize = query('count', 'rows of the page, 1 to 100');
const times = {
  fromDate: query('time', 'first time, Unix milliseconds'),
  toDate: query('time', 'last time, Unix milliseconds'),
};
const ids = selects(query('ids', 'ids of entries, at most 100; excludes all other filters'));

export const logQuery = {
  cursor,
  messageId: query('id', 'id of a message'),
  state: choice({ in: 'query', help: 'state of the entries' }, LOG_STATES),
  url: query('text', 'URL of a destination'),
  topicName: query('text', 'name of a URL Group'),
  scheduleId: query('text', 'id of a schedule'),
  queueName: query('text', 'name of a queue'),
  ...times,
  count: pageSize,
  label: query('texts', 'labels'),
};

export const workflowFilters = {
  ...times,
  workflowUrl: selects(query('texts', 'URLs of workflows')),
  workflowRunId: selects(query('id', 'id of a run')),
  workflowCreatedAt: query('time', 'time when the run was created, Unix milliseconds'),
  label: selects(query('texts', 'labels')),
  failureFunctionState: selects(query('texts', 'states of the failure function, such as CALLBACK_FAIL')),
  callerIp: selects(query('texts', 'IP addresses of callers')),
  flowControlKey: selects(query('texts', 'flow-control keys')),
};
const workflowBulk = {
  dlqIds: ids,
  cursor,
  count: query('amount', 'maximum number of runs; without it all that match'),
  ...workflowFilters,
};

export const dlqFilters = {
  cursor,
  messageId: selects(query('id', 'id of a message')),
  url: selects(query('texts', 'URLs of destinations')),
  topicName: selects(query('texts', 'names of URL Groups')),
  scheduleId: selects(query('texts', 'ids of schedules')),
  queueName: selects(query('texts', 'names of queues')),
  ...times,
  responseStatus: selects(query('statuses', 'HTTP statuses of the last attempt')),
  callerIp: selects(query('texts', 'IP addresses of callers')),
  label: selects(query('texts', 'labels')),
  flowControlKey: selects(query('texts', 'flow-control keys')),
  count: query('count', 'maximum number of dead letters, 1 to 100'),
};

const delay = header('Delay', 'duration', 'delay before delivery, such as 1h30m');
const retryDelay = header('Retry-Delay', 'text', 'expression in `retried` for the delay before each retry');
const delivery = {
  retries: header('Retries', 'amount', 'retries after a failure'),
  retryDelay,
  delay,
  notBefore: header('Not-Before', 'seconds', 'earliest delivery, Unix seconds; replaces delay'),
  label: header('Label', 'texts', 'labels'),
  flowControlKey: header('Flow-Control-Key', 'text', 'flow-control key; needs flowControlValue'),
  flowControlValue: header('Flow-Control-Value', 'text', 'parallelism=N, rate=N, period=N; needs flowControlKey'),
  forward: header('Forward', 'headers', 'headers for the destination, as a JSON object; or one as forwardMyHeader=…'),
};

function callback(key: 'callback' | 'failureCallback', wire: string, when: string): Record<string, OperationKey> {
  return {
    [key]: header(wire, 'url', `URL that is called ${when}`),
    [`${key}Forward`]: header(`${wire}-Forward`, 'headers', 'headers for the callback, as a JSON object'),
    [`${key}Method`]: choice({ in: 'header', wire: `${wire}-Method`, help: 'method of the callback' }, HTTP_METHODS),
    [`${key}Timeout`]: header(`${wire}-Timeout`, 'duration', 'maximum duration of the callback'),
    [`${key}Retries`]: header(`${wire}-Retries`, 'amount', 'retries of the callback'),
    [`${key}RetryDelay`]: header(`${wire}-Retry-Delay`, 'text', 'expression for the delay between retries'),
    [`${key}Delay`]: header(`${wire}-Delay`, 'duration', 'delay before the callback'),
  };
}

const rawBody: OperationKey = { in: 'raw', kind: 'body', help: 'the message itself; a file with --body FILE' };

const accountId: OperationKey = {
  in: 'path',
  kind: 'text',
  default: 'accountId',
  help: 'id of the account; default: the configured one',
};
const indexId = required<OperationKey>({ in: 'path', kind: 'text', help: 'id of the index' });
const period = choice({ in: 'query', help: 'period of the points; default: 1h' }, STATS_PERIODS);

/** All operations, in the order of the interface. */
export const OPERATIONS: readonly Operation[] = [
  {
    name: 'add-endpoints',
    api: 'message',
    method: 'POST',
    path: '/v2/topics/{urlGroupName}/endpoints',
    summary: 'Add endpoints to a URL Group; creates the group if it does not exist.',
    keys: {
      urlGroupName: required({ in: 'path', kind: 'text', help: 'name of the URL Group' }),
      endpoints: body('endpoints', 'JSON array of {"url": …, "name": …}'),
    },
  },
  {
    name: 'list-url-groups',
    api: 'message',
    method: 'GET',
    path: '/v2/topics',
    summary: 'List URL Groups.',
    keys: {},
  },
  {
    name: 'list-logs',
    api: 'message',
    method: 'GET',
    path: '/v2/logs',
    summary: 'List log entries of messages.',
    showsMessages: true,
    keys: logQuery,
  },
  {
    name: 'publish',
    api: 'message',
    method: 'POST',
    path: '/v2/publish/{destination}',
    summary: 'Publish a message to a URL or a URL Group.',
    keys: {
      destination: required({ in: 'path', kind: 'destination', help: 'URL, or name of a URL Group' }),
      body: rawBody,
      contentType: { in: 'content-type', kind: 'text', help: 'MIME type of the body' },
      method: choice({ in: 'header', wire: 'Method', help: 'method of the delivery; default: POST' }, HTTP_METHODS),
      timeout: header('Timeout', 'duration', 'maximum duration of a delivery attempt'),
      ...delivery,
      deduplicationId: header('Deduplication-Id', 'text', 'id; a second message with it within 10 minutes is ignored'),
      contentBasedDeduplication: header('Content-Based-Deduplication', 'boolean', 'a hash of the body is the id'),
      ...callback('callback', 'Callback', 'after each delivery attempt'),
      ...callback('failureCallback', 'Failure-Callback', 'after the last retry'),
      redactFields: header('Redact-Fields', 'redactions', 'body, headers, header[NAME]: shown only as a hash'),
    },
  },
  {
    name: 'trigger',
    api: 'message',
    method: 'POST',
    path: '/v2/trigger/{workflowUrl}',
    summary: 'Trigger a workflow run.',
    keys: {
      workflowUrl: required({ in: 'path', kind: 'url', help: 'URL of the workflow' }),
      body: rawBody,
      workflowRunId: header('Workflow-RunId', 'text', 'id of the run; default: random'),
      ...delivery,
      failureCallback: header('Failure-Callback', 'url', 'URL that is called after the last retry'),
      failureCallbackForward: header('Failure-Callback-Forward', 'headers', 'headers for it, as a JSON object'),
    },
  },
  {
    name: 'list-workflow-dlq',
    api: 'message',
    method: 'GET',
    path: '/v2/workflows/dlq',
    summary: 'List failed workflow runs.',
    showsMessages: true,
    keys: { cursor, count: pageSize, ...workflowFilters },
  },
  {
    name: 'resume-workflow-dlq',
    api: 'message',
    method: 'POST',
    path: '/v2/workflows/dlq/resume',
    summary: 'Resume failed workflow runs.',
    bulk: 'workflow-dlq',
    keys: {
      ...workflowBulk,
      retries: header('Retries', 'amount', 'retries of the remaining steps'),
      delay: header('Delay', 'duration', 'delay of the remaining steps'),
      retryDelay,
      // The names of these two headers are filters as well.
      overrideFlowControlKey: header('Flow-Control-Key', 'text', 'new flow-control key; needs flowControlValue'),
      flowControlValue: header('Flow-Control-Value', 'text', 'parallelism=N, rate=N, period=N'),
      overrideLabel: header('Label', 'texts', 'new labels'),
      failureCallback: header('Failure-Callback', 'url', 'URL that is called after the last retry'),
    },
  },
  {
    name: 'delete-workflow-dlq',
    api: 'message',
    method: 'DELETE',
    path: '/v2/workflows/dlq',
    summary: 'Delete failed workflow runs.',
    bulk: 'workflow-dlq',
    keys: workflowBulk,
  },
  {
    name: 'delete-dlq',
    api: 'message',
    method: 'DELETE',
    path: '/v2/dlq',
    summary: 'Delete dead letters.',
    bulk: 'message-dlq',
    keys: { dlqIds: ids, ...dlqFilters },
  },
  {
    name: 'get-flow-control',
    api: 'message',
    method: 'GET',
    path: '/v2/flowControl/{flowControlKey}',
    summary: 'Read the live state of a flow-control key.',
    keys: { flowControlKey: required({ in: 'path', kind: 'text', help: 'the key' }) },
  },
  {
    name: 'move-to-team',
    api: 'management',
    method: 'POST',
    path: '/v2/{product}/move-to-team',
    summary: 'Move an account to a team.',
    confirm: 'account',
    keys: {
      msgsvc_id: {
        in: 'body',
        kind: 'text',
        default: 'accountId',
        help: 'id of the account; default: the configured one',
      },
      target_team_id: body('text', 'id of the team'),
    },
  },
  {
    name: 'set-plan',
    api: 'management',
    method: 'POST',
    path: '/v2/{product}/set-plan/{id}',
    summary: 'Change the plan of an account, and its limits.',
    confirm: 'account',
    keys: {
      id: accountId,
      plan_name: body('plan', 'paid, msgsvc_fixed_1m, msgsvc_fixed_10m or msgsvc_fixed_100m'),
    },
  },
  {
    name: 'rotate-token',
    api: 'management',
    method: 'POST',
    path: '/v2/{product}/rotate-token/{id}',
    summary: 'Replace the tokens of an account. The old ones end at once.',
    confirm: 'account',
    keys: {
      id: accountId,
      tokenFile: {
        in: 'daemon',
        kind: 'text',
        help: 'file on the daemon’s machine for the new token; default: the configured one',
      },
    },
  },
  {
    name: 'update-budget',
    api: 'management',
    method: 'PATCH',
    path: '/v2/{product}/update-budget/{id}',
    summary: 'Set the monthly budget of an account.',
    confirm: 'lower-budget',
    keys: { id: accountId, budget: body('budget', 'US dollars, 20 to 10000; 0 is unlimited') },
  },
  {
    name: 'get-account-stats',
    api: 'management',
    method: 'GET',
    path: '/v2/{product}/stats/{id}',
    summary: 'Read the statistics of an account.',
    keys: { id: accountId, period },
  },
  {
    name: 'create-index',
    api: 'management',
    method: 'POST',
    path: '/v2/search',
    summary: 'Create a search index.',
    keys: {
      name: body('text', 'name of the index'),
      region: body('text', 'region, such as eu-west-1 or us-central1'),
      type: body('text', 'payment plan: free, payg or fixed'),
    },
  },
  {
    name: 'get-index',
    api: 'management',
    method: 'GET',
    path: '/v2/search/{id}',
    summary: 'Read a search index.',
    keys: { id: indexId },
  },
  {
    name: 'rename-index',
    api: 'management',
    method: 'POST',
    path: '/v2/search/{id}/rename',
    summary: 'Rename a search index.',
    keys: { id: indexId, name: body('text', 'new name') },
  },
  {
    name: 'transfer-index',
    api: 'management',
    method: 'POST',
    path: '/v2/search/{id}/transfer',
    summary: 'Transfer a search index to another account.',
    confirm: 'index',
    keys: { id: indexId, target_account: body('text', 'id of the target account') },
  },
  {
    name: 'get-vector-stats',
    api: 'management',
    method: 'GET',
    path: '/v2/vector/index/{id}/stats',
    summary: 'Read the statistics of a vector index.',
    keys: { id: indexId, period },
  },
];

export function operationNamed(name: string): Operation | undefined {
  return OPERATIONS.find((operation) => operation.name === name);
}
