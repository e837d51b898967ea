/** Incidents. Field names are stable. Times are epoch milliseconds. */
import { z } from 'zod';
import { CAMPAIGN_STATES } from '#foundation/domain/campaign.ts';
import type { FailureRate } from '#foundation/domain/failure-rate.ts';
import { DEAD_LETTER_QUEUES, INCIDENT_STATES } from '#foundation/domain/incident.ts';
import { ACTION_TYPES, POLICY_MODES } from '#foundation/domain/plan.ts';
import { MAX_PAST_TIME, PAST_TIME } from '#foundation/domain/past-time.ts';
import { FAILURE_CAUSES } from '#foundation/domain/reason.ts';
import { MANUAL_ACTIONS } from '#foundation/domain/selection.ts';
import { deadLetter, queueStatus } from './dead-letters.ts';
import { choiceField, cursorParameter, limitParameter, nameField, reasonField, textParameter } from './parameters.ts';
import { storedFields } from './plans.ts';
import { route } from './route.ts';
import * as s from './schema.ts';
import { denialFields } from './status.ts';
import { STORY_KINDS, type IncidentHistory } from '../situation/incident-story.ts';

const counted = s.object({ name: s.text(), count: s.count() });

const incidentFields = {
  id: s.text(),
  account: s.text(),
  state: s.choice(INCIDENT_STATES),
  title: s.text(),
  kind: s.choice(['workflow', 'destination', 'overflow']),
  place: s.text('Label of the workflow, or host of the destination.'),
  reason: s.text(),
  cause: s.choice(FAILURE_CAUSES),
  firstAt: s.time('First known failure.'),
  isSinceKnown: s.flag('False if deliveries may have failed earlier, because older attempts are not known.'),
  lastAt: s.time('Last failure.'),
  openedAt: s.time(),
  resolvedAt: s.opt(s.time()),
  members: s.object({
    now: s.count(),
    ever: s.count(),
    expired: s.count(),
    workflow: s.count(),
    message: s.count(),
    isLowerBound: s.flag('True if there may be more: no operation lists the message DLQ.'),
  }),
  deliveries: s.opt(
    s.object({
      failed: s.count(),
      lost: s.count(),
      since: s.time(),
      lastAt: s.time(),
      isFailing: s.flag(),
      recoveringSince: s.opt(s.time('Absent while the destination fails, and once it is healthy.')),
    }),
  ),
  // Members over time, at most 24 steps.
  rate: s.opt(
    s.objectOf<FailureRate>({
      from: s.time('Start of the first step.'),
      stepMs: s.integer(),
      counts: s.listOf(s.count()),
    }),
  ),
  // Absent if the retention is not configured, or without members.
  firstExpiresAt: s.opt(s.time()),
  acknowledged: s.opt(
    s.object({
      by: s.text(),
      note: s.text(),
      at: s.time(),
      until: s.opt(s.time('It is a snooze until this time.')),
      untilDeploy: s.opt(s.flag('It is a snooze until a deploy of what failed.')),
    }),
  ),
};
const incident = s.named('Incident', s.object(incidentFields));
export type IncidentView = s.Infer<typeof incident>;

const incidentDetail = s.named(
  'IncidentDetail',
  s.object({
    ...incidentFields,
    aliases: s.listOf(s.text(), 'Former ids.'),
    // Most frequent labels and flow-control keys of the members, at most 20 each.
    labels: s.listOf(counted),
    flowControlKeys: s.listOf(counted),
    // Deliveries to the members' most frequent destination. Absent if unknown.
    destination: s.opt(s.object({ host: s.text(), delivered: s.count(), attempts: s.count() }, 'Last 15 minutes.')),
    // Newest member.
    sample: s.opt(deadLetter),
    // Policies that act on failures of this kind.
    policies: s.listOf(
      s.object({
        name: s.text(),
        action: s.choice(ACTION_TYPES),
        mode: s.choice(POLICY_MODES),
        effectiveMode: s.choice(POLICY_MODES),
        reducedBy: s.opt(s.text()),
        held: s.opt(s.object({ ...denialFields, since: s.time() })),
        schedule: s.text(),
        nextRunAt: s.opt(s.time()),
        selects: s.count('Members that it selects.'),
      }),
    ),
    // Stored plans about members, with their number of members.
    plans: s.listOf(s.object({ ...storedFields, members: s.count() })),
    campaigns: s.listOf(
      s.object({
        id: s.text(),
        policy: s.text(),
        group: s.text(),
        state: s.choice(CAMPAIGN_STATES),
        step: s.integer(),
        size: s.integer(),
        judged: s.count(),
        verified: s.count(),
        until: s.opt(s.time()),
        haltedAt: s.opt(s.time('Time of the last halt.')),
        reason: s.opt(s.text()),
        begunAt: s.time(),
      }),
    ),
    endedCampaigns: s.listOf(s.text()),
    story: s.listOf(
      s.object({
        at: s.time(),
        kind: s.choice(STORY_KINDS),
        mark: s.text('A few words.'),
        text: s.text('Sentence.'),
        plan: s.opt(s.text('Plan that it is about.')),
      }),
      'What happened, oldest first, with changes of the daemon from an hour before the first failure on.',
    ),
    // Absent without a dead letter.
    history: s.opt(
      s.objectOf<IncidentHistory>(
        {
          from: s.time('Start of the first step.'),
          stepMs: s.integer(),
          failed: s.listOf(s.count(), 'Failures.'),
          verified: s.listOf(s.count(), 'Verified actions of its campaigns.'),
          failedAgain: s.listOf(s.count(), 'Actions of its campaigns that failed again.'),
        },
        'Failures and repairs over time.',
      ),
    ),
    selection: s.opt(
      s.object(
        {
          account: s.text(),
          action: s.choice(MANUAL_ACTIONS),
          queue: s.choice(DEAD_LETTER_QUEUES),
          ids: s.listOf(s.text()),
        },
        'Selection of a manual plan that resumes these runs.',
      ),
    ),
    // Ids of the members by queue, oldest first, at most 1,000 each.
    memberIds: s.object({ workflow: s.listOf(s.text()), message: s.listOf(s.text()) }),
    // Next step, and the command for it.
    next: s.object({
      text: s.text(),
      by: s.choice(['policy', 'operator', 'none'], 'Who does it. `none`: nothing can be done, or it repairs itself.'),
      policy: s.opt(s.text()),
      why: s.opt(s.text('What stops it: `held by arrivals`, `halted`.')),
      command: s.opt(s.text()),
    }),
  }),
);
export type IncidentDetail = s.Infer<typeof incidentDetail>;

/** Repair of an incident: its next step without the text and the action. */
export type Repair = Pick<IncidentDetail['next'], 'by' | 'policy' | 'why'> & {
  /** Plan that waits for an approval. */
  readonly pendingPlan?: string | undefined;
};

export const listIncidents = route('GET /api/v1/incidents', {
  id: 'listIncidents',
  summary: 'Incidents, unresolved ones first',
  role: 'viewer',
  query: z.strictObject({
    account: textParameter('Only incidents of this account.'),
    state: z
      .array(choiceField(INCIDENT_STATES))
      .exactOptional()
      .describe('Only incidents in one of these states; default: all.'),
    limit: limitParameter({ standard: 50, max: 500 }),
    cursor: cursorParameter(),
  }),
  answer: s.object({
    at: s.time(),
    total: s.count('Number of all incidents that match.'),
    incidents: s.listOf(incident),
    cursor: s.cursor,
    queues: s.listOf(queueStatus),
  }),
  errors: [404],
});
export type IncidentList = s.Infer<typeof listIncidents.answer>;

export const getIncident = route('GET /api/v1/incidents/{id}', {
  id: 'getIncident',
  summary: 'One incident with everything about it',
  role: 'viewer',
  answer: s.object({ at: s.at, incident: incidentDetail }),
  errors: [404],
});

/** The audit log has the acknowledgment before it takes effect. */
export const acknowledgeIncident = route('POST /api/v1/acknowledge', {
  id: 'acknowledgeIncident',
  summary: 'Acknowledge an incident',
  role: 'operator',
  command: 'opsd incidents acknowledge ID --note TEXT',
  body: z.strictObject({ incident: nameField('the id of an incident'), note: reasonField() }),
  form: '{"incident": "ID", "note": "TEXT"}',
  answer: s.object({ incident }),
  errors: [404, 409],
});

const wrongEnd = 'must be deploy, epoch milliseconds (13 digits), ISO 8601, or a duration from now such as 2h';

/** It replaces an acknowledgment, and an acknowledgment replaces it. */
export const snoozeIncident = route('POST /api/v1/snooze', {
  id: 'snoozeIncident',
  summary: 'Snooze an incident: no notification until a time or a deploy',
  role: 'operator',
  command: 'opsd incidents snooze ID --until TIME|--until-deploy',
  body: z.strictObject({
    incident: nameField('the id of an incident'),
    until: z
      .string(wrongEnd)
      .max(MAX_PAST_TIME, wrongEnd)
      // bounded: PAST_TIME is
      .regex(new RegExp(`^deploy$|${PAST_TIME.source}`), wrongEnd),
    note: reasonField().exactOptional(),
  }),
  form: '{"incident": "ID", "until": "TIME", "note": "TEXT"}; `until` is a time, a duration such as `2h`, or `deploy`; `note` is optional.',
  answer: s.object({ incident }),
  errors: [404, 409],
});
