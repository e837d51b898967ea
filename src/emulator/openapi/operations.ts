/**
 * Every operation of the interface with its path, request and response. Query parameters and headers are in separate
 * tables, which the request readers use.
 */
import { HEADER_PARAMETERS, type HeaderTable } from './header-parameters.ts';
import { QUERY_PARAMETERS, type QueryTable } from './query-parameters.ts';

export interface PathParameter {
  readonly description: string;
  readonly example: string;
  readonly pattern?: string;
  readonly maxLength?: number;
}

export interface Operation {
  readonly name: string;
  readonly api: 'message' | 'management';
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path template, such as `/v2/topics/{urlGroupName}/endpoints`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly pathParameters?: Readonly<Record<string, PathParameter>>;
  /** True if the last path parameter is the unchanged rest of the path, query included. */
  readonly takesRest?: boolean;
  /** Name of the schema of a JSON body, or the description of a body of any type. */
  readonly body?: { readonly schema: string } | { readonly raw: string; readonly type: string };
  /** Name of the schema of the response; undefined for a response without a body. */
  readonly answer: string | undefined;
  /** Success status of some installations, in addition to 200. */
  readonly accepted?: string;
  /** Errors that not every operation of its API has. */
  readonly refusals?: readonly (404 | 412)[];
}

/** Pattern of group names. A name of only dots would not remain a path segment. */
export const GROUP_NAME = { pattern: '^\\.*[A-Za-z0-9_-][A-Za-z0-9_.-]*$', maxLength: 128 };

/** @param product `msgsvc`, or the brand of the installation */
export function operations(product: string): readonly Operation[] {
  return [...messageOperations, ...accountOperations(product), ...indexOperations];
}

export function queryTableOf(operation: string): QueryTable {
  return (QUERY_PARAMETERS as Readonly<Record<string, QueryTable>>)[operation] ?? {};
}

export function headerTableOf(operation: string): HeaderTable {
  return (HEADER_PARAMETERS as Readonly<Record<string, HeaderTable>>)[operation] ?? {};
}

const messageOperations: readonly Operation[] = [
  {
    name: 'add-endpoints',
    api: 'message',
    method: 'POST',
    path: '/v2/topics/{urlGroupName}/endpoints',
    summary: 'Add endpoints to a URL Group, which is created when it is missing',
    description: 'An endpoint with a known name, or without a name and with a known URL, replaces that one.',
    pathParameters: {
      urlGroupName: {
        description: 'Letters, digits, dots, dashes and underscores, at most 128, and not dots alone.',
        example: 'order-events',
        ...GROUP_NAME,
      },
    },
    body: { schema: 'NewEndpoints' },
    answer: undefined,
    refusals: [412],
  },
  {
    name: 'list-url-groups',
    api: 'message',
    method: 'GET',
    path: '/v2/topics',
    summary: 'List URL Groups',
    description: 'Returns all groups of the account with their endpoints.',
    answer: 'UrlGroups',
  },
  {
    name: 'list-logs',
    api: 'message',
    method: 'GET',
    path: '/v2/logs',
    summary: 'List log entries',
    description: 'Returns log entries that match all filters, page by page.',
    answer: 'LogPage',
  },
  {
    name: 'publish',
    api: 'message',
    method: 'POST',
    path: '/v2/publish/{destination}',
    summary: 'Publish a message to a URL or a URL Group',
    description: 'The Content-Type of the request is forwarded to the destination.',
    pathParameters: {
      destination: {
        description:
          'A URL that begins with http:// or https://, as it is (slashes and query included) or ' +
          'percent-encoded; or the name of a URL Group.',
        example: 'https://billing.example.com/hooks/orders',
      },
    },
    takesRest: true,
    body: { raw: 'The message, delivered as it is.', type: '*/*' },
    answer: 'PublishAnswer',
    accepted: 'De-duplicated, in some installations.',
    refusals: [404, 412],
  },
  {
    name: 'trigger',
    api: 'message',
    method: 'POST',
    path: '/v2/trigger/{workflowUrl}',
    summary: 'Trigger a workflow run',
    description:
      'The body is the payload of the run. A run id is not unique: a second request with one starts another run.',
    pathParameters: {
      workflowUrl: {
        description: 'A URL that begins with http:// or https://, as it is or percent-encoded.',
        example: 'https://app.example.com/api/workflows/invoice',
      },
    },
    takesRest: true,
    body: { raw: 'The payload of the run.', type: 'text/plain' },
    answer: 'WorkflowRun',
    refusals: [412],
  },
  {
    name: 'list-workflow-dlq',
    api: 'message',
    method: 'GET',
    path: '/v2/workflows/dlq',
    summary: 'List failed workflow runs',
    description: 'Returns failed runs that match all filters, page by page.',
    answer: 'WorkflowDlqPage',
  },
  {
    name: 'resume-workflow-dlq',
    api: 'message',
    method: 'POST',
    path: '/v2/workflows/dlq/resume',
    summary: 'Resume failed workflow runs',
    description: 'Without ids and filters this acts on every failed run.',
    answer: 'ResumeAnswer',
    refusals: [412],
  },
  {
    name: 'delete-workflow-dlq',
    api: 'message',
    method: 'DELETE',
    path: '/v2/workflows/dlq',
    summary: 'Delete failed workflow runs',
    description: 'Without ids and filters this acts on every failed run.',
    answer: 'DeleteAnswer',
  },
  {
    name: 'delete-dlq',
    api: 'message',
    method: 'DELETE',
    path: '/v2/dlq',
    summary: 'Delete failed messages',
    description: 'Without ids and filters this acts on every failed message.',
    answer: 'DeleteAnswer',
  },
  {
    name: 'get-flow-control',
    api: 'message',
    method: 'GET',
    path: '/v2/flowControl/{flowControlKey}',
    summary: 'Read the live state of a flow-control key',
    description: 'Returns limits, current use, and waiting messages of the key.',
    pathParameters: { flowControlKey: { description: 'The key.', example: 'tenant-14' } },
    answer: 'FlowControlKey',
    refusals: [404],
  },
];

const ACCOUNT: Readonly<Record<string, PathParameter>> = {
  id: { description: 'Id of the account.', example: '7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31' },
};
const INDEX: Readonly<Record<string, PathParameter>> = {
  id: { description: 'Id of the index.', example: '6f1c2b1e-0d5a-4c1f-9a57-3c1d2e4f5a6b' },
};

function accountOperations(product: string): readonly Operation[] {
  return [
    {
      name: 'move-to-team',
      api: 'management',
      method: 'POST',
      path: `/v2/${product}/move-to-team`,
      summary: 'Move an account to a team',
      description: 'The team becomes the owner of the account.',
      body: { schema: 'MoveToTeam' },
      answer: 'Ok',
      refusals: [404],
    },
    {
      name: 'set-plan',
      api: 'management',
      method: 'POST',
      path: `/v2/${product}/set-plan/{id}`,
      summary: 'Change the plan of an account, and its limits',
      description: 'The limits of the new plan apply immediately.',
      pathParameters: ACCOUNT,
      body: { schema: 'SetPlan' },
      answer: 'Ok',
      refusals: [404],
    },
    {
      name: 'rotate-token',
      api: 'management',
      method: 'POST',
      path: `/v2/${product}/rotate-token/{id}`,
      summary: 'Replace the tokens of an account; the old ones end at once',
      description: 'Returns the account with its new tokens.',
      pathParameters: ACCOUNT,
      answer: 'Account',
      refusals: [404],
    },
    {
      name: 'update-budget',
      api: 'management',
      method: 'PATCH',
      path: `/v2/${product}/update-budget/{id}`,
      summary: 'Set the monthly budget of an account',
      description: '0 removes the limit. When it is reached, further messages are rejected until the month ends.',
      pathParameters: ACCOUNT,
      body: { schema: 'UpdateBudget' },
      answer: 'Ok',
      refusals: [404],
    },
    {
      name: 'get-account-stats',
      api: 'management',
      method: 'GET',
      path: `/v2/${product}/stats/{id}`,
      summary: 'Read the statistics of an account',
      description: 'Returns series of messages, billing, and workflows for the period.',
      pathParameters: ACCOUNT,
      answer: 'AccountStatistics',
      refusals: [404],
    },
  ];
}

const indexOperations: readonly Operation[] = [
  {
    name: 'create-index',
    api: 'management',
    method: 'POST',
    path: '/v2/search',
    summary: 'Create a search index',
    description: 'Returns the index with its tokens.',
    body: { schema: 'NewIndex' },
    answer: 'SearchIndex',
  },
  {
    name: 'get-index',
    api: 'management',
    method: 'GET',
    path: '/v2/search/{id}',
    summary: 'Read a search index',
    description: 'Returns the index with its limits and tokens.',
    pathParameters: INDEX,
    answer: 'SearchIndex',
    refusals: [404],
  },
  {
    name: 'rename-index',
    api: 'management',
    method: 'POST',
    path: '/v2/search/{id}/rename',
    summary: 'Rename a search index',
    description: 'The id of the index stays the same.',
    pathParameters: INDEX,
    body: { schema: 'RenameIndex' },
    answer: 'Ok',
    refusals: [404],
  },
  {
    name: 'transfer-index',
    api: 'management',
    method: 'POST',
    path: '/v2/search/{id}/transfer',
    summary: 'Transfer a search index to another owner',
    description: 'The target account becomes the owner of the index.',
    pathParameters: INDEX,
    body: { schema: 'TransferIndex' },
    answer: 'Ok',
    refusals: [404],
  },
  {
    name: 'get-vector-stats',
    api: 'management',
    method: 'GET',
    path: '/v2/vector/index/{id}/stats',
    summary: 'Read the statistics of a vector index',
    description: 'Returns series of requests, latency, and storage for the period.',
    pathParameters: INDEX,
    answer: 'VectorStatistics',
    refusals: [404],
  },
];
