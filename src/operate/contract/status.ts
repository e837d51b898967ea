/**
 * State of the daemon. Field names are stable. Times are epoch milliseconds, named `at` or `…At`; durations end in `Ms`.
 * An absent field means unknown or never.
 */
import { TRENDS } from '#foundation/domain/hold.ts';
import { MESSAGE_STATES } from '#foundation/domain/log-entry.ts';
import { NOTIFICATION_SEVERITIES } from '#foundation/domain/notification.ts';
import { COLLECTOR_NAMES } from '#foundation/domain/observation.ts';
import type { Denial } from '#foundation/domain/plan.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { OutageReaction, OutageView } from '../situation/outages.ts';
import { route } from './route.ts';
import * as s from './schema.ts';

/** Fields of a denial without its start. Only a hold, an abort and a required approval have the parts of the reason. */
export const denialFields = {
  guard: s.text('Name of the guard.'),
  reason: s.text('Complete text.'),
  measured: s.opt(s.text('Measured value.')),
  needed: s.opt(s.text('Needed value.')),
  remedy: s.opt(s.text('Next step of an operator.')),
  windowMs: s.opt(s.span('Measured period.')),
  trend: s.opt(s.choice(TRENDS, 'Direction of the measured value; absent if unknown.')),
  until: s.opt(s.time('Earliest end; absent if unknown.')),
};
export const denial = s.named(
  'Denial',
  s.objectOf<Denial>({ ...denialFields, since: s.opt(s.time()) }, 'Decision of a guard.'),
);

/**
 * `trouble`: something does not work. `attention`: something is held, reduced or unclear. `starting`: not ready yet.
 * `info`: an operator's decision, such as a pause, or a failure that a policy repairs.
 */
export const VERDICT_LEVELS = ['trouble', 'attention', 'starting', 'info', 'ok'] as const;
export type VerdictLevel = (typeof VERDICT_LEVELS)[number];

const problem = s.object({
  level: s.choice(['trouble', 'attention', 'info']),
  text: s.text('Problem in a few words.'),
  detail: s.opt(s.text()),
  path: s.opt(s.text('Page with more.')),
});
export type Problem = s.Infer<typeof problem>;

/** Returns the text of a problem with its details. */
export function problemText({ text, detail }: Problem): string {
  return detail === undefined ? text : `${text}: ${detail}`;
}

const verdict = s.named(
  'Verdict',
  s.object({
    level: s.choice(VERDICT_LEVELS, 'Overall state, the worst problem counts.'),
    sentence: s.text('The state in one sentence.'),
    problems: s.listOf(problem, 'Most severe first.'),
  }),
);
export type Verdict = s.Infer<typeof verdict>;

const apiUsage = s.named(
  'ApiUsage',
  s.object({
    api: s.choice(['message', 'management']),
    usedToday: s.count('Requests since the start of the UTC day.'),
    allowedPerDay: s.number('Maximum requests of the daemon per day.'),
  }),
);
export type ApiUsage = s.Infer<typeof apiUsage>;

const accountLease = s.named(
  'AccountLease',
  s.object(
    {
      replica: s.opt(s.text('Replica that owns the account; absent if none does, or if the owner is unknown.')),
      epoch: s.count('Number of the ownership; each change of the owner increases it.'),
      isOwn: s.flag('True if the replica that responds is the owner.'),
      isUnknown: s.opt(s.flag('True if this replica gave up the account, and does not know its owner yet.')),
      next: s.opt(s.text('Replica that takes the account. Only if the owner is unknown.')),
    },
    'Ownership of an account. Only with a store that replicas share.',
  ),
);
/** Only the owner of an account reads it and acts on it. */
export type AccountLease = s.Infer<typeof accountLease>;

const account = s.named(
  'Account',
  s.object({
    name: s.text(),
    messageApiUrl: s.opt(s.text('Absent if the account has no message API configured.')),
    managementApiUrl: s.opt(s.text('Absent if the account has no management API configured.')),
    dlqRetentionMs: s.opt(s.span('Retention of the DLQs, if configured.')),
    usage: s.listOf(apiUsage),
    lease: s.opt(accountLease),
  }),
);
export type AccountView = s.Infer<typeof account>;

const outage = s.named(
  'Outage',
  s.objectOf<OutageView>({
    account: s.text(),
    destination: s.text('Host of the destination.'),
    since: s.time('First failed attempt.'),
    isSinceKnown: s.flag('False if earlier attempts may have failed unseen.'),
    lastAt: s.time('Minute of the newest failure.'),
    failed: s.count('Failed attempts since then.'),
    delivered: s.count(),
    lost: s.count('Messages that finally failed since then.'),
    reasons: s.listOf(s.object({ reason: s.text(), count: s.count() })),
    failedRuns: s.opt(s.count('Failed runs in the workflow DLQ; absent if unknown.')),
    oldestFailedAt: s.opt(s.time()),
    firstExpiresAt: s.opt(s.time()),
    reactions: s.listOf(s.objectOf<OutageReaction>({ policy: s.text(), text: s.text(), isActing: s.flag() })),
  }),
);

const reconciliation = s.named(
  'Reconciliation',
  s.object({
    account: s.text(),
    state: s.choice(MESSAGE_STATES),
    hour: s.time('Start of the compared hour.'),
    logs: s.count('Entries of the log.'),
    statistics: s.number('Count of the statistics.'),
    agrees: s.flag(),
    isLasting: s.flag('True if they also disagreed in the previous hour, to the same side.'),
  }),
);
/** Counts of the log and of the statistics of an account for the same whole hour. */
export type ReconciliationView = s.Infer<typeof reconciliation>;

export const source = s.named(
  'Source',
  s.object({
    account: s.text(),
    collector: s.choice(COLLECTOR_NAMES),
    // `failing`: the last run failed, and the previous data is still valid. `stale`: the data is too old, and its gauges
    // are withheld. `pending`: no run has ended yet.
    state: s.choice(['ok', 'failing', 'stale', 'pending', 'off']),
    off: s.opt(s.text('Reason why the collector does not run.')),
    schedule: s.text(),
    intervalMs: s.span(),
    maxStalenessMs: s.span(),
    runs: s.count(),
    failures: s.count(),
    lastRunAt: s.opt(s.time()),
    lastDurationMs: s.opt(s.span()),
    lastSuccessAt: s.opt(s.time()),
    lastFailure: s.opt(s.object({ at: s.time(), reason: s.text(), message: s.text() })),
    lastRunFailed: s.flag(),
    rows: s.opt(s.count('Rows of the latest complete batch.')),
    dropped: s.opt(s.count('Invalid rows of that batch.')),
    countedUntilAt: s.opt(s.time('End of the counted time; logs only.')),
    lagMs: s.opt(s.span('Time between countedUntilAt and now; logs only.')),
    catchUpRatio: s.opt(s.number('Seconds of log counted per second; logs only.')),
  }),
);
export type SourceView = s.Infer<typeof source>;

const label = s.named(
  'Label',
  s.object({
    account: s.text(),
    label: s.text(),
    max: s.count('Maximum number of shown values.'),
    shown: s.count(),
    configured: s.count('Shown values named in the configuration.'),
    hidden: s.count('Values with a total that are not shown.'),
    overflowAmount: s.number('Amount for values that are not shown, since the start.'),
    // A count may be too high by `over`, and is never too low.
    largestOverflow: s.listOf(s.object({ value: s.text(), count: s.number(), over: s.number() })),
  }),
);
/** Use of one label of an account with external values. */
export type LabelView = s.Infer<typeof label>;

export const condition = s.named(
  'Condition',
  s.objectOf<Condition>({
    key: s.text('Permanent name: `held/POLICY`.'),
    severity: s.choice(NOTIFICATION_SEVERITIES),
    ...s.optTexts('policy', 'account', 'owner', 'group', 'guard'),
    denial: s.opt(denial),
    summary: s.text(),
    detail: s.text('Description, and what to do.'),
    since: s.time(),
  }),
);

export const pause = s.named(
  'Pause',
  s.objectOf<Pause>({
    scope: s.text('`engine`, `policy/NAME`, or `group/POLICY/GROUP`.'),
    reason: s.text(),
    at: s.time(),
    by: s.text('`engine`, or the name of the operator.'),
  }),
);

const conditionLists = { conditions: s.listOf(condition), pauses: s.listOf(pause) };

/** Fields of the status that have no address of their own. */
const statusFields = {
  at: s.at,
  version: s.text(),
  startedAt: s.time(),
  healthy: s.flag('True if the scheduler is running.'),
  healthDetail: s.text(),
  ready: s.flag(),
  readyDetail: s.text(),
  verdict,
  accounts: s.listOf(account),
  outages: s.listOf(outage, 'Destinations that are down.'),
  outagesUnknown: s.listOf(s.text(), 'Accounts whose outages are unknown.'),
  reconciliation: s.listOf(reconciliation),
  ...conditionLists,
  unknownOutcomes: s.count('Actions with unknown outcome.'),
  configHash: s.opt(s.text()),
  pagesUrl: s.opt(s.text('Base URL of the pages: `server.externalUrl`, else the address of the listener.')),
  storeError: s.opt(s.text('Reason why the store could not be read.')),
  replica: s.opt(s.text('Replica that responds. Only with a store that replicas share.')),
  leaseError: s.opt(s.text('Reason why this replica cannot read the leases.')),
};
const facts = s.object(statusFields);
export type StatusFacts = s.Infer<typeof facts>;

export const getStatus = route('GET /api/v1/status', {
  id: 'getStatus',
  summary: 'State of the daemon',
  role: 'viewer',
  answer: s.object({
    ...statusFields,
    pendingPlans: s.count(),
    sources: s.mapOf(s.count(), 'Number of sources by state, and `total`.'),
    policies: s.mapOf(s.count(), 'Number of policies by effective mode, and `total`.'),
  }),
});

export const listSources = route('GET /api/v1/sources', {
  id: 'listSources',
  summary: 'Readings of each account, and their results',
  role: 'viewer',
  answer: s.object({ at: s.at, sources: s.listOf(source) }),
});

export const listConditions = route('GET /api/v1/conditions', {
  id: 'listConditions',
  summary: 'Active conditions, and pauses',
  role: 'viewer',
  answer: s.object({ at: s.at, ...conditionLists }),
  errors: [503],
});

export const listLabels = route('GET /api/v1/labels', {
  id: 'listLabels',
  summary: 'Use of the slots for label values',
  role: 'viewer',
  answer: s.object({ at: s.at, labels: s.listOf(label) }),
});

export const getConfiguration = route('GET /api/v1/configuration', {
  id: 'getConfiguration',
  summary: 'Running configuration without secrets',
  role: 'viewer',
  answer: s.object({
    at: s.time(),
    hash: s.text(),
    // Absolute paths: the configuration, then the policy files.
    files: s.listOf(s.text()),
    settings: s.anyObject('Settings in use. Durations are milliseconds.'),
    yaml: s.listOf(s.text(), 'The same settings as lines of YAML.'),
    policies: s.listOf(s.object({ name: s.text(), source: s.text('`file:line`') })),
    // Absent if the daemon was not started from a file.
    reload: s.opt(
      s.object({
        ok: s.flag(),
        goodAt: s.time('Last successful load.'),
        problems: s.listOf(s.text()),
        auditOnly: s.flag(),
      }),
    ),
  }),
});
export type ConfigurationView = s.Infer<typeof getConfiguration.answer>;

export const getOpenApi = route('GET /api/v1/openapi.json', {
  id: 'getOpenApi',
  summary: 'This document',
  role: 'viewer',
  answer: s.anyObject(),
});
