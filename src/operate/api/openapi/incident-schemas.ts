/** Schemas of incidents and dead letters. */
import type { FailureRate } from '#foundation/domain/failure-rate.ts';
import { DEAD_LETTER_QUEUES, INCIDENT_STATES, type Acknowledgment } from '#foundation/domain/incident.ts';
import { ACTION_TYPES, POLICY_MODES } from '#foundation/domain/plan.ts';
import { FAILURE_CAUSES } from '#foundation/domain/reason.ts';
import { MANUAL_ACTIONS } from '#foundation/domain/selection.ts';
import type { QueueStatus } from '../dead-letter-query.ts';
import type { DeadLetterSample, DeadLetterView } from '../dead-letter-views.ts';
import type { IncidentDetail, IncidentView } from '../incident-views.ts';
import type { PolicyView } from '../status-views.ts';
import {
  anything,
  choice,
  count,
  flag,
  integer,
  listOf,
  objectOf,
  opt,
  ref,
  text,
  time,
  type JsonSchema,
} from './json-schema.ts';
import { storedFields } from './plan-schemas.ts';
import { denialFields } from './status-schemas.ts';

type Counted = IncidentDetail['labels'][number];
type Destination = NonNullable<IncidentDetail['destination']>;

export const INCIDENT_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  QueueStatus: objectOf<QueueStatus>({
    account: text(),
    queue: choice(DEAD_LETTER_QUEUES),
    readAt: opt(time('Last complete reading.')),
    problem: opt(text('Reason why the list may be incomplete or outdated.')),
  }),
  Incident: objectOf<IncidentView>(incidentFields()),
  IncidentDetail: objectOf<IncidentDetail>({
    ...incidentFields(),
    aliases: listOf(text(), 'Former ids.'),
    labels: listOf(counted()),
    flowControlKeys: listOf(counted()),
    destination: opt(
      objectOf<Destination>({ host: text(), delivered: count(), attempts: count() }, 'Last 15 minutes.'),
    ),
    sample: opt(ref('DeadLetter')),
    policies: listOf(
      objectOf<IncidentDetail['policies'][number]>({
        name: text(),
        action: choice(ACTION_TYPES),
        mode: choice(POLICY_MODES),
        effectiveMode: choice(POLICY_MODES),
        reducedBy: opt(text()),
        held: opt(objectOf<NonNullable<PolicyView['held']>>({ ...denialFields(), since: time() })),
        schedule: text(),
        nextRunAt: opt(time()),
        selects: count('Members that it selects.'),
      }),
    ),
    plans: listOf(objectOf<IncidentDetail['plans'][number]>({ ...storedFields(), members: count() })),
    campaigns: listOf(
      objectOf<IncidentDetail['campaigns'][number]>({
        id: text(),
        policy: text(),
        group: text(),
        state: choice(['ready', 'settling', 'halted', 'audit', 'ended']),
        step: integer(),
        size: integer(),
        judged: count(),
        verified: count(),
        until: opt(time()),
        reason: opt(text()),
        begunAt: time(),
      }),
    ),
    endedCampaigns: listOf(text()),
    marks: listOf(
      objectOf<IncidentDetail['marks'][number]>({
        at: time(),
        kind: choice(['configuration', 'version']),
        detail: text(),
      }),
      'Changes of the daemon near the first failure.',
    ),
    selection: opt(
      objectOf<NonNullable<IncidentDetail['selection']>>(
        { account: text(), action: choice(MANUAL_ACTIONS), queue: choice(DEAD_LETTER_QUEUES), ids: listOf(text()) },
        'Selection of a manual plan that resumes these runs.',
      ),
    ),
    memberIds: objectOf<IncidentDetail['memberIds']>({ workflow: listOf(text()), message: listOf(text()) }),
    next: objectOf<IncidentDetail['next']>({ text: text(), command: opt(text()) }),
  }),
  DeadLetter: objectOf<DeadLetterView>({
    id: text('The dlqId.'),
    account: text(),
    queue: choice(DEAD_LETTER_QUEUES),
    failedAt: time(),
    expiresAt: opt(time()),
    incident: opt(text()),
    cause: choice(FAILURE_CAUSES),
    reason: text('Normalized reason.'),
    responseStatus: opt(integer()),
    responseText: opt(text()),
    url: opt(text()),
    labels: listOf(text()),
    workflowUrl: opt(text()),
    workflowRunId: opt(text()),
    workflowCreatedAt: opt(time()),
    method: opt(text()),
    flowControlKey: opt(text()),
    callerIp: opt(text()),
    failureFunctionState: opt(text()),
    maxRetries: opt(integer()),
    messageId: opt(text()),
    createdAt: opt(time()),
    topicName: opt(text()),
    scheduleId: opt(text()),
    retried: opt(integer()),
  }),
  DeadLetterSample: objectOf<DeadLetterSample>({
    headers: opt(anything('Headers by name, with credentials masked.')),
    body: opt(text()),
    responseHeaders: opt(anything()),
    responseBody: opt(text()),
    isCut: opt(flag('True if a body was cut.')),
    problem: opt(text('Reason why there is no sample.')),
  }),
};

function incidentFields() {
  return {
    id: text(),
    account: text(),
    state: choice(INCIDENT_STATES),
    title: text(),
    kind: choice(['workflow', 'destination', 'overflow']),
    place: text('Label of the workflow, or host of the destination.'),
    reason: text(),
    cause: choice(FAILURE_CAUSES),
    firstAt: time('First known failure.'),
    isSinceKnown: flag('False if deliveries may have failed earlier, because older attempts are not known.'),
    lastAt: time('Last failure.'),
    openedAt: time(),
    resolvedAt: opt(time()),
    members: objectOf<IncidentView['members']>({
      now: count(),
      ever: count(),
      expired: count(),
      workflow: count(),
      message: count(),
      isLowerBound: flag('True if there may be more: no operation lists the message DLQ.'),
    }),
    deliveries: opt(
      objectOf<NonNullable<IncidentView['deliveries']>>({
        failed: count(),
        lost: count(),
        since: time(),
        lastAt: time(),
        isFailing: flag(),
        recoveringSince: opt(time('Absent while the destination fails, and once it is healthy.')),
      }),
    ),
    rate: opt(
      objectOf<FailureRate>({ from: time('Start of the first step.'), stepMs: integer(), counts: listOf(count()) }),
    ),
    firstExpiresAt: opt(time()),
    acknowledged: opt(objectOf<Acknowledgment>({ by: text(), note: text(), at: time() })),
  };
}

function counted(): JsonSchema {
  return objectOf<Counted>({ name: text(), count: count() });
}
