/**
 * Every name of the service's interface, written manually: fields with their kinds, parameters, headers, enumeration
 * values. The OpenAPI document must have the same, and tests show that each is used.
 */

type Kind =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'object'
  | 'array'
  /** Arrays of strings, of data points, of points with workflow figures, of named series. */
  | 'strings'
  | 'points'
  | 'requestPoints'
  | 'series';

export type Fields = Readonly<Record<string, Kind>>;

/** Returns the fields of each kind, whose names are given as text. */
function fields(names: Readonly<Partial<Record<Kind, string>>>): Fields {
  const each = Object.entries(names) as [Kind, string][];
  return Object.fromEntries(each.flatMap(([kind, text]) => words(text).map((name) => [name, kind])));
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** Fields by section and record. */
export const RECORDS = {
  '2.1.group': fields({ string: 'name', integer: 'createdAt updatedAt', array: 'endpoints' }),
  '2.1.endpoint': fields({ string: 'name url' }),
  '2.2.result': fields({ string: 'messageId', boolean: 'deduplicated' }),
  '2.3.page': fields({ string: 'cursor', array: 'logs' }),
  '2.3.log': fields({
    integer: 'time nextDeliveryTime responseStatus maxRetries',
    number: 'timeout',
    string: `
      messageId body error url topicName endpointName scheduleId queueName responseBody method callback
      failureCallback retryDelayExpression label
    `,
    object: 'header responseHeaders callbackHeaders failureCallbackHeaders',
    strings: 'labels',
  }),
  '2.4.run': fields({
    string: `
      dlqId workflowUrl workflowRunId url method body bodyBase64 failureCallback callerIP label
      flowControlKey failureFunctionState responseBody responseBodyBase64
    `,
    integer: 'workflowCreatedAt maxRetries createdAt responseStatus',
    object: 'header responseHeader',
    strings: 'labels',
  }),
  '2.5.reference': fields({ string: 'workflowRunId', integer: 'workflowCreatedAt' }),
  '2.6.key': fields({
    string: 'flowControlKey',
    integer: 'waitListSize parallelismMax parallelismCount rateMax rateCount ratePeriod ratePeriodStart',
    boolean: 'isPinnedParallelism isPinnedRate isPaused',
  }),
  '2.7.account': fields({
    string: `
      customer_id id token read_only_token state modifying_state metrics_enabled type region reserved_type
      created_by
    `,
    boolean: 'active prod_pack_enabled',
    integer: `
      last_plan_upgrade_time max_message_size max_requests_per_day max_requests_per_day_hard
      max_endpoints_per_topic max_requests_per_second max_dlq_size max_retries max_topics max_schedules
      max_events_size max_dlq_retention_time_milis max_delay max_parallelism max_global_parallelism
      max_queues max_bandwidth_per_second timeout reserved_price creation_time deletion_time budget
    `,
    object: 'enterprise',
  }),
  '2.8.index': fields({
    string: 'customer_id id name endpoint type region integration_email token read_only_token',
    integer: `
      max_vector_count max_monthly_reranks max_daily_updates max_daily_queries max_monthly_bandwidth
      max_writes_per_second max_query_per_second max_reads_per_request max_writes_per_request
      creation_time
    `,
    boolean: 'input_enrichment_enabled',
    points: 'throughput_vector',
  }),
  '2.9.point': fields({ string: 'x', number: 'y' }),
  '2.9.requests-point': fields({ number: 'workflow_message workflow_run' }),
  '2.9.series': fields({ string: 'id', points: 'data_points' }),
  '2.10.vector': fields({
    integer: `
      pending_index_count current_vector_count daily_query_count daily_update_count monthly_query_count
      monthly_update_count monthly_bandwidth_usage storage_usage daily_rerank_count monthly_rerank_count
    `,
    number: 'monthly_cost',
    strings: 'days',
    points: `
      daily_update_requests daily_query_requests daily_bandwidths query_throughput update_throughput
      query_latency_mean query_latency_99 update_latency_mean update_latency_99 embeds_latency_mean
      embeds_latency_99 vector_count data_size daily_rerank_requests rerank_latency_mean rerank_latency_99
    `,
  }),
  '2.11.stats': fields({
    strings: 'days',
    points: 'daily_billings daily_bandwidths daily_used daily_used_workflow daily_bandwidth_used',
    requestPoints: 'daily_requests',
    series: 'daily_msgsvc_messages daily_workflow_messages',
    integer: 'dlq_message_count',
    number: 'total_monthly_billing',
  }),
  '6.body': fields({
    integer: 'status retried maxRetries',
    object: 'header sourceHeader',
    string: `
      body dlqId sourceMessageId topicName endpointName url method sourceBody notBefore createdAt
      scheduleId callerIP
    `,
  }),
} as const satisfies Readonly<Record<string, Fields>>;

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const PERIODS = ['1h', '3h', '12h', '1d', '3d', '7d', '30d'];
const CALLBACK_STATES = ['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'];
const STATES = ['CREATED', 'ACTIVE', 'RETRY', 'ERROR', 'DELIVERED', 'CANCEL_REQUESTED', 'CANCELLED'];

/** Values by the schema and field, or the operation and parameter, that has them in the OpenAPI document. */
export const VALUES: Readonly<Record<string, readonly string[]>> = {
  'Account.metrics_enabled': ['true', 'false'],
  'Account.type': ['free', 'paid'],
  'Account.region': ['eu-central-1', 'us-east-1'],
  'SearchIndex.type': ['free', 'payg', 'fixed'],
  'SearchIndex.region': ['eu-west-1', 'us-central1'],
  'NewIndex.type': ['free', 'payg', 'fixed'],
  'NewIndex.region': ['eu-west-1', 'us-central1'],
  'SetPlan.plan_name': ['paid', 'msgsvc_fixed_1m', 'msgsvc_fixed_10m', 'msgsvc_fixed_100m'],
  'LogEntry.state': [...STATES, 'FAILED'],
  'list-logs.state': [...STATES, 'IN_PROGRESS'],
  'FailedWorkflowMessage.failureFunctionState': CALLBACK_STATES,
  'list-workflow-dlq.failureFunctionState': CALLBACK_STATES,
  'publish.Svc-Method': METHODS,
  'publish.Svc-Callback-Method': METHODS,
  'publish.Svc-Failure-Callback-Method': METHODS,
  'publish.Svc-Content-Based-Deduplication': ['true', 'false'],
  'get-account-stats.period': PERIODS,
  'get-vector-stats.period': PERIODS,
};

const RUN_FILTERS = words(
  'fromDate toDate workflowUrl workflowRunId workflowCreatedAt label failureFunctionState callerIp flowControlKey',
);

/** Headers of a callback or failure callback. */
function callback(group: string): readonly string[] {
  const settings = words('Forward-<Name> Method Timeout Retries Retry-Delay Delay');
  return [group, ...settings.map((setting) => `${group}-${setting}`)];
}

interface Operation {
  readonly path?: readonly string[];
  readonly query?: readonly string[];
  readonly header?: readonly string[];
  readonly body?: readonly string[];
}

/** Inputs of each operation, by section and name. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  '4.1.add-endpoints': { path: words('urlGroupName'), body: words('endpoints endpoints.url endpoints.name') },
  '4.1.list-groups': {},
  '4.1.list-logs': {
    query: words('cursor messageId state url topicName scheduleId queueName fromDate toDate count label'),
  },
  '4.1.publish': {
    path: words('destination'),
    header: [
      ...words(`
      Content-Type Svc-Forward-<Name> Svc-Method Svc-Timeout Svc-Retries Svc-Retry-Delay Svc-Delay
      Svc-Not-Before Svc-Label Svc-Flow-Control-Key Svc-Flow-Control-Value Svc-Deduplication-Id
      Svc-Content-Based-Deduplication Svc-Redact-Fields
    `),
      ...callback('Svc-Callback'),
      ...callback('Svc-Failure-Callback'),
    ],
  },
  '4.1.trigger': {
    path: words('workflowUrl'),
    header: words(`
      Svc-Workflow-RunId Svc-Forward-<Name> Svc-Retries Svc-Delay Svc-Not-Before Svc-Label
      Svc-Flow-Control-Key Svc-Flow-Control-Value Svc-Failure-Callback Svc-Failure-Callback-Forward-<Name>
      Svc-Retry-Delay
    `),
  },
  '4.1.list-runs': { query: [...words('cursor count'), ...RUN_FILTERS] },
  '4.1.resume-runs': {
    query: [...words('dlqIds cursor count'), ...RUN_FILTERS],
    header: words(`
      Svc-Retries Svc-Delay Svc-Retry-Delay Svc-Flow-Control-Key Svc-Flow-Control-Value Svc-Label
      Svc-Failure-Callback
    `),
  },
  '4.1.delete-runs': { query: [...words('dlqIds cursor count'), ...RUN_FILTERS] },
  '4.1.delete-dlq': {
    query: words(`
      dlqIds cursor messageId url topicName scheduleId queueName fromDate toDate responseStatus callerIp
      label flowControlKey count
    `),
  },
  '4.1.get-key': { path: words('flowControlKey') },
  '4.2.move-to-team': { body: words('msgsvc_id target_team_id') },
  '4.2.set-plan': { path: words('id'), body: words('plan_name') },
  '4.2.rotate-token': { path: words('id') },
  '4.2.update-budget': { path: words('id'), body: words('budget') },
  '4.2.stats': { path: words('id'), query: words('period') },
  '4.2.create-index': { body: words('name region type') },
  '4.2.get-index': { path: words('id') },
  '4.2.rename-index': { path: words('id'), body: words('name') },
  '4.2.transfer-index': { path: words('id'), body: words('target_account') },
  '4.2.vector-stats': { path: words('id'), query: words('period') },
};

/** Names of the operations in the OpenAPI document. */
export const OPERATION_IDS: Readonly<Record<string, string>> = {
  '4.1.add-endpoints': 'add-endpoints',
  '4.1.list-groups': 'list-url-groups',
  '4.1.list-logs': 'list-logs',
  '4.1.publish': 'publish',
  '4.1.trigger': 'trigger',
  '4.1.list-runs': 'list-workflow-dlq',
  '4.1.resume-runs': 'resume-workflow-dlq',
  '4.1.delete-runs': 'delete-workflow-dlq',
  '4.1.delete-dlq': 'delete-dlq',
  '4.1.get-key': 'get-flow-control',
  '4.2.move-to-team': 'move-to-team',
  '4.2.set-plan': 'set-plan',
  '4.2.rotate-token': 'rotate-token',
  '4.2.update-budget': 'update-budget',
  '4.2.stats': 'get-account-stats',
  '4.2.create-index': 'create-index',
  '4.2.get-index': 'get-index',
  '4.2.rename-index': 'rename-index',
  '4.2.transfer-index': 'transfer-index',
  '4.2.vector-stats': 'get-vector-stats',
};
