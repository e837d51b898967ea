/** Policies, their runs and actions. Field names are stable. */
import { z } from 'zod';
import { CAMPAIGN_STATES, type Campaign } from '#foundation/domain/campaign.ts';
import { ACTION_TYPES, POLICY_MODES, RUN_OUTCOMES, TRIGGER_KINDS } from '#foundation/domain/plan.ts';
import { ACTION_OUTCOMES } from '#automate/ledger/intents.ts';
import type { Explanation, Subject } from '#automate/ledger/commands.ts';
import { limitParameter, nameField, textParameter } from './parameters.ts';
import { runCounts, storedPlan } from './plans.ts';
import { route } from './route.ts';
import * as s from './schema.ts';
import { condition, denial, denialFields, pause } from './status.ts';

const lastRunFields = {
  id: s.integer(),
  planId: s.opt(s.text('Id of the stored plan; absent if there is none.')),
  trigger: s.choice(TRIGGER_KINDS),
  at: s.time(),
  finishedAt: s.opt(s.time()),
  // `running` until the run ends; after a crash, until the policy's next run.
  outcome: s.choice([...RUN_OUTCOMES, 'running']),
  ...runCounts,
  detail: s.opt(s.text()),
};

const run = s.named('Run', s.object({ ...lastRunFields, policy: s.text(), account: s.text() }));
export type RunView = s.Infer<typeof run>;

const campaign = s.named(
  'Campaign',
  s.objectOf<Campaign & { breaker: 'closed' | 'half-open' | 'open' }>({
    id: s.text(),
    policy: s.text(),
    account: s.text(),
    group: s.text(),
    state: s.choice(CAMPAIGN_STATES),
    step: s.integer('Number of the current step, else of the next one.'),
    size: s.integer('Maximum entries of that step.'),
    begunAt: s.time(),
    sentAt: s.opt(s.time()),
    until: s.opt(s.time('Time until which it settles, or the breaker stays open.')),
    settle: s.opt(s.span('Settle time that an operator set for the step.')),
    deploy: s.opt(s.object({ id: s.integer(), version: s.text() }, 'Deploy after which it began.')),
    halts: s.count('Consecutive halts.'),
    recent: s.listOf(s.flag(), 'Last results, oldest first. True means verified.'),
    judged: s.count(),
    verified: s.count(),
    verifiedAt: s.opt(s.time()),
    haltedAt: s.opt(s.time('Time of the last halt.')),
    reason: s.opt(s.text()),
    breaker: s.choice(['closed', 'half-open', 'open']),
  }),
);

const policy = s.named(
  'Policy',
  s.object({
    name: s.text(),
    account: s.text(),
    action: s.choice(ACTION_TYPES),
    ...s.optTexts('owner', 'description'),
    source: s.text('Place in the configuration: `file:line`.'),
    schedule: s.text(),
    mode: s.choice(POLICY_MODES),
    effectiveMode: s.choice(POLICY_MODES, 'Lowest mode of policy, account, engine and pause.'),
    reducedBy: s.opt(s.text('Reason why the effective mode is lower.')),
    probationLeft: s.opt(s.count('Remaining audit runs.')),
    held: s.opt(s.object({ ...denialFields, since: s.time() }, 'Present hold.')),
    pending: s.opt(
      s.object(
        {
          trigger: s.choice(['alert', 'callback', 'deploy']),
          alert: s.opt(s.text()),
          version: s.opt(s.text('Version of the deploy.')),
          count: s.count(),
          since: s.time(),
        },
        'Triggers that no run has processed yet.',
      ),
    ),
    campaigns: s.listOf(campaign),
    nextRunAt: s.opt(s.time()),
    // Absent if it never ran.
    lastRun: s.opt(s.object(lastRunFields)),
  }),
);
export type PolicyView = s.Infer<typeof policy>;

const versions = s.named(
  'PolicyVersions',
  s.object({
    present: s.anyObject('Scope in the running configuration.'),
    // Absent if the policy has not run yet. The store has no older versions.
    atLastRun: s.opt(s.anyObject('Scope at the last run.')),
    changed: s.opt(s.listOf(s.text(), 'Paths that differ.')),
  }),
);
export type PolicyVersions = s.Infer<typeof versions>;

export const action = s.named(
  'Action',
  s.object({
    id: s.integer(),
    at: s.time(),
    policy: s.text(),
    account: s.text(),
    action: s.choice(ACTION_TYPES),
    target: s.text('A dlqId, or the page or the amount of the action.'),
    ...s.optTexts('workflowRunId', 'workflowUrl'),
    attempt: s.opt(s.integer('1 for the first resume of a run.')),
    // `pending` while the request is in flight, or after a crash until recovery.
    outcome: s.choice([...ACTION_OUTCOMES, 'pending']),
    outcomeAt: s.opt(s.time()),
    detail: s.opt(s.text()),
    newRunId: s.opt(s.text('Run that a resume created.')),
    items: s.integer('Number of entries that it might touch.'),
    done: s.opt(s.integer('Number of entries that the service said it acted on.')),
    runId: s.integer(),
  }),
);
export type ActionView = s.Infer<typeof action>;

export const listPolicies = route('GET /api/v1/policies', {
  id: 'listPolicies',
  summary: 'Policies',
  role: 'viewer',
  answer: s.object({ at: s.at, policies: s.listOf(policy) }),
  errors: [503],
});

export const getPolicy = route('GET /api/v1/policies/{id}', {
  id: 'getPolicy',
  summary: 'One policy, with its runs, plans, and what holds it',
  role: 'viewer',
  answer: s.object({
    at: s.time(),
    policy,
    // Newest first.
    runs: s.listOf(run),
    // Plans that can still be used, newest first.
    plans: s.listOf(storedPlan),
    conditions: s.listOf(condition),
    // Pauses of the engine, of the policy, and of its groups.
    pauses: s.listOf(pause),
    // Absent if the policy is not in the running configuration.
    versions: s.opt(versions),
  }),
  errors: [404, 503],
});
export type PolicyDetail = s.Infer<typeof getPolicy.answer>;

const actionsQuery = z.strictObject({ limit: limitParameter({ standard: 50, max: 500 }) });
const runsQuery = actionsQuery.extend({ policy: textParameter('Only those of this policy.') });

export const listRuns = route('GET /api/v1/runs', {
  id: 'listRuns',
  summary: 'Runs of policies, newest first',
  role: 'viewer',
  query: runsQuery,
  answer: s.object({ at: s.at, runs: s.listOf(run) }),
  errors: [503],
});

export const listActions = route('GET /api/v1/actions', {
  id: 'listActions',
  summary: 'Actions, newest first',
  role: 'viewer',
  query: actionsQuery,
  answer: s.object({ at: s.at, actions: s.listOf(action) }),
  errors: [503],
});

export const getAction = route('GET /api/v1/actions/{id}', {
  id: 'getAction',
  summary: 'One action with its proposal',
  role: 'viewer',
  answer: s.object({
    at: s.at,
    action: s.anyObject('An Action, and its `proposal`.'),
  }),
  errors: [404, 503],
});

const subject = s.named(
  'Subject',
  s.objectOf<Subject>({
    account: s.text(),
    in: s.choice(['workflow-dlq', 'message-dlq', 'log'], 'Present place; `log` if it is in no DLQ.'),
    ...s.optTexts('dlqId', 'workflowRunId', 'messageId'),
  }),
);

const explanation = s.named(
  'Explanation',
  s.objectOf<Explanation>({
    policy: s.text(),
    source: s.text(),
    verdict: s.choice(['chosen', 'later', 'left_out', 'not_listed', 'stopped']),
    denial: s.opt(denial),
  }),
);

/** Reads the service and changes nothing. */
export const postExplain = route('POST /api/v1/explain', {
  id: 'explain',
  summary: 'Verdict of each policy on an entry, a run or a message',
  role: 'viewer',
  command: 'opsd explain ID',
  isLong: true,
  body: z.strictObject({ id: nameField('a dlqId, or the id of a run or a message').max(400, 'is too long') }),
  form: '{"id": "ID"}',
  answer: s.object({
    id: s.text(),
    subject: s.opt(subject),
    policies: s.listOf(explanation),
    // Earlier actions on it, newest first.
    actions: s.listOf(action),
  }),
  errors: [404, 502],
});
