/** Messages and workflow runs. Fields have the service's names; what the log does not have is absent. */
import { z } from 'zod';
import { LOG_STATES, MESSAGE_STATES } from '#foundation/domain/log-entry.ts';
import {
  boundedText,
  choiceField,
  cursorParameter,
  limitParameter,
  pastParameter,
  statusesParameter,
  textParameter,
} from './parameters.ts';
import { action } from './policies.ts';
import { route } from './route.ts';
import * as s from './schema.ts';

const messageFields = {
  account: s.text(),
  messageId: s.text(),
  traceId: s.text(),
  // State of the newest entry; absent if the log has no entry of the message.
  state: s.opt(s.choice(MESSAGE_STATES)),
  labels: s.listOf(s.text()),
  postponedBy: s.opt(s.choice(['delay', 'not_before'])),
  ...s.optTexts('url', 'topicName', 'endpointName', 'queueName', 'scheduleId', 'method', 'flowControlKey'),
  workflowRunId: s.opt(s.text()),
  maxRetries: s.opt(s.integer()),
};

/** One message of the search: `state` and the response are those of its newest matching entry. */
const messageRow = s.named(
  'MessageRow',
  s.object({
    ...messageFields,
    at: s.time('Time of the newest matching entry.'),
    isUpdate: s.opt(s.flag('True if an earlier page had an older entry of the message.')),
    error: s.opt(s.text()),
    responseStatus: s.opt(s.integer()),
    nextDeliveryTime: s.opt(s.time()),
  }),
);
export type MessageRow = s.Infer<typeof messageRow>;

/** Attempt to deliver a message. Durations are exact differences of the service's times. */
const attempt = s.named(
  'Attempt',
  s.object({
    number: s.integer('1 for the first.'),
    dueAt: s.opt(s.time()),
    // Absent if the log has no such entry.
    startedAt: s.opt(s.time()),
    // Absent while the attempt is in progress.
    endedAt: s.opt(s.time()),
    waitedMs: s.opt(s.span('Time from due to start.')),
    durationMs: s.opt(s.span('Time from start to end.')),
    outcome: s.choice(['delivered', 'failed', 'in_progress']),
    responseStatus: s.opt(s.integer()),
    failure: s.opt(s.text('Class of the failure.')),
    // Text of the failure from the service.
    error: s.opt(s.text()),
    // Time of the next attempt that the service announced.
    nextDeliveryAt: s.opt(s.time()),
  }),
);
export type AttemptView = s.Infer<typeof attempt>;

const moment = { at: s.time(), sinceMs: s.opt(s.span('Time since the event before.')) };
const timelineEvent = s.named(
  'TimelineEvent',
  s.oneOf(
    s.object({ ...moment, kind: s.choice(['created', 'due', 'cancel_requested']) }),
    s.object({ ...moment, kind: s.choice(['attempt']), attempt }),
    s.object({ ...moment, kind: s.choice(['ended']), outcome: s.text() }),
    // A failure callback of the message reached the daemon.
    s.object({ ...moment, kind: s.choice(['failure_callback']), responseStatus: s.opt(s.integer()) }),
    // What is behind the destination was deployed.
    s.object({ ...moment, kind: s.choice(['deploy']), version: s.text(), text: s.text() }),
    // The daemon acted on the message or its run.
    s.object({ ...moment, kind: s.choice(['action']), action }),
  ),
);
export type TimelineEvent = s.Infer<typeof timelineEvent>;

const message = s.named(
  'Message',
  s.object({
    ...messageFields,
    isOpen: s.flag('True if no entry ends the message.'),
    createdAt: s.opt(s.time()),
    endedAt: s.opt(s.time()),
    outcome: s.opt(s.choice(['delivered', 'failed', 'cancelled'])),
    totalMs: s.opt(s.span('Time from creation to end.')),
    // `snapshot` if the log has one entry for the message instead of one for each change.
    entryMode: s.opt(s.choice(['transitions', 'snapshot'])),
    timeline: s.listOf(timelineEvent),
    unknown: s.listOf(s.text(), 'Facts that the log does not have.'),
  }),
);
export type MessageView = s.Infer<typeof message>;

const workflowRun = s.named(
  'WorkflowRun',
  s.object({
    account: s.text(),
    workflowRunId: s.text(),
    traceId: s.text(),
    ...s.optTexts('workflowUrl', 'dlqId', 'flowControlKey', 'failureFunctionState'),
    createdAt: s.opt(s.time()),
    // Time when the run failed and entered the workflow DLQ.
    failedAt: s.opt(s.time()),
    responseStatus: s.opt(s.integer()),
    labels: s.listOf(s.text()),
    resumedFrom: s.opt(s.text('Run that the daemon resumed as this one.')),
    // Runs that the daemon resumed this one as, oldest first.
    resumedAs: s.listOf(s.object({ workflowRunId: s.text(), at: s.time(), outcome: s.text() })),
    // Messages of the run in the log, oldest first.
    messages: s.listOf(message),
    isCut: s.opt(s.flag('True if not all messages were read.')),
    // Events of the run itself; each message has its own.
    timeline: s.listOf(timelineEvent),
    unknown: s.listOf(s.text()),
  }),
);
export type WorkflowRunView = s.Infer<typeof workflowRun>;

export const searchMessages = route('GET /api/v1/messages', {
  id: 'searchMessages',
  summary: 'Search of the message log, one row a message',
  role: 'viewer',
  isLong: true,
  query: z.strictObject({
    account: textParameter('Account; required if several accounts have a message API.'),
    messageId: textParameter('Id of the message.'),
    state: choiceField(LOG_STATES)
      .exactOptional()
      .describe('State of the entries. `IN_PROGRESS` is ACTIVE, RETRY, or ERROR.'),
    url: textParameter('Destination: a URL, its beginning, or a host.'),
    responseStatus: statusesParameter('Only entries with this status'),
    topicName: textParameter('URL Group.'),
    scheduleId: textParameter('Schedule.'),
    queueName: textParameter('Queue.'),
    label: z
      .array(boundedText(1_000))
      .max(20, 'has more than 20 values')
      .exactOptional()
      .describe('Any of these labels.'),
    fromDate: pastParameter('Only entries since this time'),
    toDate: pastParameter('Only entries until this time'),
    since: pastParameter('Same as `fromDate`'),
    limit: limitParameter({ standard: 50, max: 200 }),
    cursor: cursorParameter(),
  }),
  answer: s.object({
    at: s.time(),
    account: s.text(),
    messages: s.listOf(messageRow),
    read: s.object({
      pages: s.count(),
      entries: s.count(),
      dropped: s.count('Invalid entries.'),
      mismatched: s.count('Entries that contradict the filters.'),
    }),
    cursor: s.cursor,
  }),
  errors: [404, 429, 502, 503],
});
export type MessagesView = s.Infer<typeof searchMessages.answer>;

const answerFields = { at: s.at, account: s.text() };

export const getMessage = route('GET /api/v1/messages/{id}', {
  id: 'getMessage',
  summary: 'Timeline of one message or workflow run',
  role: 'viewer',
  isLong: true,
  query: z.strictObject({ account: searchMessages.query.shape.account }),
  answer: s.oneOf(s.object({ ...answerFields, message }), s.object({ ...answerFields, run: workflowRun })),
  errors: [404, 429, 502, 503],
});
export type MessageDetail = s.Infer<typeof getMessage.answer>;
