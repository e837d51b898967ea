/** Schemas of the status, the sources, the policies, and the conditions. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { TRENDS } from '#foundation/domain/hold.ts';
import { NOTIFICATION_SEVERITIES } from '#foundation/domain/notification.ts';
import { COLLECTOR_NAMES } from '#foundation/domain/observation.ts';
import { ACTION_TYPES, POLICY_MODES, RUN_OUTCOMES, TRIGGER_KINDS, type Denial } from '#foundation/domain/plan.ts';
import { MESSAGE_STATES } from '#foundation/domain/log-entry.ts';
import { ACTION_OUTCOMES } from '#automate/ledger/intents.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { OutageReaction, OutageView } from '../../situation/outages.ts';
import type { Problem, Verdict } from '../verdict-level.ts';
import { VERDICT_LEVELS } from '../verdict-level.ts';
import type {
  AccountLease,
  AccountView,
  ActionView,
  ApiUsage,
  LabelView,
  PolicyView,
  ReconciliationView,
  RunView,
  SourceView,
} from '../status-views.ts';
import {
  anyObject,
  choice,
  count,
  flag,
  integer,
  listOf,
  number,
  objectOf,
  opt,
  ref,
  span,
  text,
  time,
  type JsonSchema,
} from './json-schema.ts';

export const MATCHED =
  'Entries that `select` and `where` match; of a prune, the maximum. Absent if nothing was read. matched = acted + backlog + denied + without effect.';

export const STATUS_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Denial: objectOf<Denial>({ ...denialFields(), since: opt(time()) }, 'Decision of a guard.'),
  Verdict: objectOf<Verdict>({
    level: choice(VERDICT_LEVELS, 'Overall state, the worst problem counts.'),
    sentence: text('The state in one sentence.'),
    problems: listOf(
      objectOf<Problem>({
        level: choice(['trouble', 'attention', 'info']),
        text: text(),
        anchor: opt(text('Id of the element of the page with more details.')),
      }),
      'Most severe first.',
    ),
  }),
  ApiUsage: objectOf<ApiUsage>({
    api: choice(['message', 'management']),
    usedToday: count('Requests since the start of the UTC day.'),
    allowedPerDay: number('Maximum requests of the daemon per day.'),
  }),
  Account: objectOf<AccountView>({
    name: text(),
    messageApiUrl: opt(text('Absent if the account has no message API configured.')),
    managementApiUrl: opt(text('Absent if the account has no management API configured.')),
    dlqRetentionMs: opt(span('Retention of the DLQs, if configured.')),
    usage: listOf(ref('ApiUsage')),
    lease: opt(ref('AccountLease')),
  }),
  AccountLease: objectOf<AccountLease>(
    {
      replica: opt(text('Replica that owns the account; absent if none does, or if the owner is unknown.')),
      epoch: count('Number of the ownership; each change of the owner increases it.'),
      isOwn: flag('True if the replica that responds is the owner.'),
      isUnknown: opt(flag('True if this replica gave up the account, and does not know its owner yet.')),
      next: opt(text('Replica that takes the account. Only if the owner is unknown.')),
    },
    'Ownership of an account. Only with a store that replicas share.',
  ),
  Outage: objectOf<OutageView>({
    account: text(),
    destination: text('Host of the destination.'),
    since: time('First failed attempt.'),
    isSinceKnown: flag('False if earlier attempts may have failed unseen.'),
    lastAt: time('Minute of the newest failure.'),
    failed: count('Failed attempts since then.'),
    delivered: count(),
    lost: count('Messages that finally failed since then.'),
    reasons: listOf(objectOf<{ reason: string; count: number }>({ reason: text(), count: count() })),
    failedRuns: opt(count('Failed runs in the workflow DLQ; absent if unknown.')),
    oldestFailedAt: opt(time()),
    firstExpiresAt: opt(time()),
    reactions: listOf(objectOf<OutageReaction>({ policy: text(), text: text(), isActing: flag() })),
  }),
  Reconciliation: objectOf<ReconciliationView>({
    account: text(),
    state: choice(MESSAGE_STATES),
    hour: time('Start of the compared hour.'),
    logs: count('Entries of the log.'),
    statistics: number('Count of the statistics.'),
    agrees: flag(),
    isLasting: flag('True if they also disagreed in the previous hour, to the same side.'),
  }),
  Source: objectOf<SourceView>({
    account: text(),
    collector: choice(COLLECTOR_NAMES),
    state: choice(['ok', 'failing', 'stale', 'pending', 'off']),
    off: opt(text('Reason why the collector does not run.')),
    schedule: text(),
    intervalMs: span(),
    maxStalenessMs: span(),
    runs: count(),
    failures: count(),
    lastRunAt: opt(time()),
    lastDurationMs: opt(span()),
    lastSuccessAt: opt(time()),
    lastFailure: opt(objectOf<NonNullable<SourceView['lastFailure']>>({ at: time(), reason: text(), message: text() })),
    lastRunFailed: flag(),
    rows: opt(count('Rows of the latest complete batch.')),
    dropped: opt(count('Invalid rows of that batch.')),
    countedUntilAt: opt(time('End of the counted time; logs only.')),
    lagMs: opt(span('Time between countedUntilAt and now; logs only.')),
    catchUpRatio: opt(number('Seconds of log counted per second; logs only.')),
  }),
  Run: objectOf<RunView>(runFields()),
  Campaign: objectOf<Campaign & { breaker: 'closed' | 'half-open' | 'open' }>({
    id: text(),
    policy: text(),
    account: text(),
    group: text(),
    state: choice(['ready', 'settling', 'halted', 'audit', 'ended']),
    step: integer('Number of the current step, else of the next one.'),
    size: integer('Maximum entries of that step.'),
    begunAt: time(),
    sentAt: opt(time()),
    until: opt(time('Time until which it settles, or the breaker stays open.')),
    settle: opt(span('Settle time that an operator set for the step.')),
    halts: count('Consecutive halts.'),
    recent: listOf(flag(), 'Last results, oldest first. True means verified.'),
    judged: count(),
    verified: count(),
    verifiedAt: opt(time()),
    reason: opt(text()),
    breaker: choice(['closed', 'half-open', 'open']),
  }),
  Policy: objectOf<PolicyView>({
    name: text(),
    account: text(),
    action: choice(ACTION_TYPES),
    owner: opt(text()),
    description: opt(text()),
    source: text('Place in the configuration: `file:line`.'),
    schedule: text(),
    mode: choice(POLICY_MODES),
    effectiveMode: choice(POLICY_MODES, 'Lowest mode of policy, account, engine and pause.'),
    reducedBy: opt(text('Reason why the effective mode is lower.')),
    probationLeft: opt(count('Remaining audit runs.')),
    held: opt(objectOf<NonNullable<PolicyView['held']>>({ ...denialFields(), since: time() }, 'Present hold.')),
    pending: opt(
      objectOf<NonNullable<PolicyView['pending']>>(
        { trigger: choice(['alert', 'callback']), alert: opt(text()), count: count(), since: time() },
        'Triggers that no run has processed yet.',
      ),
    ),
    campaigns: listOf(ref('Campaign')),
    nextRunAt: opt(time()),
    lastRun: opt(objectOf<NonNullable<PolicyView['lastRun']>>(lastRunFields())),
  }),
  Condition: objectOf<Condition>({
    key: text('Permanent name: `held/POLICY`.'),
    severity: choice(NOTIFICATION_SEVERITIES),
    policy: opt(text()),
    account: opt(text()),
    owner: opt(text()),
    group: opt(text()),
    guard: opt(text()),
    denial: opt(ref('Denial')),
    summary: text(),
    detail: text('Description, and what to do.'),
    since: time(),
  }),
  Pause: objectOf<Pause>({
    scope: text('`engine`, `policy/NAME`, or `group/POLICY/GROUP`.'),
    reason: text(),
    at: time(),
    by: text('`engine`, or the name of the operator.'),
  }),
  Action: objectOf<ActionView>({
    id: integer(),
    at: time(),
    policy: text(),
    account: text(),
    action: choice(ACTION_TYPES),
    target: text('A dlqId, or the page or the amount of the action.'),
    workflowRunId: opt(text()),
    workflowUrl: opt(text()),
    attempt: opt(integer('1 for the first resume of a run.')),
    outcome: choice([...ACTION_OUTCOMES, 'pending']),
    outcomeAt: opt(time()),
    detail: opt(text()),
    newRunId: opt(text('Run that a resume created.')),
    items: integer('Number of entries that it might touch.'),
    done: opt(integer('Number of entries that the service said it acted on.')),
    runId: integer(),
  }),
  Label: objectOf<LabelView>({
    account: text(),
    label: text(),
    max: count('Maximum number of shown values.'),
    shown: count(),
    configured: count('Shown values named in the configuration.'),
    hidden: count('Values with a total that are not shown.'),
    overflowAmount: number('Amount for values that are not shown, since the start.'),
    largestOverflow: listOf(
      objectOf<{ value: string; count: number; over: number }>({ value: text(), count: number(), over: number() }),
    ),
  }),
  Proposal: anyObject('Action that a policy proposes. Its fields depend on the action.'),
};

/** Fields of a denial without its start. Only a hold, an abort and a required approval have the parts of the reason. */
export function denialFields() {
  return {
    guard: text('Name of the guard.'),
    reason: text('Complete text.'),
    measured: opt(text('Measured value.')),
    needed: opt(text('Needed value.')),
    remedy: opt(text('Next step of an operator.')),
    windowMs: opt(span('Measured period.')),
    trend: opt(choice(TRENDS, 'Direction of the measured value; absent if unknown.')),
    until: opt(time('Earliest end; absent if unknown.')),
  };
}

/** Numbers of a run: matched = acted + backlog + denied + without effect. */
export function runCounts() {
  return {
    matched: opt(count(MATCHED.replace('of a prune, the maximum', 'of a prune, what its pages found'))),
    acted: count('Entries that the service acted on; of a prune, deleted messages.'),
    backlog: opt(count('Matched entries that are left for later runs. Absent if unknown.')),
  };
}

function lastRunFields() {
  return {
    id: integer(),
    planId: opt(text('Id of the stored plan; absent if there is none.')),
    trigger: choice(TRIGGER_KINDS),
    at: time(),
    finishedAt: opt(time()),
    outcome: choice([...RUN_OUTCOMES, 'running']),
    ...runCounts(),
    detail: opt(text()),
  };
}

function runFields() {
  return { ...lastRunFields(), policy: text(), account: text() };
}
