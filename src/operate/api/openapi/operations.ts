/** Table of the API's operations: what each route is called, who may use it, and what it returns. */
import type { Role } from '../../http/access.ts';
import type { AuditView } from '../audit.ts';
import type { CanariesView } from '../canaries.ts';
import type { ConfigurationView } from '../configuration.ts';
import type { DeadLetterList } from '../dead-letter-views.ts';
import type { FlowControlView } from '../flow-control.ts';
import type { IncidentList } from '../incident-views.ts';
import type { MessagesView } from '../messages.ts';
import type { PolicyDetail } from '../policy-detail.ts';
import type { SpendView } from '../spend.ts';
import {
  anyObject,
  anything,
  count,
  flag,
  listOf,
  mapOf,
  oneOf,
  opt,
  ref,
  objectOf,
  text,
  time,
  type JsonSchema,
} from './json-schema.ts';

export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly role: Role | 'socket';
  /** Name of the path's parameter; default: `id`. */
  readonly parameter?: string;
  /** Schema of the response's body. */
  readonly response: JsonSchema;
  /** Statuses of its errors, in addition to those that every operation can have. */
  readonly errors?: readonly number[];
}

/** Response with the time of the answer and the given fields. */
function answer(
  fields: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return {
    type: 'object',
    properties: { at: time('Time of the response.'), ...fields, ...optional },
    required: ['at', ...Object.keys(fields)],
  };
}

const cursor = text('Continues the list; absent at its end.');

/** By method and path, as in the routes. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /api/v1/status': {
    id: 'getStatus',
    summary: 'State of the daemon',
    role: 'viewer',
    response: answer(
      {
        version: text(),
        startedAt: time(),
        healthy: flag('True if the scheduler is running.'),
        healthDetail: text(),
        ready: flag(),
        readyDetail: text(),
        verdict: ref('Verdict'),
        accounts: listOf(ref('Account')),
        outages: listOf(ref('Outage'), 'Destinations that are down.'),
        outagesUnknown: listOf(text(), 'Accounts whose outages are unknown.'),
        reconciliation: listOf(ref('Reconciliation')),
        conditions: listOf(ref('Condition')),
        pauses: listOf(ref('Pause')),
        unknownOutcomes: count('Actions with unknown outcome.'),
        pendingPlans: count(),
        sources: mapOf(count(), 'Number of sources by state, and `total`.'),
        policies: mapOf(count(), 'Number of policies by effective mode, and `total`.'),
      },
      {
        configHash: text(),
        storeError: text('Reason why the store could not be read.'),
        replica: text('Replica that responds. Only with a store that replicas share.'),
        leaseError: text('Reason why this replica cannot read the leases.'),
      },
    ),
  },
  'GET /api/v1/sources': {
    id: 'listSources',
    summary: 'Readings of each account, and their results',
    role: 'viewer',
    response: answer({ sources: listOf(ref('Source')) }),
  },
  'GET /api/v1/policies': {
    id: 'listPolicies',
    summary: 'Policies',
    role: 'viewer',
    response: answer({ policies: listOf(ref('Policy')) }),
    errors: [503],
  },
  'GET /api/v1/policies/{id}': {
    id: 'getPolicy',
    summary: 'One policy, with its runs, plans, and what holds it',
    role: 'viewer',
    response: objectOf<PolicyDetail>({
      at: time(),
      policy: ref('Policy'),
      runs: listOf(ref('Run')),
      plans: listOf(ref('StoredPlan')),
      conditions: listOf(ref('Condition')),
      pauses: listOf(ref('Pause')),
      versions: opt(ref('PolicyVersions')),
    }),
    errors: [404, 503],
  },
  'GET /api/v1/conditions': {
    id: 'listConditions',
    summary: 'Active conditions, and pauses',
    role: 'viewer',
    response: answer({ conditions: listOf(ref('Condition')), pauses: listOf(ref('Pause')) }),
    errors: [503],
  },
  'GET /api/v1/plans': {
    id: 'listPlans',
    summary: 'Stored plans, newest first',
    role: 'viewer',
    response: answer({ plans: listOf(ref('StoredPlan')) }),
    errors: [503],
  },
  'GET /api/v1/plans/{id}': {
    id: 'getPlan',
    summary: 'One stored plan with its actions',
    role: 'viewer',
    response: answer({ plan: ref('StoredPlanDetail') }),
    errors: [404, 503],
  },
  'GET /api/v1/runs': {
    id: 'listRuns',
    summary: 'Runs of policies, newest first',
    role: 'viewer',
    response: answer({ runs: listOf(ref('Run')) }),
    errors: [503],
  },
  'GET /api/v1/actions': {
    id: 'listActions',
    summary: 'Actions, newest first',
    role: 'viewer',
    response: answer({ actions: listOf(ref('Action')) }),
    errors: [503],
  },
  'GET /api/v1/actions/{id}': {
    id: 'getAction',
    summary: 'One action with its proposal',
    role: 'viewer',
    response: answer({ action: anyObject('An Action, and its `proposal`.') }),
    errors: [404, 503],
  },
  'GET /api/v1/labels': {
    id: 'listLabels',
    summary: 'Use of the slots for label values',
    role: 'viewer',
    response: answer({ labels: listOf(ref('Label')) }),
  },
  'GET /api/v1/audit/head': {
    id: 'getAuditHead',
    summary: 'Last record of the audit log',
    role: 'viewer',
    response: objectOf<{ head: unknown }>({ head: oneOf(ref('AuditHead'), { type: 'null' }) }),
  },
  'GET /api/v1/audit': {
    id: 'searchAudit',
    summary: 'Records of the audit log, newest first',
    role: 'viewer',
    response: objectOf<AuditView>({
      at: time(),
      records: listOf(ref('AuditRecord')),
      damaged: count('Matching lines of this page that are damaged.'),
      cursor: opt(cursor),
    }),
    errors: [503],
  },
  'GET /api/v1/audit/verify': {
    id: 'verifyAudit',
    summary: 'Verification of the audit log’s chain',
    role: 'viewer',
    response: ref('AuditVerification'),
    errors: [503],
  },
  'GET /api/v1/flow-control': {
    id: 'listFlowControl',
    summary: 'Flow-control keys by saturation',
    role: 'viewer',
    response: objectOf<FlowControlView>({
      at: time(),
      bucketMs: { type: 'integer', description: 'Length of a bucket of the history.' },
      keys: listOf(ref('FlowControlKey')),
      sources: listOf(ref('Source')),
    }),
    errors: [404],
  },
  'GET /api/v1/canaries': {
    id: 'listCanaries',
    summary: 'Canaries with their verdicts and last messages, failing ones first',
    role: 'viewer',
    response: objectOf<CanariesView>({ at: time(), canaries: listOf(ref('Canary')) }),
    errors: [404],
  },
  'GET /api/v1/spend': {
    id: 'getSpend',
    summary: 'Budget, forecast, days and raises of each account',
    role: 'viewer',
    response: objectOf<SpendView>({ at: time(), accounts: listOf(ref('AccountSpend')) }),
    errors: [404, 503],
  },
  'GET /api/v1/configuration': {
    id: 'getConfiguration',
    summary: 'Running configuration without secrets',
    role: 'viewer',
    response: objectOf<ConfigurationView>({
      at: time(),
      hash: text(),
      files: listOf(text()),
      settings: anyObject('Settings in use. Durations are milliseconds.'),
      yaml: listOf(text(), 'The same settings as lines of YAML.'),
      policies: listOf(objectOf<{ name: string; source: string }>({ name: text(), source: text('`file:line`') })),
      reload: opt(
        objectOf<NonNullable<ConfigurationView['reload']>>({
          ok: flag(),
          goodAt: time('Last successful load.'),
          problems: listOf(text()),
          auditOnly: flag(),
        }),
      ),
    }),
  },
  'GET /api/v1/messages': {
    id: 'searchMessages',
    summary: 'Search of the message log, one row a message',
    role: 'viewer',
    response: objectOf<MessagesView>({
      at: time(),
      account: text(),
      messages: listOf(ref('MessageRow')),
      read: objectOf<MessagesView['read']>({
        pages: count(),
        entries: count(),
        dropped: count('Invalid entries.'),
        mismatched: count('Entries that contradict the filters.'),
      }),
      cursor: opt(cursor),
    }),
    errors: [404, 429, 502, 503],
  },
  'GET /api/v1/messages/{id}': {
    id: 'getMessage',
    summary: 'Timeline of one message or workflow run',
    role: 'viewer',
    response: oneOf(
      answer({ account: text(), message: ref('Message') }),
      answer({ account: text(), run: ref('WorkflowRun') }),
    ),
    errors: [404, 429, 502, 503],
  },
  'GET /api/v1/openapi.json': {
    id: 'getOpenApi',
    summary: 'This document',
    role: 'viewer',
    response: anyObject(),
  },
  'GET /api/v1/incidents': {
    id: 'listIncidents',
    summary: 'Incidents, unresolved ones first',
    role: 'viewer',
    response: objectOf<IncidentList>({
      at: time(),
      total: count('Number of all incidents that match.'),
      incidents: listOf(ref('Incident')),
      cursor: opt(cursor),
      queues: listOf(ref('QueueStatus')),
    }),
    errors: [404],
  },
  'GET /api/v1/incidents/{id}': {
    id: 'getIncident',
    summary: 'One incident with everything about it',
    role: 'viewer',
    response: answer({ incident: ref('IncidentDetail') }),
    errors: [404],
  },
  'POST /api/v1/acknowledge': {
    id: 'acknowledgeIncident',
    summary: 'Acknowledge an incident',
    role: 'operator',
    response: objectOf<{ incident: unknown }>({ incident: ref('Incident') }),
    errors: [404, 409],
  },
  'GET /api/v1/dead-letters': {
    id: 'searchDeadLetters',
    summary: 'Dead letters of both queues, newest first',
    role: 'viewer',
    response: objectOf<DeadLetterList>({
      at: time(),
      total: count('Number of all dead letters that match.'),
      deadLetters: listOf(ref('DeadLetter')),
      cursor: opt(cursor),
      queues: listOf(ref('QueueStatus')),
    }),
    errors: [404],
  },
  'GET /api/v1/dead-letters/{id}': {
    id: 'getDeadLetter',
    summary: 'One dead letter; its body needs the role operator',
    role: 'viewer',
    response: answer(
      { deadLetter: ref('DeadLetter'), actions: listOf(ref('Action')) },
      { sample: ref('DeadLetterSample') },
    ),
    errors: [403, 404],
  },
  'POST /api/v1/plan': {
    id: 'makePlan',
    summary: 'Make a plan of a policy or of a selection; nothing is changed',
    role: 'operator',
    response: ref('Plan'),
    errors: [404, 409, 502],
  },
  'POST /api/v1/cancel': {
    id: 'cancelPlan',
    summary: 'Cancel a manual plan',
    role: 'operator',
    response: objectOf<{ plan: unknown }>({ plan: ref('StoredPlan') }),
    errors: [404, 409],
  },
  'POST /api/v1/apply': {
    id: 'applyPlan',
    summary: 'Apply a stored plan',
    role: 'operator',
    response: objectOf<{ plan: unknown; result: unknown }>({ plan: ref('Plan'), result: ref('RunSummary') }),
    errors: [404, 409],
  },
  'POST /api/v1/approve': {
    id: 'approvePlan',
    summary: 'Approve a pending plan',
    role: 'operator',
    response: objectOf<{ plan: unknown }>({ plan: ref('StoredPlan') }),
    errors: [404, 409],
  },
  'POST /api/v1/reject': {
    id: 'rejectPlan',
    summary: 'Reject a pending plan',
    role: 'operator',
    response: objectOf<{ plan: unknown }>({ plan: ref('StoredPlan') }),
    errors: [404, 409],
  },
  'POST /api/v1/explain': {
    id: 'explain',
    summary: 'Verdict of each policy on an entry, a run or a message',
    role: 'viewer',
    response: objectOf<{ id: string; subject?: unknown; policies: unknown; actions: unknown }>({
      id: text(),
      subject: opt(ref('Subject')),
      policies: listOf(ref('Explanation')),
      actions: listOf(ref('Action')),
    }),
    errors: [404, 502],
  },
  'POST /api/v1/pause': {
    id: 'pause',
    summary: 'Pause the engine or a policy',
    role: 'operator',
    response: objectOf<{ paused: string }>({ paused: text('`engine`, or `policy/NAME`.') }),
    errors: [404],
  },
  'POST /api/v1/unpause': {
    id: 'unpause',
    summary: 'Lift pauses and halts',
    role: 'admin',
    response: objectOf<{ lifted: number; stillPaused?: string }>({
      lifted: count(),
      stillPaused: opt(text('Reason why the policy or the engine is still paused, and how to end it.')),
    }),
    errors: [404],
  },
  'POST /api/v1/state/backup': {
    id: 'backupState',
    summary: 'Copy the store to a file of the daemon’s machine',
    role: 'socket',
    response: objectOf<{ bytes: number }>({ bytes: count() }),
    errors: [409],
  },
  'POST /api/v1/state/adopt': {
    id: 'adoptState',
    summary: 'Trust a restored store again',
    role: 'admin',
    response: objectOf<{ adopted: unknown }>({ adopted: { type: ['string', 'null'] } }),
    errors: [409],
  },
  'POST /api/v1/state/reset-counter': {
    id: 'resetCounter',
    summary: 'Reset counters of an account that a wrong value has ruined',
    role: 'admin',
    response: objectOf<{ reset: unknown }>({
      reset: {
        type: 'array',
        items: objectOf<{ labels: unknown; value: number }>({
          labels: { type: 'object', additionalProperties: { type: 'string' } },
          value: { type: 'number' },
        }),
      },
    }),
    errors: [404, 409],
  },
  'POST /-/reload': {
    id: 'reload',
    summary: 'Load the configuration again',
    role: 'admin',
    response: objectOf<{ changed: boolean; webConfig: boolean; hash: string }>({
      changed: flag(),
      webConfig: flag('True if only web configuration files differ.'),
      hash: text(),
    }),
    errors: [409, 422],
  },
  'POST /api/v1/operations/{id}': {
    id: 'callOperation',
    summary: 'Call an operation of the service by its name',
    role: 'viewer',
    parameter: 'operation',
    response: anything('Response of the service, unchanged except for masked secrets.'),
    errors: [404, 409, 429, 502, 503],
  },
};
