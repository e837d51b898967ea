/** Requests and responses of the message API (interface 2.1 to 2.6), and the callbacks of section 6. */
import { METHODS } from '../state/message.ts';
import {
  choiceOf,
  flag,
  httpUrl,
  integer,
  listOf,
  long,
  number,
  objectOf,
  ref,
  text,
  type JsonSchema,
} from './json-schema.ts';
import { FAILURE_FUNCTION_STATES } from '../state/failure-function-state.ts';

const headerArrays: JsonSchema = { type: 'object', additionalProperties: listOf(text()) };

const LOG_STATES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'DELIVERED',
  'FAILED',
  'CANCEL_REQUESTED',
  'CANCELLED',
  'CANCELED',
];

const failureState = choiceOf(FAILURE_FUNCTION_STATES, 'State of the failure function.');

const logEntry: Readonly<Record<string, JsonSchema>> = {
  time: long('Unix milliseconds.'),
  state: choiceOf(LOG_STATES, 'Not in the interface’s table: installations may send it.'),
  messageId: text(),
  header: headerArrays,
  body: text('Body if it is UTF-8; REDACTED:<SHA256> if redaction was requested.'),
  bodyBase64: text('Base64, if the body is not UTF-8.'),
  error: text('Why the attempt failed.'),
  nextDeliveryTime: long('Unix milliseconds.'),
  url: text('Destination.'),
  topicName: text('Name of the URL Group.'),
  endpointName: text(),
  scheduleId: text(),
  queueName: text(),
  responseStatus: integer(),
  responseBody: text(),
  responseHeaders: headerArrays,
  timeout: number('Seconds.'),
  method: choiceOf(METHODS),
  callback: text('URL.'),
  callbackHeaders: headerArrays,
  failureCallback: text('URL.'),
  failureCallbackHeaders: headerArrays,
  maxRetries: integer(),
  retryDelayExpression: text(),
  label: text('The first label.'),
  labels: listOf(text()),
};

const failedRun: Readonly<Record<string, JsonSchema>> = {
  dlqId: text(),
  workflowUrl: text(),
  workflowRunId: text(),
  workflowCreatedAt: long('Unix milliseconds.'),
  url: text(),
  method: choiceOf(METHODS),
  header: headerArrays,
  body: text('Body if it is UTF-8.'),
  bodyBase64: text('Base64, if the body is not UTF-8.'),
  maxRetries: integer(),
  createdAt: long('Unix milliseconds of the failure.'),
  failureCallback: text('URL.'),
  callerIP: text(),
  label: text('The first label.'),
  labels: listOf(text()),
  flowControlKey: text(),
  failureFunctionState: failureState,
  failureCallbackInfo: objectOf(
    { state: failureState },
    { description: 'Replaces failureFunctionState in some installations.' },
  ),
  responseStatus: integer('Status of the last attempt.'),
  responseHeader: headerArrays,
  responseBody: text('Response body if it is UTF-8.'),
  responseBodyBase64: text('Base64, if the response body is not UTF-8.'),
};

/** Returns all fields but these, for `optional`. */
const except = (properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): readonly string[] =>
  Object.keys(properties).filter((name) => !required.includes(name));

const cursor = text('Position of the next page; absent or empty at the end.');

const callback: Readonly<Record<string, JsonSchema>> = {
  status: integer('HTTP status of the destination’s response; 0 if there was none.'),
  header: headerArrays,
  body: text('Base64 of the response body.'),
  retried: integer('Retries made.'),
  maxRetries: integer(),
  dlqId: text('In a failure callback: id in the DLQ.'),
  sourceMessageId: text('Id of the message that the callback reports.'),
  topicName: text('Name of the URL Group, when it was sent to one.'),
  endpointName: text(),
  url: text('Destination of the message.'),
  method: choiceOf(METHODS),
  sourceHeader: { type: 'object', additionalProperties: text(), description: 'Headers of the message.' },
  sourceBody: text('Base64 of the message’s body.'),
  notBefore: text('Unix milliseconds, as a string.'),
  createdAt: text('Unix milliseconds, as a string.'),
  scheduleId: text(),
  callerIP: text(),
};

export const MESSAGE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: objectOf({ error: text('The problem and its fix.') }, { description: 'Every error response has this form.' }),
  Endpoint: objectOf({ url: httpUrl('Without credentials.'), name: text() }, { optional: ['name'] }),
  NewEndpoints: objectOf({ endpoints: { ...listOf(ref('Endpoint')), minItems: 1 } }),
  UrlGroups: listOf(ref('UrlGroup')),
  UrlGroup: objectOf({
    name: text(),
    createdAt: long('Unix milliseconds.'),
    updatedAt: long('Unix milliseconds.'),
    endpoints: listOf(ref('Endpoint')),
  }),
  PublishResult: objectOf({
    messageId: text('Id of the message, or of the earlier message if it was de-duplicated.'),
    deduplicated: flag('True when nothing was sent.'),
  }),
  EndpointPublishResult: objectOf({ messageId: text(), deduplicated: flag(), url: text('URL of the endpoint.') }),
  PublishAnswer: {
    description: 'One result for a URL. One for each endpoint of a URL Group, as an array or in an object.',
    anyOf: [
      ref('PublishResult'),
      listOf(ref('EndpointPublishResult')),
      objectOf({ messages: listOf(ref('EndpointPublishResult')) }),
    ],
  },
  LogEntry: objectOf(logEntry, { optional: except(logEntry, ['time', 'messageId', 'url']) }),
  LogPage: objectOf({ cursor, logs: listOf(ref('LogEntry')) }, { optional: ['cursor'] }),
  FailedWorkflowMessage: objectOf(failedRun, {
    optional: except(failedRun, ['dlqId', 'workflowUrl', 'workflowRunId', 'workflowCreatedAt', 'url', 'createdAt']),
  }),
  WorkflowDlqPage: objectOf({ cursor, messages: listOf(ref('FailedWorkflowMessage')) }, { optional: ['cursor'] }),
  WorkflowRun: objectOf({ workflowRunId: text(), workflowCreatedAt: long('Unix milliseconds.') }),
  ResumeAnswer: objectOf({
    workflowRuns: listOf(ref('WorkflowRun')),
    cursor: text('Empty when all that match were resumed.'),
  }),
  DeleteAnswer: objectOf(
    { deleted: long('Number of entries that existed and were deleted.'), cursor },
    { optional: ['cursor'] },
  ),
  FlowControlKey: objectOf(
    {
      flowControlKey: text(),
      waitListSize: integer('Messages that wait because of the key.'),
      parallelismMax: integer('Set if a parallelism is set.'),
      parallelismCount: integer('Messages being delivered.'),
      rateMax: integer('Messages per period, if a rate is set.'),
      rateCount: integer('Messages dispatched in this period.'),
      ratePeriod: integer('Seconds.'),
      ratePeriodStart: long('Unix seconds at which this period began.'),
      isPinnedParallelism: flag(),
      isPinnedRate: flag(),
      isPaused: flag(),
    },
    { optional: ['parallelismMax', 'rateMax', 'rateCount', 'ratePeriod', 'ratePeriodStart'] },
  ),
  Callback: objectOf(callback, {
    optional: ['dlqId', 'topicName', 'endpointName', 'scheduleId'],
    description: 'Body of a callback and of a failure callback.',
  }),
};
