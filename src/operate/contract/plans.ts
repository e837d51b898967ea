/** Plans, and decisions about them. Field names are stable. */
import { z } from 'zod';
import {
  ACTION_TYPES,
  PLAN_STATES,
  POLICY_MODES,
  RUN_OUTCOMES,
  TRIGGER_KINDS,
  type Plan,
  type PlanCampaign,
  type PlanCap,
} from '#foundation/domain/plan.ts';
import { TRENDS } from '#foundation/domain/hold.ts';
import { MANUAL_ACTIONS, TEXT_FILTERS, type TextFilter } from '#foundation/domain/selection.ts';
import type { RunSummary } from '#automate/ledger/commands.ts';
import { STORED_STATES } from '#automate/ledger/plans.ts';
import { CAMPAIGN_STATES } from '#foundation/domain/campaign.ts';
import { bytesField, choiceField, limitParameter, nameField, reasonField, textParameter } from './parameters.ts';
import { route } from './route.ts';
import * as s from './schema.ts';
import { denial } from './status.ts';

const MATCHED =
  'Entries that `select` and `where` match; of a prune, the maximum. Absent if nothing was read. matched = acted + backlog + denied + without effect.';

/** Numbers of a run: matched = acted + backlog + denied + without effect. */
export const runCounts = {
  matched: s.opt(s.count(MATCHED.replace('of a prune, the maximum', 'of a prune, what its pages found'))),
  acted: s.count('Entries that the service acted on; of a prune, deleted messages.'),
  backlog: s.opt(s.count('Matched entries that are left for later runs. Absent if unknown.')),
};

const runSummary = s.named(
  'RunSummary',
  s.objectOf<RunSummary>({
    outcome: s.choice(RUN_OUTCOMES),
    ...runCounts,
    detail: s.opt(s.text()),
    stopped: s.opt(denial),
  }),
);

const proposal = s.named('Proposal', s.anyObject('Action that a policy proposes. Its fields depend on the action.'));

const plan: s.Schema<Plan> = s.named(
  'Plan',
  s.objectOf<Plan>({
    id: s.opt(s.text('Id of the stored plan; absent if it is not stored.')),
    hash: s.text('Hash that an approval is bound to.'),
    policy: s.text(),
    account: s.text(),
    action: s.choice(ACTION_TYPES),
    source: s.text('Place of the policy: `file:line`.'),
    at: s.time(),
    trigger: s.object(
      {
        kind: s.choice(TRIGGER_KINDS),
        name: s.opt(s.text('Name of the alert, or version of the deploy.')),
        key: s.opt(s.text()),
        at: s.opt(s.time('Time of the deploy.')),
      },
      'Cause of the run.',
    ),
    state: s.choice(PLAN_STATES),
    mode: s.choice(POLICY_MODES),
    effectiveMode: s.choice(POLICY_MODES),
    stopped: s.opt(denial),
    needsApproval: s.opt(denial),
    overruled: s.opt(s.object({ settings: s.mapOf(s.text()), reason: s.text() }, 'Limits that an operator overrode.')),
    read: s.opt(
      s.objectOf<NonNullable<Plan['read']>>({
        pages: s.count(),
        entries: s.count(),
        complete: s.flag(),
        filterChecked: s.count(),
        population: s.opt(s.count()),
        clockSkewMs: s.opt(s.span()),
      }),
    ),
    checks: s.listOf(s.objectOf<Plan['checks'][number]>({ guard: s.text(), passed: s.flag(), reason: s.text() })),
    matched: s.opt(s.count(MATCHED)),
    chosen: s.listOf(proposal, 'Actions to execute now, in order.'),
    backlog: s.count('Entries left for later runs.'),
    deferred: s.opt(s.listOf(proposal, 'First entries of the backlog.')),
    skipped: s.listOf(s.objectOf<Plan['skipped'][number]>({ guard: s.text(), reason: s.text(), count: s.count() })),
    evaluationErrors: s.count(),
    campaigns: s.listOf(
      s.objectOf<PlanCampaign>({
        group: s.text(),
        state: s.choice(CAMPAIGN_STATES),
        deploy: s.opt(s.object({ id: s.integer(), version: s.text() }, 'Last deploy that is about its entries.')),
        step: s.integer(),
        now: s.count(),
        next: s.listOf(s.count(), 'Sizes of the following steps.'),
        verified: s.count(),
        judged: s.count(),
        matched: s.count(),
        until: s.opt(s.time()),
        held: s.opt(denial),
      }),
    ),
    caps: s.listOf(
      s.objectOf<PlanCap>({
        scope: s.text(),
        window: s.text(),
        used: s.count(),
        limit: s.orNull(s.integer()),
        why: s.opt(s.text('Reason why the whole cap counts as used.')),
        until: s.opt(s.time('When the first place of a full cap becomes free; absent if unknown.')),
        trend: s.opt(s.choice(TRENDS, 'Direction of the use of a full cap; absent if unknown.')),
      }),
    ),
    drain: s.opt(
      s.objectOf<NonNullable<Plan['drain']>>({
        ms: s.orNull(s.number()),
        expiring: s.opt(s.count('Entries that expire before; absent if unknown.')),
        unknownExpiries: s.opt(s.count('Entries whose expiry is unknown: `expiring` is a lower bound.')),
      }),
    ),
    notes: s.listOf(s.text()),
    manual: s.opt(
      s.object(
        { by: s.text('Operator.'), reason: s.text(), selection: s.anyObject('Selection, as in the request.') },
        'Origin of a manual plan.',
      ),
    ),
  }),
);

export const storedFields = {
  id: s.text(),
  hash: s.text(),
  policy: s.text(),
  account: s.text(),
  action: s.choice(ACTION_TYPES),
  state: s.choice(STORED_STATES),
  // State of the plan itself.
  planState: s.choice(PLAN_STATES),
  savedAt: s.time(),
  expiresAt: s.time(),
  matched: s.count('Entries that the guards allow; of a prune, the maximum.'),
  now: s.count('Entries of the next run.'),
  covers: s.count('Actions that an approval covers.'),
  left: s.opt(s.count('Of these, actions that are not done; only for an approved plan.')),
  // Reason for an approval that the mode does not require.
  needsApproval: s.opt(denial),
  stopped: s.opt(denial),
  ...s.optTexts('by', 'reason'),
  decidedAt: s.opt(s.time()),
  approvedBy: s.opt(s.text('Operator who approved it. A later decision keeps it.')),
  approvedAt: s.opt(s.time()),
  replacedBy: s.opt(s.text('Id of the newer plan.')),
  // Reason why an approved plan is not continued now.
  held: s.opt(denial),
  origin: s.choice(['policy', 'manual']),
  madeBy: s.opt(s.text('Operator who made it.')),
  madeFor: s.opt(s.text('Reason of a manual plan.')),
};
export const storedPlan = s.named('StoredPlan', s.object(storedFields));
/** One plan without its actions. */
export type StoredPlanView = s.Infer<typeof storedPlan>;

const effectCounts = {
  // Requests with an effect, or whose effect is unknown.
  sent: s.count(),
  verified: s.count(),
  failedAgain: s.count(),
  rejected: s.count('Provably without effect.'),
  unknown: s.count(),
};

/** Progress of a plan: what became of its entries since it was applied or approved. */
const progress = s.named(
  'PlanProgress',
  s.object({
    ...effectCounts,
    state: s.choice([
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
    left: s.opt(s.count('Entries that are not sent; absent for a prune.')),
    deleted: s.opt(s.count('Messages that a prune deleted.')),
    // Largest current step of its campaigns.
    step: s.opt(s.integer()),
    // When the last step that settles is judged at the earliest.
    settlesAt: s.opt(s.time()),
    held: s.opt(denial),
    campaigns: s.listOf(
      s.object({
        ...effectCounts,
        group: s.text(),
        // `ended` if nothing is left to do in the group.
        state: s.choice(CAMPAIGN_STATES),
        step: s.integer(),
        until: s.opt(s.time()),
        reason: s.opt(s.text()),
      }),
    ),
    finished: s.flag('True if nothing more is sent, and every outcome is known.'),
  }),
);
export type PlanProgress = s.Infer<typeof progress>;

const storedDetail = s.named(
  'StoredPlanDetail',
  s.object({
    ...storedFields,
    plan,
    targets: s.listOf(s.text(), 'Targets that an approval covers.'),
    // Absent for a plan of a policy that was not applied or approved.
    progress: s.opt(progress),
  }),
);
export type StoredPlanDetail = s.Infer<typeof storedDetail>;

export const listPlans = route('GET /api/v1/plans', {
  id: 'listPlans',
  summary: 'Stored plans, newest first',
  role: 'viewer',
  query: z.strictObject({
    limit: limitParameter({ standard: 50, max: 500 }),
    policy: textParameter('Only those of this policy.'),
    state: z
      .array(choiceField(STORED_STATES))
      .default(['draft', 'pending', 'approved'])
      .describe('States of the plans.'),
  }),
  answer: s.object({ at: s.at, plans: s.listOf(storedPlan) }),
  errors: [503],
});

export const getPlan = route('GET /api/v1/plans/{id}', {
  id: 'getPlan',
  summary: 'One stored plan with its actions',
  role: 'viewer',
  answer: s.object({ at: s.at, plan: storedDetail }),
  errors: [404, 503],
});

const overruledSettings = z
  .record(z.string(), z.string('must be a string, numbers as well'))
  .refine((settings) => Object.keys(settings).length > 0, 'must name a limit')
  .meta({ minProperties: 1 });

export const planBody = z.strictObject({
  policy: nameField('the name of a policy'),
  keep: z.boolean('must be true or false').default(false),
  overrule: z
    .strictObject({ settings: overruledSettings, reason: reasonField() }, 'must be {settings, reason}')
    .exactOptional(),
});
export const PLAN_FORM =
  '{"policy": "NAME", "keep": true, "overrule": {"settings": {"limits.maxPerHour": "6000"}, "reason": "TEXT"}}; only policy is required.';

/** Last time that a date can have. */
const MAX_TIME = 8_640_000_000_000_000;

/** A text or a list of texts. */
const texts = z
  .union([z.string(), z.array(z.string())], 'must be a text or a list of texts')
  .transform((value) => (typeof value === 'string' ? [value] : value))
  .exactOptional();
const status = z.int('must be whole numbers');
const date = z
  .int('must be epoch milliseconds')
  .min(0, 'must be epoch milliseconds')
  .max(MAX_TIME, 'must be epoch milliseconds')
  .exactOptional();

const selectionBody = z.strictObject(
  {
    account: nameField('the name of an account').exactOptional(),
    action: choiceField(MANUAL_ACTIONS),
    queue: choiceField(['workflow', 'message']).exactOptional(),
    ids: z.array(z.string('must be a text'), 'must be a list of dlqIds').exactOptional(),
    ...(Object.fromEntries(TEXT_FILTERS.map((name) => [name, texts])) as Record<TextFilter, typeof texts>),
    responseStatus: z
      .union([status, z.array(status)], 'must be a status or a list of statuses')
      .transform((value) => (typeof value === 'number' ? [value] : value))
      .exactOptional(),
    fromDate: date,
    toDate: date,
  },
  'must be {action, …}',
);

export const manualBody = z.strictObject({
  selection: selectionBody,
  reason: reasonField(),
  account: nameField('the name of an account').exactOptional(),
  /** A manual plan is always kept. */
  keep: z.literal(true, 'must be true').exactOptional(),
  overrule: z.strictObject({ settings: overruledSettings, reason: reasonField().exactOptional() }).exactOptional(),
  /** Of a republish of one id. A header with an empty value is removed. */
  edit: z
    .strictObject({
      body: bytesField().exactOptional(),
      headers: z.record(z.string(), z.string('must be a text')).exactOptional(),
    })
    .exactOptional(),
});
export const MANUAL_FORM =
  '{"selection": {"action": "resume", "ids": ["ID"], "label": ["TEXT"], …}, "reason": "TEXT", "account": "NAME", "overrule": {"settings": {"limits.maxPerRun": "50"}}}; account, overrule and edit are optional, and one id or one filter is enough.';

/** Reads the service and changes nothing. With `keep`, the plan is stored and can be applied. */
export const postPlan = route('POST /api/v1/plan', {
  id: 'makePlan',
  summary: 'Make a plan of a policy or of a selection; nothing is changed',
  role: 'operator',
  command: 'opsd plan POLICY',
  isLong: true,
  body: z.union([planBody, manualBody]),
  answer: plan,
  errors: [404, 409, 502],
});

/** The request in flight finishes. */
export const postCancel = route('POST /api/v1/cancel', {
  id: 'cancelPlan',
  summary: 'Cancel a manual plan',
  role: 'operator',
  command: 'opsd cancel PLAN --reason TEXT',
  body: z.strictObject({ plan: nameField('the id of a plan'), reason: reasonField() }),
  form: '{"plan": "ID", "reason": "TEXT"}',
  answer: s.object({ plan: storedPlan }),
  errors: [404, 409],
});

const decision = {
  role: 'operator',
  body: z.strictObject({ plan: nameField('the id of a plan'), reason: reasonField().exactOptional() }),
  form: '{"plan": "ID", "reason": "TEXT"}; only plan is required.',
  errors: [404, 409],
} as const;

/** Runs until the caller disconnects. Responds with the shown plan, and the result of its run. */
export const postApply = route('POST /api/v1/apply', {
  ...decision,
  id: 'applyPlan',
  summary: 'Apply a stored plan',
  command: 'opsd apply PLAN',
  isLong: true,
  answer: s.object({ plan, result: runSummary }),
});

export const postApprove = route('POST /api/v1/approve', {
  ...decision,
  id: 'approvePlan',
  summary: 'Approve a pending plan',
  command: 'opsd approve PLAN',
  answer: s.object({ plan: storedPlan }),
});

export const postReject = route('POST /api/v1/reject', {
  ...decision,
  id: 'rejectPlan',
  summary: 'Reject a pending plan',
  command: 'opsd reject PLAN',
  answer: s.object({ plan: storedPlan }),
});
