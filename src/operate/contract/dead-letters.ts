/** Dead letters of both queues. Field names are stable. Times are epoch milliseconds. */
import { z } from 'zod';
import { RETRIGGER_STATES } from '../situation/retrigger.ts';
import { DEAD_LETTER_QUEUES } from '#foundation/domain/incident.ts';
import { FAILURE_CAUSES } from '#foundation/domain/reason.ts';
import {
  bytesField,
  choiceField,
  cursorParameter,
  limitParameter,
  MAX_MESSAGE_BYTES,
  nameField,
  pastParameter,
  reasonField,
  statusesParameter,
  textParameter,
  textsParameter,
} from './parameters.ts';
import { action } from './policies.ts';
import { route } from './route.ts';
import * as s from './schema.ts';

/** State of the daemon's data about one queue of one account. */
export const queueStatus = s.named(
  'QueueStatus',
  s.object({
    account: s.text(),
    queue: s.choice(DEAD_LETTER_QUEUES),
    readAt: s.opt(s.time('Last complete reading.')),
    problem: s.opt(s.text('Reason why the list may be incomplete or outdated.')),
  }),
);
export type QueueStatus = s.Infer<typeof queueStatus>;

export const deadLetter = s.named(
  'DeadLetter',
  s.object({
    id: s.text('The dlqId.'),
    account: s.text(),
    queue: s.choice(DEAD_LETTER_QUEUES),
    failedAt: s.time(),
    // Absent if the retention is not configured.
    expiresAt: s.opt(s.time()),
    // Absent if the dead letter is not grouped yet.
    incident: s.opt(s.text()),
    cause: s.choice(FAILURE_CAUSES),
    reason: s.text('Normalized reason.'),
    responseStatus: s.opt(s.integer()),
    // Workflow DLQ only: start of the last response body.
    responseText: s.opt(s.text()),
    // Without the daemon's own stamps.
    labels: s.listOf(s.text()),
    ...s.optTexts('url', 'method', 'workflowUrl', 'workflowRunId', 'flowControlKey', 'failureFunctionState'),
    ...s.optTexts('messageId', 'topicName', 'scheduleId', 'callerIp'),
    workflowCreatedAt: s.opt(s.time()),
    createdAt: s.opt(s.time()),
    maxRetries: s.opt(s.integer()),
    retried: s.opt(s.integer()),
  }),
);
export type DeadLetterView = s.Infer<typeof deadLetter>;

/** Body that a failure callback brought, if it is kept. */
const keptBody = s.named(
  'KeptBody',
  s.object({
    size: s.opt(s.integer('Bytes of the body.')),
    until: s.opt(s.time('End of the body.')),
    reason: s.opt(s.text('Reason why there is no body, and what to do.')),
  }),
);
export type KeptBodyView = s.Infer<typeof keptBody>;

/** Body and headers of a dead letter, redacted. */
const sample = s.named(
  'DeadLetterSample',
  s.object({
    headers: s.opt(s.anything('Headers by name, with credentials masked.')),
    body: s.opt(s.text()),
    responseHeaders: s.opt(s.anything()),
    responseBody: s.opt(s.text()),
    isCut: s.opt(s.flag('True if a body was cut.')),
    problem: s.opt(s.text('Reason why there is no sample.')),
  }),
);
export type DeadLetterSample = s.Infer<typeof sample>;

/** New run with the body of a failed one. */
const retrigger = s.named(
  'Retrigger',
  s.object({
    workflowRunId: s.text('Id of the new run.'),
    at: s.time(),
    by: s.text(),
    reason: s.text(),
    isEdited: s.flag('True if the operator gave the body.'),
    state: s.choice(RETRIGGER_STATES),
    text: s.text('What is known of the new run, and the next step.'),
  }),
);
export type RetriggerView = s.Infer<typeof retrigger>;

/** Filters as the service names them. Values of one filter are alternatives; all filters must match. */
export const DEAD_LETTER_FILTERS = [
  'dlqId',
  'label',
  'workflowUrl',
  'workflowRunId',
  'flowControlKey',
  'failureFunctionState',
  'callerIp',
  'messageId',
  'url',
  'topicName',
  'scheduleId',
  'responseStatus',
] as const;
export type DeadLetterFilter = (typeof DEAD_LETTER_FILTERS)[number];

const filterParameters = Object.fromEntries(
  DEAD_LETTER_FILTERS.map((name) => [name, textsParameter(`Only dead letters with one of these values of ${name}.`)]),
) as Record<DeadLetterFilter, ReturnType<typeof textsParameter>>;

export const searchDeadLetters = route('GET /api/v1/dead-letters', {
  id: 'searchDeadLetters',
  summary: 'Dead letters of both queues, newest first',
  role: 'viewer',
  query: z.strictObject({
    account: textParameter('Only dead letters of this account.'),
    queue: choiceField(DEAD_LETTER_QUEUES).exactOptional().describe('Only this queue.'),
    ...filterParameters,
    url: textsParameter('Only dead letters with this destination, or this workflow: a URL, its beginning, or a host.'),
    workflowUrl: textsParameter('Only runs of this workflow: a URL, its beginning, or a host.'),
    responseStatus: statusesParameter('Only dead letters with this status of the last attempt'),
    incident: textParameter('Only members of this incident.'),
    cause: z.array(choiceField(FAILURE_CAUSES)).exactOptional().describe('Only dead letters with one of these causes.'),
    since: pastParameter('Only failures since this time'),
    fromDate: pastParameter('Only failures since this time, inclusive'),
    toDate: pastParameter('Only failures until this time, inclusive'),
    limit: limitParameter({ standard: 50, max: 500 }),
    cursor: cursorParameter(),
  }),
  answer: s.object({
    at: s.time(),
    total: s.count('Number of all dead letters that match.'),
    deadLetters: s.listOf(deadLetter),
    cursor: s.cursor,
    queues: s.listOf(queueStatus),
  }),
  errors: [404],
});
export type DeadLetterList = s.Infer<typeof searchDeadLetters.answer>;

/** With `body=true`, the store or at most one request has body and headers, which may have personal data. */
export const getDeadLetter = route('GET /api/v1/dead-letters/{id}', {
  id: 'getDeadLetter',
  summary: 'One dead letter; its body needs the role operator',
  role: 'viewer',
  query: z.strictObject({
    account: textParameter('Account of the dead letter, if several have its id.'),
    body: z
      .enum(['true', 'false'], 'must be true or false')
      .exactOptional()
      .describe('True reads body and headers: of a message from the store, of a run with one request.'),
  }),
  answer: s.object({
    at: s.at,
    deadLetter,
    actions: s.listOf(action),
    // Message DLQ only.
    body: s.opt(keptBody),
    sample: s.opt(sample),
    // Workflow DLQ only: new runs with the body of this one, newest first. The log is read for each.
    retriggers: s.listOf(retrigger),
  }),
  errors: [403, 404],
});

/** The new run executes all steps, also those that had finished. The entry stays in the DLQ. */
export const retriggerRun = route('POST /api/v1/retrigger', {
  id: 'retriggerRun',
  summary: 'Start a new run with the body of a failed one, or with another body',
  role: 'admin',
  command: 'opsd dlq retrigger ID --reason TEXT',
  isLong: true,
  body: z.strictObject({
    id: nameField('the dlqId of a failed run'),
    account: nameField('the name of an account').exactOptional(),
    confirm: nameField('the dlqId again').exactOptional(),
    reason: reasonField(),
    body: bytesField().exactOptional().describe('Body in base64; default: that of the failed run.'),
  }),
  form: '{"id": "DLQID", "confirm": "DLQID", "reason": "TEXT", "account": "NAME", "body": "BASE64"}',
  maxBytes: MAX_MESSAGE_BYTES,
  answer: s.object({ retrigger }),
  errors: [404, 409, 429, 502, 503],
});
