/** Rows of the conformance table for sections 2 (resources) and 3 (states). */
import { open, proven, settled, type Row } from './conformance-row.ts';

const RESOURCES = 'conformance-resources.test.ts';
const DEAD = 'dead-letters.test.ts';
const DELIVERY = 'delivery.test.ts';

const GROUP = 'a URL Group and its endpoints have the fields of the interface';
const RESULT = 'a publish result has the fields of the interface';
const LOG = 'a log entry has every requested setting and every result';
const RUN = 'a failed run has the fields of the interface';
const RUN_EXACT = 'that fails permanently is listed with all fields';
const BASE64 = 'bytes that are not text are encoded in base64';
const KEY = 'a flow-control key has the fields of the interface, limits only when they are set';
const KEY_LIVE = 'the key is read with all its figures while messages run and wait';
const ACCOUNT = 'the record of a %s account has the fields of the interface';
const INDEX = 'the record of a %s index in %s has the fields of the interface';
const VECTOR = 'vector statistics have the fields of the interface';
const STATS = 'account statistics have the fields of the interface; daily arrays cover the month';

export const RECORD_ROWS: readonly Row[] = [
  ...proven(
    'conformance-errors.test.ts',
    'dates that filters compare are milliseconds, times of management records seconds',
    {
      '2.0.dates': 'dates of filters are Unix milliseconds',
      '2.0.times': '*_time of management records are Unix seconds',
    },
  ),
  ...proven(RESOURCES, RUN, { '2.0.integers': 'moments of the message API are whole numbers' }),
  ...proven(RESOURCES, GROUP, {
    '2.1.group.name': 'name of the group',
    '2.1.group.createdAt': 'whole number: when the group came to be',
    '2.1.group.endpoints': 'array of endpoints',
    '2.1.endpoint.name': 'text, on endpoints that have a name',
    '2.1.endpoint.url': 'text: where messages of the group go',
  }),
  ...proven('publish.test.ts', 'are made by adding endpoints; a name or else a URL identifies an endpoint', {
    '2.1.group.updatedAt': 'whole number: when its endpoints last changed',
  }),
  settled(
    open('2.1.unit', 'unit of createdAt and updatedAt', 'not shown: milliseconds, as other times of the message API'),
    RESOURCES,
    GROUP,
  ),
  ...proven(RESOURCES, RESULT, {
    '2.2.result.messageId': 'id of the new message, or of the earlier one',
    '2.2.result.deduplicated': 'true when nothing was sent because an earlier one had the same id',
  }),
  ...proven('log-routes.test.ts', 'a full last page has no cursor', {
    '2.3.page.cursor': 'text while more entries follow, absent at the end',
  }),
  ...proven(RESOURCES, LOG, {
    '2.3.page.logs': 'array of entries',
    '2.3.log.time': 'when it happened',
    '2.3.log.messageId': 'the message',
    '2.3.log.header': 'headers that the destination gets',
    '2.3.log.body': 'body of the message',
    '2.3.log.error': 'why the attempt failed',
    '2.3.log.nextDeliveryTime': 'when it is tried next, while it waits for that',
    '2.3.log.url': 'destination',
    '2.3.log.topicName': 'URL Group it came through',
    '2.3.log.endpointName': 'endpoint of the group',
    '2.3.log.responseStatus': "status of the destination's answer",
    '2.3.log.responseBody': "body of the destination's answer",
    '2.3.log.responseHeaders': "headers of the destination's answer",
    '2.3.log.timeout': 'how long an attempt may take',
    '2.3.log.method': 'HTTP method towards the destination',
    '2.3.log.callback': 'callback URL',
    '2.3.log.callbackHeaders': 'headers forwarded to the callback',
    '2.3.log.failureCallback': 'failure callback URL',
    '2.3.log.failureCallbackHeaders': 'headers forwarded to the failure callback',
    '2.3.log.maxRetries': 'retries at most',
    '2.3.log.retryDelayExpression': 'the expression as it was given',
    '2.3.log.label': 'a label',
    '2.3.log.labels': 'all labels',
  }),
  ...proven('conformance-origins.test.ts', 'log entries name schedule and queue, and filters find them', {
    '2.3.log.scheduleId': 'schedule that made the message',
    '2.3.log.queueName': 'queue it went through',
  }),
  settled(
    open('2.3.state', 'whether an entry tells its state', 'not in the table of fields: switch logState'),
    'log-routes.test.ts',
    'switches change what is open in the interface',
  ),
  ...proven(RESOURCES, RUN, {
    '2.5.reference.workflowRunId': 'id of the run that goes on',
    '2.5.reference.workflowCreatedAt': 'when that run began',
  }),
  ...proven('conformance-publish.test.ts', 'retries as configured, and fails with its labels in logs and DLQ', {
    '2.4.run.labels': 'all labels of the run',
  }),
  ...proven(DEAD, RUN_EXACT, {
    '2.4.run.label': 'a label of the run',
    '2.4.run.dlqId': 'id of the entry',
    '2.4.run.workflowUrl': 'URL that was triggered',
    '2.4.run.workflowRunId': 'run',
    '2.4.run.url': 'where the failed message went',
    '2.4.run.method': 'its HTTP method',
    '2.4.run.header': 'its headers',
    '2.4.run.body': 'its body, when it is text',
    '2.4.run.maxRetries': 'retries it had',
    '2.4.run.failureCallback': 'failure callback URL',
    '2.4.run.callerIP': 'address that triggered it',
    '2.4.run.flowControlKey': 'its flow-control key',
    '2.4.run.failureFunctionState': 'how the failure function fares (section 3)',
    '2.4.run.responseStatus': 'status of the last answer',
    '2.4.run.responseHeader': 'headers of the last answer',
    '2.4.run.responseBody': 'body of the last answer, when it is text',
  }),
  ...proven(DEAD, 'failed later than it began: both times are listed', {
    '2.4.run.workflowCreatedAt': 'when the run began',
    '2.4.run.createdAt': 'when the entry was made',
  }),
  ...proven('wire.test.ts', BASE64, {
    '2.4.run.bodyBase64': 'its body in base64, when it is no text',
    '2.4.run.responseBodyBase64': 'body of the last answer in base64, when it is no text',
  }),
  ...proven(RESOURCES, KEY, {
    '2.6.key.flowControlKey': 'the key',
    '2.6.key.parallelismMax': 'the limit, when there is one',
    '2.6.key.rateMax': 'the limit of a period, when there is one',
    '2.6.key.ratePeriod': 'seconds of a period',
  }),
  ...proven('flow-control.test.ts', KEY_LIVE, {
    '2.6.key.waitListSize': 'messages that wait for the key',
    '2.6.key.parallelismCount': 'messages of the key that run now',
    '2.6.key.rateCount': 'messages begun in this period',
    '2.6.key.ratePeriodStart': 'Unix seconds at which this period began',
    '2.6.key.isPinnedParallelism': 'false while nobody pins it',
    '2.6.key.isPinnedRate': 'false while nobody pins it',
    '2.6.key.isPaused': 'false while nobody pauses it',
  }),
  ...proven('control.test.ts', 'pinned limits of a key apply, whatever messages request', {
    '2.6.pinned': 'a pinned key keeps its limits whatever messages ask for, and tells so',
  }),
  ...proven('control.test.ts', 'a paused key holds its messages, reports it, and releases them in order', {
    '2.6.paused': 'a paused key delivers nothing, and tells so',
  }),
  ...proven(RESOURCES, ACCOUNT, {
    '2.7.account.id': 'id of the account',
    '2.7.account.token': 'the new token',
    '2.7.account.read_only_token': 'the new read-only token',
    '2.7.account.state': 'state of the account (section 3)',
    '2.7.account.max_requests_per_day_hard': 'hard limit',
    '2.7.account.max_dlq_size': 'entries of the DLQ',
    '2.7.account.max_schedules': 'schedules',
    '2.7.account.max_events_size': 'events',
    '2.7.account.max_parallelism': 'deliveries at once to an endpoint',
    '2.7.account.max_global_parallelism': 'deliveries at once in all',
    '2.7.account.max_queues': 'queues',
    '2.7.account.max_bandwidth_per_second': 'bytes a second',
    '2.7.account.prod_pack_enabled': 'true or false',
    '2.7.account.metrics_enabled': 'true or false as a text',
    '2.7.account.type': 'billing category',
    '2.7.account.region': 'where it is deployed',
    '2.7.account.reserved_type': 'the fixed plan, empty for others',
    '2.7.account.creation_time': 'Unix seconds',
    '2.7.account.deletion_time': 'Unix seconds, 0 while it lives',
    '2.7.account.budget': 'dollars a month',
    '2.7.account.metrics_enabled=true': 'metrics are exported',
    '2.7.account.type=free': 'of the free plan',
    '2.7.account.type=paid': 'of every other plan',
    '2.7.account.region=eu-central-1': 'the region by default',
    '2.7.account.reserved_type=msgsvc_fixed_1m': 'the first fixed plan',
    '2.7.account.reserved_type=msgsvc_fixed_10m': 'the second fixed plan',
    '2.7.account.reserved_type=msgsvc_fixed_100m': 'the third fixed plan',
    '3.account.state=active': 'in use',
  }),
  ...proven('management-routes.test.ts', 'moving to a team changes the owner, not the creator', {
    '2.7.account.customer_id': 'e-mail or team id',
    '2.7.account.created_by': 'e-mail of who made it',
  }),
  ...proven('conformance-management.test.ts', 'set-plan to %s changes plan and limits', {
    '2.7.account.last_plan_upgrade_time': 'Unix seconds',
  }),
  ...proven('conformance-management.test.ts', 'dead letters are kept for the milliseconds in the record', {
    '2.7.account.max_dlq_retention_time_milis': 'milliseconds that failures are kept',
  }),
  ...proven('conformance-management.test.ts', 'on the %s plan', {
    '2.7.account.max_message_size': 'limit in bytes',
    '2.7.account.max_requests_per_day': 'soft limit',
    '2.7.account.max_endpoints_per_topic': 'limit of a group',
    '2.7.account.max_requests_per_second': 'limit of a second',
    '2.7.account.max_retries': 'retries of a message',
    '2.7.account.max_topics': 'URL Groups',
    '2.7.account.max_delay': 'longest delay in seconds',
    '2.7.account.timeout': 'seconds of a request',
  }),
  ...proven('conformance-management.test.ts', 'the price of %s is the cost of the month', {
    '2.7.account.reserved_price': 'price of the fixed plan, 0 for others',
  }),
  ...proven('budget.test.ts', 'the record reports it', {
    '2.7.account.active': 'true of an active account',
    '2.7.account.modifying_state': 'present only while a change is applied',
    '3.account.state=passive': 'not in use',
    '3.account.modifying_state=suspended': 'a suspension is being applied',
  }),
  ...proven('budget.test.ts', 'an enterprise account', {
    '2.7.account.enterprise': 'an object, on enterprise accounts only',
    '2.7.account.reserved_type=enterprise:': 'the prefix of an enterprise account',
  }),
  ...proven('budget.test.ts', 'a fixed plan of unknown size, in the other region, without metrics', {
    '2.7.account.metrics_enabled=false': 'metrics are not exported',
    '2.7.account.region=us-east-1': 'the other region',
    '2.7.account.reserved_type=msgsvc_fixed': 'a fixed plan of no told size',
  }),
  settled(
    open('2.7.enterprise', 'fields of the enterprise object', 'not shown: the object in the emulator names its owner'),
    'budget.test.ts',
    'an enterprise account',
  ),
  ...proven(RESOURCES, INDEX, {
    '2.8.index.customer_id': 'owner',
    '2.8.index.id': 'id of the index',
    '2.8.index.name': 'its name',
    '2.8.index.endpoint': 'where its own API is',
    '2.8.index.type': 'payment plan',
    '2.8.index.region': 'where it is deployed',
    '2.8.index.integration_email': 'e-mail of a partner, empty when there is none',
    '2.8.index.token': 'token of its own API',
    '2.8.index.read_only_token': 'read-only token of its own API',
    '2.8.index.max_vector_count': 'vectors',
    '2.8.index.max_writes_per_second': 'writes a second',
    '2.8.index.max_query_per_second': 'queries a second',
    '2.8.index.max_reads_per_request': 'reads of a request',
    '2.8.index.max_writes_per_request': 'writes of a request',
    '2.8.index.creation_time': 'Unix seconds',
    '2.8.index.input_enrichment_enabled': 'true or false',
    '2.8.index.throughput_vector': 'points of throughput',
    '2.8.index.type=free': 'the free plan',
    '2.8.index.type=payg': 'pay as you go',
    '2.8.index.region=eu-west-1': 'the one region',
    '2.8.index.region=us-central1': 'the other region',
    '2.9.point.x': 'text of a moment in UTC with nine digits of a second',
    '2.9.point.y': 'number',
  }),
  ...proven(
    'management-routes.test.ts',
    'a free index has finite limits, a paid one is unlimited where the interface says so',
    {
      '2.8.index.max_monthly_reranks': 'reranks a month, -1 for no limit',
      '2.8.index.max_daily_updates': 'updates a day, -1 for no limit',
      '2.8.index.max_daily_queries': 'queries a day, -1 for no limit',
      '2.8.index.max_monthly_bandwidth': 'bytes a month, -1 for no limit',
    },
  ),
  settled(
    open(
      '2.8.index.type=fixed',
      'the fixed plan',
      'the interface says it is not available at present: rejected on creation, and its limits are known',
    ),
    'management-routes.test.ts',
    '%s %j is answered %i',
  ),
  ...proven('conformance-vector.test.ts', 'days add up to the month, and the last of them is today', {
    '2.10.vector.days': 'names of days',
    '2.10.vector.daily_query_count': 'queries today',
    '2.10.vector.daily_update_count': 'updates today',
    '2.10.vector.daily_rerank_count': 'reranks today',
    '2.10.vector.monthly_query_count': 'queries this month',
    '2.10.vector.monthly_update_count': 'updates this month',
    '2.10.vector.monthly_rerank_count': 'reranks this month',
    '2.10.vector.monthly_bandwidth_usage': 'bytes this month',
    '2.10.vector.daily_query_requests': 'points by day',
    '2.10.vector.daily_update_requests': 'points by day',
    '2.10.vector.daily_rerank_requests': 'points by day',
    '2.10.vector.daily_bandwidths': 'points by day',
  }),
  ...proven('conformance-vector.test.ts', 'stored vectors match their size, and bandwidth and cost increase', {
    '2.10.vector.pending_index_count': 'vectors not yet indexed',
    '2.10.vector.current_vector_count': 'vectors held',
    '2.10.vector.storage_usage': 'bytes held',
    '2.10.vector.monthly_cost': 'cost of the month',
    '2.10.vector.vector_count': 'points of vectors held',
    '2.10.vector.data_size': 'points of bytes held',
  }),
  ...proven('conformance-vector.test.ts', 'the 99th percentile is above the mean, and throughput matches the counts', {
    '2.10.vector.query_throughput': 'points',
    '2.10.vector.update_throughput': 'points',
    '2.10.vector.query_latency_mean': 'points',
    '2.10.vector.query_latency_99': 'points of the 99th percentile',
    '2.10.vector.update_latency_mean': 'points',
    '2.10.vector.update_latency_99': 'points of the 99th percentile',
    '2.10.vector.embeds_latency_mean': 'points',
    '2.10.vector.embeds_latency_99': 'points of the 99th percentile',
    '2.10.vector.rerank_latency_mean': 'points',
    '2.10.vector.rerank_latency_99': 'points of the 99th percentile',
  }),
  ...proven(RESOURCES, VECTOR, { '2.10.kinds': 'whole numbers, one float, texts and points' }),
  ...proven(RESOURCES, STATS, {
    '2.9.requests-point.workflow_message': 'in daily_requests: messages of workflows',
    '2.9.requests-point.workflow_run': 'in daily_requests: runs begun',
    '2.9.series.id': 'text that names the series',
    '2.9.series.data_points': 'its points',
    '2.11.stats.days': 'every day of the month, future ones too',
    '2.11.stats.daily_billings': 'points by day',
    '2.11.stats.daily_bandwidths': 'points by day',
    '2.11.stats.daily_requests': 'points by day with figures of workflows',
    '2.11.fine': 'with 1h the arrays of use and the series have a point for each of 60 minutes',
  }),
  ...proven('management-http.test.ts', 'statistics report deliveries, retries and failures', {
    '2.11.stats.daily_bandwidth_used': 'points: bytes',
    '2.11.stats.dlq_message_count': 'present size of the DLQ',
    '2.11.stats.total_monthly_billing': 'dollars of the month so far',
  }),
  ...proven(
    'conformance-properties.test.ts',
    'errors = retries + failures, messages = delivered + errors, and each message has one outcome',
    {
      '2.11.stats.daily_used': 'points: messages',
      '2.11.stats.daily_used_workflow': 'points: messages of workflows',
      '2.11.stats.daily_msgsvc_messages': 'series of messages',
      '2.11.stats.daily_workflow_messages': 'series of messages of workflows',
      '2.11.sums': 'the series balance, and the log with them',
    },
  ),
  ...proven(
    'conformance-month.test.ts',
    'daily arrays and billing turn with the month; logs and DLQs drop what is expired',
    {
      '2.11.month': 'daily arrays and the amount are of the present month',
    },
  ),
  settled(
    open(
      '2.9.ids',
      'ids of the named series',
      'not shown: created, delivered, error, retry, failed, canceled, so that errors = retries + failures can be checked',
    ),
    'conformance-properties.test.ts',
    'errors = retries + failures, messages = delivered + errors, and each message has one outcome',
  ),
  settled(
    open('2.11.dlq', 'failed runs included in the count of the DLQ, or not', 'not shown: switch dlqMessageCount'),
    DEAD,
    'the statistics count %s: %d',
  ),
  ...proven(DELIVERY, 'is retried after the default backoff, as often as the plan allows, then fails permanently', {
    '3.message=CREATED': 'accepted and stored',
    '3.message=ACTIVE': 'being delivered',
    '3.message=RETRY': 'waits for its next attempt',
    '3.message=ERROR': 'an attempt failed',
    '3.message=FAILED': 'failed for good',
  }),
  ...proven(
    DELIVERY,
    'carries method, body, content type, forwarded headers, id and retry count; the URL is unchanged',
    {
      '3.message=DELIVERED': 'the destination has it',
    },
  ),
  ...proven('log-routes.test.ts', '%s', {
    '3.message=IN_PROGRESS': ['no state of its own: ACTIVE, RETRY or ERROR', "'state=IN_PROGRESS'"],
  }),
  ...proven(DELIVERY, 'a waiting message ends at once and is never sent', {
    '3.message=CANCEL_REQUESTED': 'somebody asked to cancel it',
    '3.message=CANCELLED': 'it was canceled',
  }),
  ...proven('conformance-publish.test.ts', 'a canceled failure callback is reported as canceled', {
    '3.failure-function=CALLBACK_CANCELED': 'the failure function was canceled by hand',
  }),
  ...proven(DEAD, 'the state of a failing failure callback, in both forms', {
    '3.failure-function=CALLBACK_INPROGRESS': 'the failure function is under way',
    '3.failure-function=CALLBACK_FAIL': 'the failure function failed',
  }),
  ...proven(DEAD, RUN_EXACT, { '3.failure-function=CALLBACK_SUCCESS': 'the failure function was run' }),
  ...proven('conformance-every.test.ts', 'an account state that the interface does not name is reported unchanged', {
    '3.account.other': 'states of accounts are an open list',
  }),
  open('3.transitions', 'which state of an account follows which', 'not shown: whoever asks for a state gets it'),
];
