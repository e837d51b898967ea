/** Rows of the conformance table for section 4.1, the message API. */
import { open, proven, settled, type Row } from './conformance-row.ts';

const PUBLISH = 'publish.test.ts';
const HEADERS = 'conformance-publish.test.ts';
const LISTING = 'conformance-listing.test.ts';
const EVERY = 'conformance-every.test.ts';
const LOGS = 'log-routes.test.ts';
const DELIVERY = 'delivery.test.ts';
const DEAD = 'dead-letters.test.ts';

const CARRIES = 'carries method, body, content type, forwarded headers, id and retry count; the URL is unchanged';
const GROUP = 'a publish makes a message for each endpoint and answers an %s';
const UPSERT = 'are made by adding endpoints; a name or else a URL identifies an endpoint';
const OWN_SETTING = '%s-%s: %s';
const PLAIN_CALLBACK = 'a %s has POST and the settings of the original unless set otherwise';
const HELD_CALLBACK = '%s-Delay delays it, and its own headers are forwarded';
const EACH_CALLBACK = 'follow each attempt until a 2xx; retried counts up and no failure is reported';
const BODY_OF_CALLBACK = 'report each attempt, and the final failure, with the body of the interface';
const REDACTED = 'redacted content arrives unchanged and is shown as its hash';
const FLOW_VALUE = 'a flow-control value of %s is shown by the key';
const OVERRIDES = 'overrides replace the settings of the run';
const BY_MESSAGE = 'by id, by message, and in pages; runs are in the other queue';
const BULK_IDS = '%s %s: ids override other filters and cursors';

/** Rows of the filters that listing, resuming and deleting runs share. */
function runFilters(operation: string, test: string): readonly Row[] {
  return proven(LISTING, test, {
    [`${operation}.query.fromDate`]: 'milliseconds, inclusive',
    [`${operation}.query.toDate`]: 'milliseconds, inclusive',
    [`${operation}.query.workflowUrl`]: 'any of several URLs',
    [`${operation}.query.workflowRunId`]: 'one run',
    [`${operation}.query.workflowCreatedAt`]: 'when the run began, in milliseconds',
    [`${operation}.query.label`]: 'any of several labels',
    [`${operation}.query.failureFunctionState`]: 'any of several states',
    [`${operation}.query.callerIp`]: 'any of several addresses',
    [`${operation}.query.flowControlKey`]: 'any of several keys',
  });
}

export const OPERATION_ROWS: readonly Row[] = [
  ...proven(LOGS, '%s', {
    '4.0.or': ['values of one filter: any of them', "'labels by repetition'"],
    '4.0.and': ['different filters: all of them', "'label and state'"],
    '4.0.repeat': ['several values by repeating the parameter', "'labels by repetition'"],
    '4.0.comma': ['several values in one, with commas', "'labels by comma'"],
  }),
  ...proven('conformance-properties.test.ts', 'logs, %s first: each entry that remains is returned exactly once', {
    '4.0.cursor': 'the cursor of an answer, sent back, gives what follows',
  }),
  ...proven(LOGS, 'a full last page has no cursor', { '4.0.end': 'no cursor, or an empty one: nothing follows' }),
  settled(
    open('4.0.end-form', 'whether the end is no cursor or an empty one', 'both are the end: switch endCursor'),
    LOGS,
    'switches change what is open in the interface',
  ),
  ...proven(EVERY, '%s rejects missing, wrong and foreign credentials', {
    '4.0.bearer': 'each request of the message API carries the bearer token',
    '4.0.basic': 'each request of the management API carries basic credentials',
  }),
  ...proven(EVERY, '%s answers a valid request with 200', { '4.0.success': 'success is 200' }),
  ...proven(EVERY, '%s by %s: one value, several repeated, several with commas', {
    '4.0.forms': 'of every filter of several values, in either form',
  }),
  ...proven('conformance-errors.test.ts', 'only headers and parameters marked as required must be given', {
    '4.0.optional': 'what is not marked as required may be left out',
  }),
  ...proven(PUBLISH, UPSERT, {
    '4.1.add-endpoints': 'POST /v2/topics/{urlGroupName}/endpoints adds endpoints',
    '4.1.add-endpoints.path.urlGroupName': 'the group, made when it is missing',
    '4.1.add-endpoints.body.endpoints': 'one or several endpoints',
    '4.1.add-endpoints.body.endpoints.url': 'where the endpoint is',
    '4.1.add-endpoints.body.endpoints.name': 'what the endpoint is called',
    '4.1.list-groups': 'GET /v2/topics answers all groups',
  }),
  ...proven(EVERY, '%s rejects an unknown parameter and has no effect', {
    '4.1.list-groups.no-parameters': ['the list of groups takes none', "'4.1.list-groups': ['GET'"],
  }),
  settled(open('4.1.add-endpoints.answer', 'body of the answer', 'not shown: none'), PUBLISH, UPSERT),
  settled(
    open('4.1.add-endpoints.required', 'which of url and name must be given', 'not shown: the URL must, a name may'),
    PUBLISH,
    'rejected: %s %j',
  ),
  ...proven(LOGS, '%s', {
    '4.1.list-logs': ['GET /v2/logs lists the log', "'none'"],
    '4.1.list-logs.query.topicName': ['messages of a group', "'topicName=orders'"],
    '4.1.list-logs.query.fromDate': ['milliseconds, inclusive', "'from a moment, inclusive'"],
    '4.1.list-logs.query.toDate': ['milliseconds, inclusive', "'to a moment, inclusive'"],
    '4.1.list-logs.query.label': ['any of several labels', "'label=a&label=c'"],
    '4.1.list-logs.query.state': ['entries of a state', "'state=ERROR'"],
    '4.1.list-logs.query.state=ERROR': ['a value of the filter', "'state=ERROR'"],
    '4.1.list-logs.query.state=IN_PROGRESS': ['ACTIVE, RETRY and ERROR together', "'state=IN_PROGRESS'"],
    '4.1.list-logs.query.state=DELIVERED': ['a value of the filter', "'label=a,c&state=DELIVERED'"],
  }),
  ...proven(LOGS, '%s is rejected', {
    '4.1.list-logs.query.state-failed': ['FAILED is no value of the filter', "'state=FAILED'"],
  }),
  ...proven('conformance-listing.test.ts', 'each state is a value of the filter and finds its entries', {
    '4.1.list-logs.query.state=CREATED': 'a value of the filter',
    '4.1.list-logs.query.state=ACTIVE': 'a value of the filter',
    '4.1.list-logs.query.state=RETRY': 'a value of the filter',
    '4.1.list-logs.query.state=CANCEL_REQUESTED': 'a value of the filter',
    '4.1.list-logs.query.state=CANCELLED': 'a value of the filter',
  }),
  ...proven('conformance-origins.test.ts', 'log entries name schedule and queue, and filters find them', {
    '4.1.list-logs.query.scheduleId': 'messages of a schedule',
    '4.1.list-logs.query.queueName': 'messages of a queue',
  }),
  ...proven('conformance-origins.test.ts', 'failed messages of %s are deleted: %d', {
    '4.1.delete-dlq.query.scheduleId': 'any of several schedules',
    '4.1.delete-dlq.query.queueName': 'any of several queues',
  }),
  ...proven(LOGS, 'url and messageId', {
    '4.1.list-logs.query.url': 'messages to a URL',
    '4.1.list-logs.query.messageId': 'one message',
  }),
  ...proven(LISTING, 'logs: 100 unless fewer are requested', {
    '4.1.list-logs.query.count': 'entries of a page: 100 by default and at most',
    '4.1.list-logs.query.cursor': 'where the page before ended',
  }),
  settled(
    open('4.1.list-logs.order', 'order of the entries', 'not shown: newest first; switch logOrder'),
    LOGS,
    'switches change what is open in the interface',
  ),
  ...proven(DELIVERY, CARRIES, {
    '4.1.publish': 'POST /v2/publish/{destination} takes a message and delivers it',
    '4.1.publish.path.destination': 'a URL with http:// or https://, or the name of a group',
    '4.1.publish.header.Content-Type': 'arrives at the destination',
    '4.1.publish.header.Svc-Forward-<Name>': 'arrives without its prefix',
  }),
  ...proven(DELIVERY, 'bytes that are not text arrive unchanged', {
    '4.1.publish.body': 'the body is forwarded as it is',
  }),
  ...proven(PUBLISH, '%s to "%s" answers %d', {
    '4.1.publish.destination-scheme': ['another scheme than http and https is no destination', "'ftp://a.example/'"],
  }),
  ...proven('private-destinations.test.ts', 'publish and trigger to %s', {
    '4.1.publish.destination-public': 'the destination must be publicly reachable',
  }),
  ...proven(PUBLISH, GROUP, {
    '4.1.publish.group': 'to a group: one message for each endpoint',
  }),
  settled(
    open('4.1.publish.group-answer', 'answer of a publish to a group', 'not shown: switch groupPublish'),
    PUBLISH,
    GROUP,
  ),
  ...proven(HEADERS, 'the method %s arrives as %s', {
    '4.1.publish.header.Svc-Method': 'HTTP method towards the destination, POST by default',
    '4.1.publish.header.Svc-Method=GET': 'a value',
    '4.1.publish.header.Svc-Method=POST': 'a value',
    '4.1.publish.header.Svc-Method=PUT': 'a value',
    '4.1.publish.header.Svc-Method=PATCH': 'a value',
    '4.1.publish.header.Svc-Method=DELETE': 'a value',
  }),
  ...proven(HEADERS, 'a timeout of %s is %d seconds', {
    '4.1.publish.header.Svc-Timeout': 'seconds, minutes, hours, and combined',
  }),
  ...proven(PUBLISH, "a timeout shortens the plan's and never extends it", {
    '4.1.publish.timeout-shortens': "shortens the plan's",
  }),
  ...proven(DELIVERY, "a hanging destination is abandoned after the timeout, on the service's clock", {
    '4.1.publish.timeout-holds': 'an attempt ends with it',
  }),
  ...proven(HEADERS, 'plan %s, retries %s: %d deliveries', {
    '4.1.publish.header.Svc-Retries': 'one delivery and so many more; free 3, paid 5 by default',
  }),
  ...proven(HEADERS, 'an unreachable destination is retried as a failing one is', {
    '4.1.publish.retries-unavailable': 'a destination that is not there is tried again too',
  }),
  ...proven(DELIVERY, 'an expression and a Retry-After set the delay', {
    '4.1.publish.header.Svc-Retry-Delay': 'expression for the wait before each retry',
  }),
  ...proven(DELIVERY, 'is retried after the default backoff, as often as the plan allows, then fails permanently', {
    '4.1.publish.back-off': 'exponential by default',
  }),
  ...proven(HEADERS, 'a delay of %s is %d ms', {
    '4.1.publish.header.Svc-Delay': 'seconds, minutes, hours, days, and combined',
  }),
  ...proven(DELIVERY, 'waits for a delay; a not-before takes precedence, and CREATED has the due time', {
    '4.1.publish.header.Svc-Not-Before': 'Unix seconds; comes before a delay',
  }),
  ...proven(HEADERS, 'labels are separated by commas; each finds the message', {
    '4.1.publish.header.Svc-Label': 'labels with commas between them',
  }),
  ...proven(PUBLISH, 'Svc-%s: %s', {
    '4.1.publish.header.Svc-Flow-Control-Key': ['needs the value', '/needs Svc-Flow-Control-Value/'],
    '4.1.publish.flow-value-needs-key': ['the value needs the key', '/needs Svc-Flow-Control-Key/'],
  }),
  ...proven(HEADERS, FLOW_VALUE, {
    '4.1.publish.header.Svc-Flow-Control-Value': 'parallelism, rate and period',
  }),
  ...proven('flow-control.test.ts', 'a long waiting list of a key delays no message of another key', {
    '4.1.publish.flow-fair': 'a long waiting list starves no other key',
  }),
  ...proven(
    'conformance-properties.test.ts',
    'no key ever exceeds its limits at the destination, and its figures are always exact',
    {
      '4.1.publish.flow-holds': 'no key exceeds its limits',
      '4.1.publish.flow-at-destination': 'nor does the destination see more than they allow',
    },
  ),
  ...proven(PUBLISH, 'by id within ten minutes', {
    '4.1.publish.header.Svc-Deduplication-Id': 'the same id within ten minutes is not sent again',
    '4.1.publish.duplicate': 'a duplicate answers the earlier id',
  }),
  settled(
    open(
      '4.1.publish.duplicate-status',
      'status of a duplicate',
      '200 by the interface, 202 is met: switch duplicateStatus',
    ),
    PUBLISH,
    'by id within ten minutes',
  ),
  ...proven(PUBLISH, 'by content', {
    '4.1.publish.header.Svc-Content-Based-Deduplication': 'a hash of the body is the id',
    '4.1.publish.header.Svc-Content-Based-Deduplication=true': 'on',
    '4.1.publish.header.Svc-Content-Based-Deduplication=false': 'off',
  }),
  ...proven(HEADERS, 'without the header equal bodies are not duplicates', {
    '4.1.publish.content-default': 'off by default',
  }),
  ...proven(HEADERS, EACH_CALLBACK, {
    '4.1.publish.header.Svc-Callback': 'called after each delivery, success or failure',
  }),
  ...proven(PUBLISH, 'Svc-%s: %s', {
    '4.1.publish.callback-scheme': ['a callback is a URL with http:// or https://', "'ftp://x/'"],
  }),
  ...proven(HEADERS, HELD_CALLBACK, {
    '4.1.publish.header.Svc-Callback-Forward-<Name>': 'arrives at the callback',
    '4.1.publish.header.Svc-Callback-Delay': 'the callback waits',
    '4.1.publish.header.Svc-Failure-Callback-Forward-<Name>': 'arrives at the failure callback',
    '4.1.publish.header.Svc-Failure-Callback-Delay': 'the failure callback waits',
  }),
  ...proven(HEADERS, OWN_SETTING, {
    '4.1.publish.header.Svc-Callback-Method': ['its HTTP method', "['Method', 'PUT'"],
    '4.1.publish.header.Svc-Callback-Timeout': ['its timeout', "['Timeout', '20s'"],
    '4.1.publish.header.Svc-Callback-Retries': ['its retries', "['Retries', '3'"],
    '4.1.publish.header.Svc-Callback-Retry-Delay': ['its expression', "['Retry-Delay', '7000'"],
    '4.1.publish.header.Svc-Failure-Callback-Method': ['its HTTP method', "['Method', 'PUT'"],
    '4.1.publish.header.Svc-Failure-Callback-Timeout': ['its timeout', "['Timeout', '20s'"],
    '4.1.publish.header.Svc-Failure-Callback-Retries': ['its retries', "['Retries', '3'"],
    '4.1.publish.header.Svc-Failure-Callback-Retry-Delay': ['its expression', "['Retry-Delay', '7000'"],
  }),
  ...proven(HEADERS, PLAIN_CALLBACK, {
    '4.1.publish.callback-defaults': 'POST, and the retries of the original',
  }),
  ...proven(PUBLISH, BODY_OF_CALLBACK, {
    '4.1.publish.header.Svc-Failure-Callback': 'called when all retries are exhausted',
  }),
  ...proven(PUBLISH, REDACTED, {
    '4.1.publish.header.Svc-Redact-Fields': 'told as a SHA-256 hash, delivered as it is',
    '4.1.publish.header.Svc-Redact-Fields=body': 'the body',
    '4.1.publish.header.Svc-Redact-Fields=headers': 'all headers',
    '4.1.publish.header.Svc-Redact-Fields=header[<header_name>]': 'one header',
  }),
  ...proven(HEADERS, 'a retry delay of %s waits %j ms', {
    '4.1.expression=retried': ['retries so far, 0 before the first', "'1000 * (1 + retried)'"],
    '4.1.expression=pow': ['x to the y', "'pow(2, retried)"],
    '4.1.expression=exp': ['e to the x', "'exp(retried)"],
    '4.1.expression=sqrt': ['square root', "'sqrt(retried"],
    '4.1.expression=abs': ['absolute value', "'abs(retried - 1)"],
    '4.1.expression=floor': ['rounded down', "'floor(retried / 2)"],
    '4.1.expression=ceil': ['rounded up', "'ceil(retried / 2)"],
    '4.1.expression=round': ['rounded', "'round(retried / 3)"],
    '4.1.expression=min': ['the smaller', "'min(retried, 1)"],
    '4.1.expression=max': ['the larger', "'max(10000, "],
    '4.1.expression.forms': 'a constant, a linear term, a scaled power, a floor',
  }),
  ...proven(PUBLISH, 'Svc-%s: %s', {
    '4.1.expression.refused': ['what is no expression is refused', "['Retry-Delay', 'pow(2)'"],
  }),
  ...proven(HEADERS, 'the payload arrives unchanged, with the run id and the forwarded headers', {
    '4.1.trigger': 'POST /v2/trigger/{workflowUrl} begins a run',
    '4.1.trigger.path.workflowUrl': 'URL of the workflow',
    '4.1.trigger.body': 'the payload is handed on as it is',
    '4.1.trigger.header.Svc-Forward-<Name>': 'arrives without its prefix',
  }),
  ...proven(DEAD, 'is accepted with its id or a random one', {
    '4.1.trigger.header.Svc-Workflow-RunId': 'own run id, random without it',
    '4.1.trigger.answer.workflowRunId': 'the run',
    '4.1.trigger.answer.workflowCreatedAt': 'when it began',
  }),
  ...proven(DEAD, 'has three retries on every plan', { '4.1.trigger.header.Svc-Retries': '3 by default' }),
  ...proven(HEADERS, 'waits for a delay; a not-before takes precedence', {
    '4.1.trigger.header.Svc-Delay': 'as of a publish',
    '4.1.trigger.header.Svc-Not-Before': 'as of a publish; comes before a delay',
  }),
  ...proven(HEADERS, 'retries as configured, and fails with its labels in logs and DLQ', {
    '4.1.trigger.header.Svc-Label': 'labels in logs and DLQ',
    '4.1.trigger.header.Svc-Retry-Delay': 'an expression as of a publish',
  }),
  ...proven(HEADERS, 'runs of a key are limited to its parallelism', {
    '4.1.trigger.header.Svc-Flow-Control-Key': 'key of the run',
    '4.1.trigger.header.Svc-Flow-Control-Value': 'parallelism, rate and period',
  }),
  ...proven(EVERY, 'a trigger with %s: %s is rejected with the reason', {
    '4.1.trigger.flow-needs-value': ['key and value need each other', "'needs Svc-Flow-Control-Value'"],
  }),
  ...proven(EVERY, 'or callback of a %s: %s is a URL with http:// or https://', {
    '4.1.trigger.callback-scheme': ['a URL with http:// or https://', "['trigger', 'Svc-Failure-Callback']"],
  }),
  ...proven(
    HEADERS,
    'a run that fails permanently is reported to its failure callback, as a message with the same retries',
    {
      '4.1.trigger.header.Svc-Failure-Callback': 'called at the end; charged; retries of the original',
      '4.1.trigger.header.Svc-Failure-Callback-Forward-<Name>': 'arrives at the failure callback',
    },
  ),
  ...proven(
    'failure-function.test.ts',
    'is called once, at the URL of the workflow, with the body of a failure callback',
    {
      '4.1.trigger.failure-function': 'without a failure callback the failure function of the workflow is called',
    },
  ),
  ...proven(LISTING, 'failed runs: 100 unless fewer are requested', {
    '4.1.list-runs': 'GET /v2/workflows/dlq lists failed runs',
    '4.1.list-runs.query.cursor': 'where the page before ended',
    '4.1.list-runs.query.count': 'entries of a page: 100 by default and at most',
    '4.1.list-runs.answer.cursor': 'text while more follow',
    '4.1.list-runs.answer.messages': 'the entries',
  }),
  ...runFilters('4.1.list-runs', 'listing by %s=%s'),
  settled(
    open('4.1.list-runs.order', 'order of the entries', 'not shown: oldest failure first; switch dlqOrder'),
    DEAD,
    '%s',
    "['', ['run-1', 'run-2', 'run-3']]",
  ),
  settled(
    open(
      '4.1.dlq.dates',
      'whether dates of the DLQs are those of the creation or the failure',
      'not shown: the failure',
    ),
    EVERY,
    'dates of the DLQs compare with the time of the failure, which may be later than that of the run or message',
  ),
  ...proven(DEAD, 'delivers the whole run again under a new run id, with its settings', {
    '4.1.resume-runs': 'POST /v2/workflows/dlq/resume begins failed runs again',
    '4.1.resume-runs.answer.workflowRuns': 'reference of each run that goes on',
  }),
  ...proven(EVERY, 'named by a resume replaces that of the run', {
    '4.1.resume-runs.header.Svc-Failure-Callback': 'in place of what the run had',
  }),
  ...proven(DEAD, OVERRIDES, {
    '4.1.resume-runs.header.Svc-Retries': 'in place of what the run had',
    '4.1.resume-runs.header.Svc-Delay': 'waits first',
    '4.1.resume-runs.header.Svc-Retry-Delay': 'in place of what the run had',
    '4.1.resume-runs.header.Svc-Flow-Control-Key': 'in place of what the run had',
    '4.1.resume-runs.header.Svc-Flow-Control-Value': 'in place of what the run had',
    '4.1.resume-runs.header.Svc-Label': 'in place of what the run had',
  }),
  settled(
    open(
      '4.1.resume-runs.ids',
      'whether a resumed run has a new id, and labels are replaced or added',
      'not shown: switches resumeRunIds and labelOverride',
    ),
    DEAD,
    'labels may be added and run ids kept instead',
  ),
  ...proven(LISTING, BULK_IDS, {
    '4.1.resume-runs.query.dlqIds': 'these entries; other filters are ignored',
    '4.1.delete-runs.query.dlqIds': 'these entries; other filters are ignored',
  }),
  ...proven(LISTING, 'resuming: all at once, and no more than requested', {
    '4.1.resume-runs.query.cursor': 'where the batch before ended',
    '4.1.resume-runs.query.count': 'at most so many; all without it',
    '4.1.resume-runs.answer.cursor': 'empty when all were done',
  }),
  ...runFilters('4.1.resume-runs', 'resuming by %s=%s'),
  ...proven(LISTING, 'deleting runs: all at once, and no more than requested', {
    '4.1.delete-runs': 'DELETE /v2/workflows/dlq deletes failed runs',
    '4.1.delete-runs.query.count': 'at most so many',
    '4.1.delete-runs.answer.deleted': 'how many went',
  }),
  ...proven(DEAD, 'by filter, all at once or a few by cursor', {
    '4.1.delete-runs.query.cursor': 'where the batch before ended',
    '4.1.delete-runs.answer.cursor': 'with filters',
  }),
  ...proven(DEAD, 'by ids, repeated or with commas; unknown ones are not counted', {
    '4.1.delete-runs.no-cursor': 'no cursor with ids',
  }),
  ...runFilters('4.1.delete-runs', 'deleting by %s=%s'),
  ...proven(DEAD, BY_MESSAGE, {
    '4.1.delete-dlq': 'DELETE /v2/dlq deletes failed messages',
    '4.1.delete-dlq.query.dlqIds': 'these entries; other filters are ignored',
    '4.1.delete-dlq.query.messageId': 'one message',
  }),
  ...proven(LISTING, 'deleting messages: 100 at once, and no more than requested', {
    '4.1.delete-dlq.query.cursor': 'where the batch before ended',
    '4.1.delete-dlq.query.count': '100 by default and at most',
    '4.1.delete-dlq.answer.cursor': 'absent at the end',
    '4.1.delete-dlq.answer.deleted': 'how many went',
  }),
  ...proven(DEAD, '%s: %d', {
    '4.1.delete-dlq.query.url': ['any of several URLs', "'url=URL/404,URL/500'"],
    '4.1.delete-dlq.query.topicName': ['any of several groups', "'topicName=group'"],
    '4.1.delete-dlq.query.fromDate': ['milliseconds, inclusive', '`fromDate=${START + 60_000}&toDate='],
    '4.1.delete-dlq.query.toDate': ['milliseconds, inclusive', '&toDate=${START + 120_000}`'],
    '4.1.delete-dlq.query.responseStatus': [
      'any of several statuses of the last attempt',
      "'responseStatus=500,404&responseStatus=410'",
    ],
    '4.1.delete-dlq.query.callerIp': ['any of several addresses', "'callerIp=127.0.0.1'"],
    '4.1.delete-dlq.query.label': ['any of several labels', "'label=x'"],
    '4.1.delete-dlq.query.flowControlKey': ['any of several keys', "'flowControlKey=k'"],
  }),
  ...proven('flow-control.test.ts', 'the key is read with all its figures while messages run and wait', {
    '4.1.get-key': 'GET /v2/flowControl/{flowControlKey} reads a key',
    '4.1.get-key.path.flowControlKey': 'the key',
  }),
];
