/** Schemas of plans, and of the responses to operators' commands. */
import {
  ACTION_TYPES,
  POLICY_MODES,
  TRIGGER_KINDS,
  type Plan,
  type PlanCampaign,
  type PlanCap,
} from '#foundation/domain/plan.ts';
import type { Explanation, RunSummary, Subject } from '#automate/ledger/commands.ts';
import { TRENDS } from '#foundation/domain/hold.ts';
import { RUN_OUTCOMES } from '#foundation/domain/plan.ts';
import type { ManualOrigin } from '#foundation/domain/manual-plan.ts';
import type { PlanProgress } from '../plan-progress.ts';
import { STORED_STATES, type StoredPlanDetail, type StoredPlanView } from '../stored-plans.ts';
import {
  anyObject,
  choice,
  count,
  flag,
  integer,
  listOf,
  mapOf,
  objectOf,
  opt,
  ref,
  span,
  text,
  time,
  type JsonSchema,
} from './json-schema.ts';
import { MATCHED, runCounts } from './status-schemas.ts';

type Read = NonNullable<Plan['read']>;
type Check = Plan['checks'][number];
type Skipped = Plan['skipped'][number];
type Overruled = NonNullable<Plan['overruled']>;
type Drain = NonNullable<Plan['drain']>;

export const PLAN_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Plan: objectOf<Plan>({
    id: opt(text('Id of the stored plan; absent if it is not stored.')),
    hash: text('Hash that an approval is bound to.'),
    policy: text(),
    account: text(),
    action: choice(ACTION_TYPES),
    source: text('Place of the policy: `file:line`.'),
    at: time(),
    trigger: objectOf<{ kind: string; name?: string; key?: string }>(
      { kind: choice(TRIGGER_KINDS), name: opt(text('Name of the alert.')), key: opt(text()) },
      'Cause of the run.',
    ),
    state: choice(['nothing_to_do', 'changes', 'held', 'aborted']),
    mode: choice(POLICY_MODES),
    effectiveMode: choice(POLICY_MODES),
    stopped: opt(ref('Denial')),
    needsApproval: opt(ref('Denial')),
    overruled: opt(
      objectOf<Overruled>({ settings: mapOf(text()), reason: text() }, 'Limits that an operator overrode.'),
    ),
    read: opt(
      objectOf<Read>({
        pages: count(),
        entries: count(),
        complete: flag(),
        filterChecked: count(),
        population: opt(count()),
        clockSkewMs: opt(span()),
      }),
    ),
    checks: listOf(objectOf<Check>({ guard: text(), passed: flag(), reason: text() })),
    matched: opt(count(MATCHED)),
    chosen: listOf(ref('Proposal'), 'Actions to execute now, in order.'),
    backlog: count('Entries left for later runs.'),
    deferred: opt(listOf(ref('Proposal'), 'First entries of the backlog.')),
    skipped: listOf(objectOf<Skipped>({ guard: text(), reason: text(), count: count() })),
    evaluationErrors: count(),
    campaigns: listOf(
      objectOf<PlanCampaign>({
        group: text(),
        state: choice(['ready', 'settling', 'halted', 'audit', 'ended']),
        step: integer(),
        now: count(),
        next: listOf(count(), 'Sizes of the following steps.'),
        verified: count(),
        judged: count(),
        matched: count(),
        until: opt(time()),
        held: opt(ref('Denial')),
      }),
    ),
    caps: listOf(
      objectOf<PlanCap>({
        scope: text(),
        window: text(),
        used: count(),
        limit: { type: ['integer', 'null'] },
        why: opt(text('Reason why the whole cap counts as used.')),
        until: opt(time('When the first place of a full cap becomes free; absent if unknown.')),
        trend: opt(choice(TRENDS, 'Direction of the use of a full cap; absent if unknown.')),
      }),
    ),
    drain: opt(
      objectOf<Drain>({
        ms: { type: ['number', 'null'] },
        expiring: opt(count('Entries that expire before; absent if unknown.')),
        unknownExpiries: opt(count('Entries whose expiry is unknown: `expiring` is a lower bound.')),
      }),
    ),
    notes: listOf(text()),
    manual: opt(
      objectOf<ManualOrigin>(
        { by: text('Operator.'), reason: text(), selection: anyObject('Selection, as in the request.') },
        'Origin of a manual plan.',
      ),
    ),
  }),
  StoredPlan: objectOf<StoredPlanView>(storedFields()),
  StoredPlanDetail: objectOf<StoredPlanDetail>({
    ...storedFields(),
    plan: ref('Plan'),
    targets: listOf(text(), 'Targets that an approval covers.'),
    progress: opt(ref('PlanProgress')),
  }),
  PlanProgress: objectOf<PlanProgress>({
    ...counts(),
    state: choice([
      'draft',
      'running',
      'settling',
      'held',
      'paused',
      'finished',
      'cancelled',
      'rejected',
      'replaced',
      'expired',
    ]),
    left: opt(count('Entries that are not sent; absent for a prune.')),
    deleted: opt(count('Messages that a prune deleted.')),
    step: opt(integer()),
    settlesAt: opt(time()),
    held: opt(ref('Denial')),
    campaigns: listOf(
      objectOf<PlanProgress['campaigns'][number]>({
        ...counts(),
        group: text(),
        state: choice(['ready', 'settling', 'halted', 'audit', 'ended']),
        step: integer(),
        until: opt(time()),
        reason: opt(text()),
      }),
    ),
    finished: flag('True if nothing more is sent, and every outcome is known.'),
  }),
  RunSummary: objectOf<RunSummary>({
    outcome: choice(RUN_OUTCOMES),
    ...runCounts(),
    detail: opt(text()),
    stopped: opt(ref('Denial')),
  }),
  Subject: objectOf<Subject>({
    account: text(),
    in: choice(['workflow-dlq', 'message-dlq', 'log'], 'Present place; `log` if it is in no DLQ.'),
    dlqId: opt(text()),
    workflowRunId: opt(text()),
    messageId: opt(text()),
  }),
  Explanation: objectOf<Explanation>({
    policy: text(),
    source: text(),
    verdict: choice(['chosen', 'later', 'left_out', 'not_listed', 'stopped']),
    denial: opt(ref('Denial')),
  }),
};

export function storedFields() {
  return {
    id: text(),
    hash: text(),
    policy: text(),
    account: text(),
    action: choice(ACTION_TYPES),
    state: choice(STORED_STATES),
    planState: choice(['nothing_to_do', 'changes', 'held', 'aborted']),
    savedAt: time(),
    expiresAt: time(),
    matched: count('Entries that the guards allow; of a prune, the maximum.'),
    now: count('Entries of the next run.'),
    covers: count('Actions that an approval covers.'),
    left: opt(count('Of these, actions that are not done; only for an approved plan.')),
    needsApproval: opt(ref('Denial')),
    stopped: opt(ref('Denial')),
    by: opt(text()),
    reason: opt(text()),
    decidedAt: opt(time()),
    approvedBy: opt(text('Operator who approved it. A later decision keeps it.')),
    approvedAt: opt(time()),
    replacedBy: opt(text('Id of the newer plan.')),
    held: opt(ref('Denial')),
    origin: choice(['policy', 'manual']),
    madeBy: opt(text('Operator who made it.')),
    madeFor: opt(text('Reason of a manual plan.')),
  };
}

function counts() {
  return {
    sent: count(),
    verified: count(),
    failedAgain: count(),
    rejected: count('Provably without effect.'),
    unknown: count(),
  };
}
