/** Schemas of flow control, spend, the audit log, the configuration, and messages. */
import { CANARY_PHASES, CANARY_SIZES, CANARY_VERDICTS, type CanaryRound } from '#foundation/domain/canary.ts';
import { CONSTRAINTS } from '#foundation/domain/flow-control.ts';
import { BUDGET_ORIGINS } from '#foundation/domain/known-budget.ts';
import { MESSAGE_STATES } from '#foundation/domain/log-entry.ts';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import type { AuditRecordView, AuditVerification } from '../audit.ts';
import type { CanaryView } from '../canaries.ts';
import type { FlowControlKeyView } from '../flow-control.ts';
import type { WorkflowRunView } from '../message-detail.ts';
import type { AttemptView, MessageView, TimelineEvent } from '../message-timeline.ts';
import type { MessageRow } from '../messages.ts';
import type { PolicyVersions } from '../policy-detail.ts';
import type { ValueCount } from '../reading-ports.ts';
import type { AccountSpend, BudgetView, RaiseView, SpendDay } from '../spend.ts';
import {
  anyObject,
  anything,
  choice,
  count,
  dollars,
  flag,
  integer,
  listOf,
  mapOf,
  number,
  objectOf,
  oneOf,
  opt,
  ref,
  span,
  text,
  time,
  type JsonSchema,
} from './json-schema.ts';

/** Event of a timeline of this kind. */
type Event<Kind> = Extract<TimelineEvent, { readonly kind: Kind }>;
type Simple = Event<'created' | 'due' | 'cancel_requested'>;

export const READING_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  FlowControlKey: objectOf<FlowControlKeyView>({
    account: text(),
    flowControlKey: text(),
    at: time('Time of the reading.'),
    isDiscovered: opt(flag('True if the key was found in entries; absent if it is configured.')),
    waitListSize: count('Waiting messages.'),
    parallelismMax: opt(integer()),
    parallelismCount: opt(integer()),
    rateMax: opt(integer()),
    rateCount: opt(integer()),
    ratePeriod: opt(integer('Seconds.')),
    ratePeriodStart: opt(time()),
    isPinnedParallelism: opt(flag()),
    isPinnedRate: opt(flag()),
    isPaused: opt(flag()),
    saturation: opt(number('Used share of the tighter limit.')),
    constraint: opt(choice(CONSTRAINTS, 'What keeps messages waiting.')),
    history: listOf(
      objectOf<FlowControlKeyView['history'][number]>({
        at: time('Start of the bucket.'),
        waitListSize: count('Highest reading.'),
      }),
    ),
  }),
  Canary: objectOf<CanaryView>({
    account: text(),
    canary: text('Name of the canary.'),
    verdict: choice(CANARY_VERDICTS),
    reason: text('One sentence without a period.'),
    next: opt(text('Next step for this verdict; absent if none is needed.')),
    since: time('Time since which the canary has this verdict.'),
    lastSuccessAt: opt(time('Arrival of the last message with the verdict ok.')),
    via: opt(
      oneOf(
        objectOf<{ flowControlKey: string }>({ flowControlKey: text() }),
        objectOf<{ urlGroup: string }>({ urlGroup: text() }),
        objectOf<{ queue: string }>({ queue: text() }),
        objectOf<{ workflow: true }>({ workflow: flag('True.') }),
      ),
    ),
    every: span('Interval of the messages.'),
    timeout: span('Time until a message must have arrived and been reported.'),
    inFlight: count('Messages without a verdict.'),
    rounds: listOf(ref('CanaryRound'), 'Last messages, newest first.'),
  }),
  CanaryRound: objectOf<CanaryRound>({
    id: text('Id of the message in the log of the daemon.'),
    size: choice(CANARY_SIZES),
    bytes: count('Size of the body.'),
    startedAt: time('Time of the publish request.'),
    phases: mapOf(time(), `Time of each phase that is known: ${CANARY_PHASES.join(', ')}.`),
    duplicates: count('Arrivals after the first one.'),
    messageId: opt(text('Id at the service; absent if unknown.')),
    warmUp: flag('True for the first message after a start, which does not count.'),
    result: opt(
      objectOf<NonNullable<CanaryRound['result']>>(
        { verdict: choice(CANARY_VERDICTS), reason: text(), at: time() },
        'Absent while the message is in flight.',
      ),
    ),
  }),
  AccountSpend: objectOf<AccountSpend>({
    account: text(),
    readAt: opt(time()),
    monthUsd: opt(dollars('Billed in the month so far.')),
    last24hUsd: opt(dollars()),
    dayBeforeUsd: opt(dollars()),
    medianDayUsd: opt(dollars()),
    paceUsd: opt(dollars('Per day.')),
    forecastUsd: opt(dollars('Forecast for the end of the month.')),
    exhaustedAt: opt(time('Time when the known budget is exhausted, if that is in this month.')),
    budget: opt(
      objectOf<BudgetView>({
        knownUsd: amount(),
        origin: choice(BUDGET_ORIGINS),
        assertedAt: opt(time()),
        isOutdated: flag('True if it is too old to act on.'),
      }),
    ),
    days: listOf(objectOf<SpendDay>({ at: time(), usd: opt(dollars()), requests: opt(number()) })),
    raises: listOf(
      objectOf<RaiseView>({
        at: time(),
        fromUsd: amount(),
        toUsd: amount(),
        outcome: opt(text()),
        isByOperator: opt(flag('True if an operator set the amount.')),
      }),
    ),
    dimension: opt(text()),
    byValue: listOf(objectOf<ValueCount>({ value: text(), states: mapOf(count()) })),
    source: opt(ref('Source')),
  }),
  AuditRecord: objectOf<AuditRecordView>({
    sequence: integer(),
    at: time(),
    type: text(),
    policy: opt(text()),
    account: opt(text()),
    by: opt(text('Operator who caused it.')),
    reason: opt(text()),
    hash: text(),
    details: mapOf(anything(), 'Other fields of the record.'),
  }),
  AuditHead: objectOf<AuditHead>({ sequence: integer(), hash: text() }, 'Last record of the audit log.'),
  AuditVerification: objectOf<AuditVerification>({
    at: time(),
    isIntact: flag('True if no record was changed and the last line is whole.'),
    tookMs: span(),
    records: count('Verified records.'),
    head: opt(ref('AuditHead')),
    finding: opt(
      objectOf<NonNullable<AuditVerification['finding']>>({ file: text(), line: integer(), problem: text() }),
    ),
    isTorn: flag('True if the last line has no end.'),
  }),
  PolicyVersions: objectOf<PolicyVersions>({
    present: anyObject('Scope in the running configuration.'),
    atLastRun: opt(anyObject('Scope at the last run.')),
    changed: opt(listOf(text(), 'Paths that differ.')),
  }),
  MessageRow: objectOf<MessageRow>({
    account: text(),
    messageId: text(),
    at: time('Time of the newest matching entry.'),
    state: opt(choice(MESSAGE_STATES)),
    traceId: text(),
    isUpdate: opt(flag('True if an earlier page had an older entry of the message.')),
    ...description(),
    endpointName: opt(text()),
    labels: listOf(text()),
    error: opt(text()),
    responseStatus: opt(integer()),
    nextDeliveryTime: opt(time()),
    postponedBy: opt(choice(['delay', 'not_before'])),
  }),
  Attempt: objectOf<AttemptView>({
    number: integer('1 for the first.'),
    dueAt: opt(time()),
    startedAt: opt(time()),
    endedAt: opt(time()),
    waitedMs: opt(span('Time from due to start.')),
    durationMs: opt(span('Time from start to end.')),
    outcome: choice(['delivered', 'failed', 'in_progress']),
    responseStatus: opt(integer()),
    failure: opt(text('Class of the failure.')),
    error: opt(text()),
    nextDeliveryAt: opt(time()),
  }),
  TimelineEvent: oneOf(
    objectOf<Simple>({ ...moment(), kind: choice(['created', 'due', 'cancel_requested']) }),
    objectOf<Event<'attempt'>>({ ...moment(), kind: choice(['attempt']), attempt: ref('Attempt') }),
    objectOf<Event<'ended'>>({ ...moment(), kind: choice(['ended']), outcome: text() }),
    objectOf<Event<'failure_callback'>>({
      ...moment(),
      kind: choice(['failure_callback']),
      responseStatus: opt(integer()),
    }),
    objectOf<Event<'action'>>({ ...moment(), kind: choice(['action']), action: ref('Action') }),
  ),
  Message: objectOf<MessageView>({
    account: text(),
    messageId: text(),
    traceId: text(),
    state: opt(choice(MESSAGE_STATES)),
    isOpen: flag('True if no entry ends the message.'),
    createdAt: opt(time()),
    endedAt: opt(time()),
    outcome: opt(choice(['delivered', 'failed', 'cancelled'])),
    totalMs: opt(span('Time from creation to end.')),
    entryMode: opt(choice(['transitions', 'snapshot'])),
    ...description(),
    endpointName: opt(text()),
    labels: listOf(text()),
    postponedBy: opt(choice(['delay', 'not_before'])),
    timeline: listOf(ref('TimelineEvent')),
    unknown: listOf(text(), 'Facts that the log does not have.'),
  }),
  WorkflowRun: objectOf<WorkflowRunView>({
    account: text(),
    workflowRunId: text(),
    traceId: text(),
    workflowUrl: opt(text()),
    dlqId: opt(text()),
    createdAt: opt(time()),
    failedAt: opt(time()),
    responseStatus: opt(integer()),
    labels: listOf(text()),
    flowControlKey: opt(text()),
    failureFunctionState: opt(text()),
    resumedFrom: opt(text('Run that the daemon resumed as this one.')),
    resumedAs: listOf(
      objectOf<WorkflowRunView['resumedAs'][number]>({ workflowRunId: text(), at: time(), outcome: text() }),
    ),
    messages: listOf(ref('Message')),
    timeline: listOf(ref('TimelineEvent')),
    unknown: listOf(text()),
  }),
};

function description() {
  return {
    url: opt(text()),
    topicName: opt(text()),
    queueName: opt(text()),
    scheduleId: opt(text()),
    method: opt(text()),
    maxRetries: opt(integer()),
    flowControlKey: opt(text()),
    workflowRunId: opt(text()),
  };
}

function moment() {
  return { at: time(), sinceMs: opt(span('Time since the event before.')) };
}

/** US dollars per month. */
function amount(): JsonSchema {
  return { type: ['number', 'null'], description: 'Null if unlimited.' };
}
