/** Format of policy tests: the given state, the steps, and the expected results. */
import * as z from 'zod/mini';
import { CANARY_VERDICTS } from '#foundation/domain/canary.ts';
import { deployedPart } from '#foundation/domain/deploy.ts';
import { POLICY_MODES, RUN_OUTCOMES } from '#foundation/domain/plan.ts';
import {
  group,
  crossCheck,
  defaulted,
  described,
  durationSetting,
  instantSetting,
  wholeNumber,
  optional,
  settingsBlock,
  someText,
} from '#foundation/settings/blocks.ts';
import { engineSettings, policySettings } from '../policies/settings.ts';

const count = wholeNumber(0);
const ago = (what: string, fallback: string) => defaulted(what, durationSetting({ min: '0ms' }), fallback);

const mapping = <Keys extends z.core.$ZodLooseShape>(what: string, keys: Keys) => optional(what, z.strictObject(keys));
const list = <Keys extends z.core.$ZodLooseShape>(what: string, keys: Keys) =>
  optional(what, z.array(z.strictObject(keys)));

const entry = z.strictObject({
  dlqId: described('Id of the entry. With count, the prefix of the ids, as in billing-1 and billing-2.', someText),
  count: defaulted('Number of entries.', wholeNumber(1, 100_000), 1),
  workflowRunId: optional('Id of the run. Default: run- and the dlqId.', someText),
  workflowUrl: defaulted('URL of the workflow.', someText, 'https://app.example.com/api/workflows/test'),
  failedAgo: ago('Time since the failure.', '1h'),
  status: defaulted(
    'Status of the last response; none if there was no response.',
    z.union([wholeNumber(100, 599), z.literal('none')]),
    503,
  ),
  labels: defaulted('Labels.', z.array(someText), []),
  responseText: optional('Body of the last response, or the error text if there was no response.', someText),
  url: optional('URL of the step that failed.', someText),
  method: optional('Method of the step that failed.', someText),
  maxRetries: optional('Maximum retries of the step.', count),
  callerIp: optional('Address of the caller.', someText),
  flowControlKey: optional('Flow-control key.', someText),
  failureFunctionState: optional('State of the failure function.', someText),
  attempts: mapping('Resumes of this run in the ledger.', {
    count: described('Number of resumes so far; the run failed again after each.', wholeNumber(1, 20)),
    lastAgo: ago('Time since the last resume. Earlier resumes are an hour apart.', '1h'),
  }),
});

const deadLetter = z.strictObject({
  dlqId: described('Id of the dead message.', someText),
  messageId: optional('Id of the message. Default: msg- and the dlqId.', someText),
  learnedAgo: ago('Time since the failure callback.', '1h'),
  url: optional('Destination.', someText),
  topicName: optional('URL Group.', someText),
  scheduleId: optional('Schedule.', someText),
  retried: optional('Number of retries.', count),
  status: optional('Status of the last response; absent if there was no response.', wholeNumber(100, 599)),
  labels: defaulted('Labels.', z.array(someText), []),
  body: defaulted('False if its body is not kept.', z.boolean(), true),
});

const usd = z.number().check(z.minimum(0));

const facts = z.strictObject({
  deliveries: optional(
    'Deliveries of the last minutes, by host. Deliveries to other hosts are unknown.',
    z.record(
      z.string(),
      z.strictObject({
        delivered: described('Number of successful attempts.', count),
        all: described('Number of all attempts.', count),
      }),
    ),
  ),
  refusedAgo: optional('Time since the service responded with 429.', durationSetting({ min: '0ms' })),
  alertFiring: optional('State of alerts, by name: true if the alert fires.', z.record(z.string(), z.boolean())),
  flowWaiting: optional('Number of waiting messages, by flow-control key.', z.record(z.string(), count)),
  flowPaused: optional('State of flow-control keys: true if the key is paused.', z.record(z.string(), z.boolean())),
  canary: optional('Verdicts of canaries, by name.', z.record(z.string(), z.enum(CANARY_VERDICTS))),
  dlqMessages: optional('Number of messages in the DLQ: the maximum that a prune deletes.', count),
  dlqFillRatio: optional('Fill ratio of the DLQ, 0 to 1.', z.number().check(z.minimum(0))),
  budget: mapping('Known budget. A raise in an earlier step replaces it.', {
    knownUsd: described('Dollars a month; 0 if there is no limit.', usd),
    assertedAgo: ago('Time since the budget was asserted.', '1d'),
    maxAge: defaulted('Maximum age of the assertion.', durationSetting({ min: '1d' }), '45d'),
  }),
  spend: mapping('Spend, read again at each run.', {
    fresh: defaulted('True if the statistics are fresh.', z.boolean(), true),
    monthUsd: optional('Spend of this month, in dollars.', usd),
    last24hUsd: optional('Spend of the last day, in dollars.', usd),
    medianDayUsd: optional('Median spend of a day in the last two weeks, in dollars.', usd),
    forecastMonthUsd: optional('Forecast spend of the whole month, in dollars.', usd),
    hoursLeft: optional('Hours until the budget is used up.', usd),
    messagesLastDay: optional('Number of messages in the last day.', count),
    ownMessagesLastDay: optional('Number of messages in the last day that the daemon’s actions caused.', count),
  }),
});

const campaign = z.strictObject({
  policy: optional('Policy of the campaign; required if the file has several.', someText),
  group: described('Group: a workflow’s URL, or a destination.', someText),
  state: defaulted('State of the campaign.', z.enum(['ready', 'halted', 'audit']), 'ready'),
  step: defaulted('Number of the next step.', wholeNumber(1), 1),
  size: described('Maximum number of entries in that step.', wholeNumber(1)),
  judged: defaulted('Number of judged actions so far.', count, 0),
  verified: defaulted('Number of verified actions so far.', count, 0),
  halts: defaulted('Number of consecutive halts.', count, 0),
  until: optional('Time that the breaker stays open, from now.', durationSetting({ min: '1s' })),
});

const past = <Keys extends z.core.$ZodLooseShape>(keys: Keys) =>
  z.array(
    z.strictObject({
      policy: optional('Policy that acted; required if the file has several.', someText),
      ago: ago('Time since the action.', '1h'),
      ...keys,
    }),
  );

const given = z.strictObject({
  entries: defaulted('Entries of the workflow DLQ.', z.array(entry), []),
  deadLetters: defaulted('Dead messages, as reported by failure callbacks.', z.array(deadLetter), []),
  facts: settingsBlock('Known facts. All others are unknown.', facts),
  campaigns: defaulted('Campaigns in progress.', z.array(campaign), []),
  raises: defaulted(
    'Past raises of the budget.',
    past({
      fromUsd: described('Budget before the raise.', usd),
      toUsd: described('Budget after the raise.', usd),
    }),
    [],
  ),
  acted: defaulted(
    'Past actions, which caps and intervals count.',
    past({ items: described('Number of entries acted on, as the caps count them.', wholeNumber(1)) }),
    [],
  ),
  pastProbation: defaulted('True if the policy has completed its audit runs.', z.boolean(), false),
});

/** Expected objection. `*` in an expected text matches any text. */
const denialKeys = {
  guard: described('Name of the guard.', someText),
  reason: optional('Reason of the guard; * matches any text.', someText),
};
const denial = z.strictObject(denialKeys);

const expected = z.strictObject({
  outcome: optional('Outcome of the run.', z.enum(RUN_OUTCOMES)),
  acted: optional('Number of entries acted on.', count),
  state: optional('State of the plan.', z.enum(['nothing_to_do', 'changes', 'held', 'aborted'])),
  effectiveMode: optional('Most restrictive of all modes.', z.enum(POLICY_MODES)),
  stopped: optional('Guard that held or aborted the run.', denial),
  needsApproval: optional('Guard that requires approval.', denial),
  matched: optional('Number of entries that select and where match.', count),
  backlog: optional('Number of entries left for later runs.', count),
  evaluationErrors: optional('Number of entries on which the expression failed.', count),
  chosen: optional('Ids of all actions of the plan, in order.', z.array(someText)),
  chosenCount: optional('Number of actions in the plan.', count),
  skipped: list('All denials, in any order.', {
    ...denialKeys,
    count: optional('Number of entries that it denied.', count),
  }),
  campaigns: list('All groups of the plan, in any order.', {
    group: described('The group.', someText),
    state: optional('State of the campaign.', someText),
    step: optional('Number of the step.', wholeNumber(1)),
    now: optional('Number of entries in this run.', count),
    next: optional('Sizes of the next two steps.', z.array(count)),
    verified: optional('Number of verified actions so far.', count),
    judged: optional('Number of judged actions so far.', count),
    matched: optional('Number of entries in the group.', count),
    held: optional('Guard that holds the group.', denial),
  }),
  requests: list('All requests, in order.', {
    operation: described(
      'Operation.',
      z.enum(['resume-workflow-dlq', 'publish', 'delete-workflow-dlq', 'delete-dlq', 'update-budget']),
    ),
    dlqIds: optional('Ids in the request.', z.array(someText)),
    overrides: mapping('All overrides of a resume.', {
      retries: optional('Retries of each step.', count),
      labels: optional('Labels. The first is the stamp: opsd:test:*:1.', z.array(someText)),
      flowControl: mapping('Flow control.', {
        key: optional('Flow-control key.', someText),
        parallelism: optional('Maximum number of runs at the same time.', count),
        rate: optional('Maximum number of steps in a period.', count),
        period: optional('Period in seconds.', z.number()),
      }),
    }),
    retries: optional('Retries of a published message.', count),
    labels: optional('Labels of a published message. The first is the stamp: opsd:test:*:1.', z.array(someText)),
    filter: optional('All filters of a prune.', z.record(z.string(), z.unknown())),
    dollars: optional('New budget.', count),
  }),
  requestCount: optional('Number of requests.', count),
  notes: optional('Sentences that the plan must contain.', z.array(someText)),
});

const SERVICE_ANSWERS = ['good', 'lost', 'never_arrived', 'refused', 'rate_limited', 'too_many'] as const;

const stepKeys = {
  advance: optional('Advances the clock and settles earlier actions.', durationSetting({ min: '1ms', max: '400d' })),
  entries: optional('Adds entries to the workflow DLQ.', z.array(entry)),
  remove: optional('Removes entries, by id.', z.array(someText)),
  deadLetters: optional('Adds dead messages.', z.array(deadLetter)),
  facts: optional('Replaces facts, key by key.', facts),
  failAgain: optional(
    'Makes the runs of resumed entries fail again. The new entries have -again at the end of their ids.',
    z.array(someText),
  ),
  deploy: mapping('Reports a deploy.', {
    version: described('Version.', someText),
    of: described(
      'Hosts or URL prefixes of what was deployed.',
      z.array(
        z
          .string('expected a host or a URL prefix')
          .check(z.refine((text) => deployedPart(text) !== undefined, 'expected a host or a URL prefix')),
      ),
    ),
    failed: defaulted('True if the deploy failed, or was rolled back.', z.boolean(), false),
  }),
  pause: optional('Pauses everything, with this reason.', someText),
  unpause: optional('Lifts every pause, with this reason.', someText),
  approve: optional('Approves the pending plan of this policy.', someText),
  answers: optional('Responses to the next requests. Default: good.', z.array(z.enum(SERVICE_ANSWERS))),
  plan: optional('Makes a plan of this policy without acting.', someText),
  run: optional('Runs this policy.', someText),
  expect: optional('Expected plan or run. Keys that are absent are not compared.', expected),
};

const KEYS_THAT_DO = (Object.keys(stepKeys) as (keyof typeof stepKeys)[]).filter(
  (key) => key !== 'answers' && key !== 'expect',
);

const step = z.strictObject(stepKeys).check(
  crossCheck((value, context) => {
    const report = (message: string, ...path: string[]) => context.addIssue({ code: 'custom', path, message });
    const { plan, run, expect } = value;
    if (plan !== undefined && run !== undefined) report('plan and run exclude each other; write two steps', 'plan');
    if (expect !== undefined && plan === undefined && run === undefined) {
      report('the step makes no decision to compare; add plan or run', 'expect');
    }
    for (const key of ['outcome', 'acted', 'requests', 'requestCount'] as const) {
      if (expect?.[key] === undefined || run !== undefined || plan === undefined) continue;
      report('a plan sends nothing and has no outcome; replace plan by run', 'expect', key);
    }
    if (KEYS_THAT_DO.every((key) => value[key] === undefined)) {
      report(`the step does nothing; add one of ${KEYS_THAT_DO.join(', ')}`);
    }
  }),
);

const testCase = z.strictObject({
  name: described('Name of the test.', someText),
  now: defaulted('Time at the start of the test. Default: a Monday morning.', instantSetting(), '2026-03-02T10:00:00Z'),
  mode: optional('Mode of the policies in this test. Overrides their own mode.', z.enum(POLICY_MODES)),
  engine: settingsBlock('Settings of the engine.', engineSettings),
  account: group('Settings of the account. All policies of the test use this account.', {
    mode: defaulted('Upper limit for the mode of the policies.', z.enum(POLICY_MODES), 'enforce'),
    dlqRetention: optional('Retention of the DLQ.', durationSetting({ min: '1m' })),
    priceUsdPer100kMessages: optional('Dollars for 100,000 messages.', z.number().check(z.positive())),
  }),
  given: settingsBlock('State at the start of the test.', given),
  steps: described(
    'Steps, in order. The keys of one step apply in the order of this schema.',
    z.array(step).check(z.minLength(1)),
  ),
});

export const policyTestSettings = z
  .strictObject({
    policies: defaulted('Policies.', z.array(policySettings), []),
    policyFiles: defaulted(
      'Files with policies, relative to this file. The last part of a path may contain *.',
      z.array(someText),
      [],
    ),
    tests: described('Tests. Each test starts with an empty ledger.', z.array(testCase).check(z.minLength(1))),
  })
  .check(
    crossCheck((file, context) => {
      if ((file.policies?.length ?? 0) > 0 || (file.policyFiles?.length ?? 0) > 0) return;
      const message = 'the file names no policies; add policyFiles or policies';
      context.addIssue({ code: 'custom', message, params: { missing: ['policyFiles', 'policies'] } });
    }),
  );

type PolicyTestFile = z.output<typeof policyTestSettings>;
export type PolicyTest = PolicyTestFile['tests'][number];
export type TestStep = PolicyTest['steps'][number];
export type TestFacts = PolicyTest['given']['facts'];
export type TestEntry = PolicyTest['given']['entries'][number];
export type Expected = NonNullable<TestStep['expect']>;
export type ServiceAnswer = (typeof SERVICE_ANSWERS)[number];
