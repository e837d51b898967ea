/** Format of policy tests: the given state, the steps, and the expected results. */
import { z } from 'zod';
import { CANARY_VERDICTS } from '#foundation/domain/canary.ts';
import { POLICY_MODES, RUN_OUTCOMES } from '#foundation/domain/plan.ts';
import { always, durationSetting } from '#foundation/platform/settings.ts';
import { engineSettings, policySettings } from '../policies/settings.ts';

const text = z.string().min(1);
const count = z.int().min(0);
const ago = (fallback: string) => durationSetting({ min: '0ms' }).prefault(fallback);
const INSTANT = 'expected a time such as 2026-03-02T10:00:00Z';

const entry = z.strictObject({
  dlqId: text.describe('Id of the entry. With count, the prefix of the ids, as in billing-1 and billing-2.'),
  count: z.int().min(1).max(100_000).default(1).describe('Number of entries.'),
  workflowRunId: text.exactOptional().describe('Id of the run. Default: run- and the dlqId.'),
  workflowUrl: text.default('https://app.example.com/api/workflows/test').describe('URL of the workflow.'),
  failedAgo: ago('1h').describe('Time since the failure.'),
  status: z
    .union([z.int().min(100).max(599), z.literal('none')])
    .default(503)
    .describe('Status of the last response; none if there was no response.'),
  labels: z.array(text).default([]).describe('Labels.'),
  responseText: text.exactOptional().describe('Body of the last response, or the error text if there was no response.'),
  url: text.exactOptional().describe('URL of the step that failed.'),
  method: text.exactOptional().describe('Method of the step that failed.'),
  maxRetries: count.exactOptional().describe('Maximum retries of the step.'),
  callerIp: text.exactOptional().describe('Address of the caller.'),
  flowControlKey: text.exactOptional().describe('Flow-control key.'),
  failureFunctionState: text.exactOptional().describe('State of the failure function.'),
  attempts: z
    .strictObject({
      count: z.int().min(1).max(20).describe('Number of resumes so far; the run failed again after each.'),
      lastAgo: ago('1h').describe('Time since the last resume. Earlier resumes are an hour apart.'),
    })
    .exactOptional()
    .describe('Resumes of this run in the ledger.'),
});

const deadLetter = z.strictObject({
  dlqId: text.describe('Id of the dead message.'),
  messageId: text.exactOptional().describe('Id of the message. Default: msg- and the dlqId.'),
  learnedAgo: ago('1h').describe('Time since the failure callback.'),
  url: text.exactOptional().describe('Destination.'),
  topicName: text.exactOptional().describe('URL Group.'),
  scheduleId: text.exactOptional().describe('Schedule.'),
  retried: count.exactOptional().describe('Number of retries.'),
  status: z
    .int()
    .min(100)
    .max(599)
    .exactOptional()
    .describe('Status of the last response; absent if there was no response.'),
  labels: z.array(text).default([]).describe('Labels.'),
});

const usd = z.number().min(0);

const facts = z.strictObject({
  deliveries: z
    .record(
      z.string(),
      z.strictObject({
        delivered: count.describe('Number of successful attempts.'),
        all: count.describe('Number of all attempts.'),
      }),
    )
    .exactOptional()
    .describe('Deliveries of the last minutes, by host. Deliveries to other hosts are unknown.'),
  refusedAgo: durationSetting({ min: '0ms' }).exactOptional().describe('Time since the service responded with 429.'),
  alertFiring: z
    .record(z.string(), z.boolean())
    .exactOptional()
    .describe('State of alerts, by name: true if the alert fires.'),
  flowWaiting: z.record(z.string(), count).exactOptional().describe('Number of waiting messages, by flow-control key.'),
  flowPaused: z
    .record(z.string(), z.boolean())
    .exactOptional()
    .describe('State of flow-control keys: true if the key is paused.'),
  canary: z.record(z.string(), z.enum(CANARY_VERDICTS)).exactOptional().describe('Verdicts of canaries, by name.'),
  dlqMessages: count.exactOptional().describe('Number of messages in the DLQ: the maximum that a prune deletes.'),
  dlqFillRatio: z.number().min(0).exactOptional().describe('Fill ratio of the DLQ, 0 to 1.'),
  budget: z
    .strictObject({
      knownUsd: usd.describe('Dollars a month; 0 if there is no limit.'),
      assertedAgo: ago('1d').describe('Time since the budget was asserted.'),
      maxAge: durationSetting({ min: '1d' }).prefault('45d').describe('Maximum age of the assertion.'),
    })
    .exactOptional()
    .describe('Known budget. A raise in an earlier step replaces it.'),
  spend: z
    .strictObject({
      fresh: z.boolean().default(true).describe('True if the statistics are fresh.'),
      monthUsd: usd.exactOptional().describe('Spend of this month, in dollars.'),
      last24hUsd: usd.exactOptional().describe('Spend of the last day, in dollars.'),
      medianDayUsd: usd.exactOptional().describe('Median spend of a day in the last two weeks, in dollars.'),
      forecastMonthUsd: usd.exactOptional().describe('Forecast spend of the whole month, in dollars.'),
      hoursLeft: usd.exactOptional().describe('Hours until the budget is used up.'),
      messagesLastDay: count.exactOptional().describe('Number of messages in the last day.'),
      ownMessagesLastDay: count
        .exactOptional()
        .describe('Number of messages in the last day that the daemon’s actions caused.'),
    })
    .exactOptional()
    .describe('Spend, read again at each run.'),
});

const campaign = z.strictObject({
  policy: text.exactOptional().describe('Policy of the campaign; required if the file has several.'),
  group: text.describe('Group: a workflow’s URL, or a destination.'),
  state: z.enum(['ready', 'halted', 'audit']).default('ready').describe('State of the campaign.'),
  step: z.int().min(1).default(1).describe('Number of the next step.'),
  size: z.int().min(1).describe('Maximum number of entries in that step.'),
  judged: count.default(0).describe('Number of judged actions so far.'),
  verified: count.default(0).describe('Number of verified actions so far.'),
  halts: count.default(0).describe('Number of consecutive halts.'),
  until: durationSetting({ min: '1s' }).exactOptional().describe('Time that the breaker stays open, from now.'),
});

const past = {
  policy: text.exactOptional().describe('Policy that acted; required if the file has several.'),
  ago: ago('1h').describe('Time since the action.'),
};

const given = z.strictObject({
  entries: z.array(entry).default([]).describe('Entries of the workflow DLQ.'),
  deadLetters: z.array(deadLetter).default([]).describe('Dead messages, as reported by failure callbacks.'),
  facts: facts.prefault({}).describe('Known facts. All others are unknown.'),
  campaigns: z.array(campaign).default([]).describe('Campaigns in progress.'),
  raises: z
    .array(
      z.strictObject({
        ...past,
        fromUsd: usd.describe('Budget before the raise.'),
        toUsd: usd.describe('Budget after the raise.'),
      }),
    )
    .default([])
    .describe('Past raises of the budget.'),
  acted: z
    .array(
      z.strictObject({
        ...past,
        items: z.int().min(1).describe('Number of entries acted on, as the caps count them.'),
      }),
    )
    .default([])
    .describe('Past actions, which caps and intervals count.'),
  pastProbation: z.boolean().default(false).describe('True if the policy has completed its audit runs.'),
});

/** Expected objection. `*` in an expected text matches any text. */
const denial = z.strictObject({
  guard: text.describe('Name of the guard.'),
  reason: text.exactOptional().describe('Reason of the guard; * matches any text.'),
});

const expected = z.strictObject({
  outcome: z.enum(RUN_OUTCOMES).exactOptional().describe('Outcome of the run.'),
  acted: count.exactOptional().describe('Number of entries acted on.'),
  state: z.enum(['nothing_to_do', 'changes', 'held', 'aborted']).exactOptional().describe('State of the plan.'),
  effectiveMode: z.enum(POLICY_MODES).exactOptional().describe('Most restrictive of all modes.'),
  stopped: denial.exactOptional().describe('Guard that held or aborted the run.'),
  needsApproval: denial.exactOptional().describe('Guard that requires approval.'),
  selected: count.exactOptional().describe('Number of entries that select and where match.'),
  matched: count.exactOptional().describe('Number of entries that the entry guards allow.'),
  backlog: count.exactOptional().describe('Number of entries left for later runs.'),
  evaluationErrors: count.exactOptional().describe('Number of entries on which the expression failed.'),
  chosen: z.array(text).exactOptional().describe('Ids of all actions of the plan, in order.'),
  chosenCount: count.exactOptional().describe('Number of actions in the plan.'),
  skipped: z
    .array(
      z.strictObject({
        guard: text.describe('Name of the guard.'),
        reason: text.exactOptional().describe('Reason of the guard; * matches any text.'),
        count: count.exactOptional().describe('Number of entries that it denied.'),
      }),
    )
    .exactOptional()
    .describe('All denials, in any order.'),
  campaigns: z
    .array(
      z.strictObject({
        group: text.describe('The group.'),
        state: text.exactOptional().describe('State of the campaign.'),
        step: z.int().min(1).exactOptional().describe('Number of the step.'),
        now: count.exactOptional().describe('Number of entries in this run.'),
        next: z.array(count).exactOptional().describe('Sizes of the next two steps.'),
        verified: count.exactOptional().describe('Number of verified actions so far.'),
        judged: count.exactOptional().describe('Number of judged actions so far.'),
        matched: count.exactOptional().describe('Number of entries in the group.'),
        held: denial.exactOptional().describe('Guard that holds the group.'),
      }),
    )
    .exactOptional()
    .describe('All groups of the plan, in any order.'),
  requests: z
    .array(
      z.strictObject({
        operation: z
          .enum(['resume-workflow-dlq', 'delete-workflow-dlq', 'delete-dlq', 'update-budget'])
          .describe('Operation.'),
        dlqIds: z.array(text).exactOptional().describe('Ids in the request.'),
        overrides: z
          .strictObject({
            retries: count.exactOptional().describe('Retries of each step.'),
            labels: z.array(text).exactOptional().describe('Labels. The first is the stamp: opsd:test:*:1.'),
            flowControl: z
              .strictObject({
                key: text.exactOptional().describe('Flow-control key.'),
                parallelism: count.exactOptional().describe('Maximum number of runs at the same time.'),
                rate: count.exactOptional().describe('Maximum number of steps in a period.'),
                period: z.number().exactOptional().describe('Period in seconds.'),
              })
              .exactOptional()
              .describe('Flow control.'),
          })
          .exactOptional()
          .describe('All overrides of a resume.'),
        filter: z.record(z.string(), z.unknown()).exactOptional().describe('All filters of a prune.'),
        dollars: count.exactOptional().describe('New budget.'),
      }),
    )
    .exactOptional()
    .describe('All requests, in order.'),
  requestCount: count.exactOptional().describe('Number of requests.'),
  notes: z.array(text).exactOptional().describe('Sentences that the plan must contain.'),
});

const SERVICE_ANSWERS = ['good', 'lost', 'never_arrived', 'refused', 'rate_limited', 'too_many'] as const;

const KEYS_THAT_DO = [
  'advance',
  'entries',
  'remove',
  'deadLetters',
  'facts',
  'failAgain',
  'pause',
  'unpause',
  'approve',
  'plan',
  'run',
] as const;

const step = z
  .strictObject({
    advance: durationSetting({ min: '1ms', max: '400d' })
      .exactOptional()
      .describe('Advances the clock and settles earlier actions.'),
    entries: z.array(entry).exactOptional().describe('Adds entries to the workflow DLQ.'),
    remove: z.array(text).exactOptional().describe('Removes entries, by id.'),
    deadLetters: z.array(deadLetter).exactOptional().describe('Adds dead messages.'),
    facts: facts.exactOptional().describe('Replaces facts, key by key.'),
    failAgain: z
      .array(text)
      .exactOptional()
      .describe('Makes the runs of resumed entries fail again. The new entries have -again at the end of their ids.'),
    pause: text.exactOptional().describe('Pauses everything, with this reason.'),
    unpause: text.exactOptional().describe('Lifts every pause, with this reason.'),
    approve: text.exactOptional().describe('Approves the pending plan of this policy.'),
    answers: z
      .array(z.enum(SERVICE_ANSWERS))
      .exactOptional()
      .describe('Responses to the next requests. Default: good.'),
    plan: text.exactOptional().describe('Makes a plan of this policy without acting.'),
    run: text.exactOptional().describe('Runs this policy.'),
    expect: expected.exactOptional().describe('Expected plan or run. Keys that are absent are not compared.'),
  })
  .superRefine((value, context) => {
    if (value.plan !== undefined && value.run !== undefined) {
      const message = 'plan and run exclude each other; write two steps';
      context.addIssue({ code: 'custom', path: ['plan'], message });
    }
    if (value.expect !== undefined && value.plan === undefined && value.run === undefined) {
      const message = 'the step makes no decision to compare; add plan or run';
      context.addIssue({ code: 'custom', path: ['expect'], message });
    }
    for (const key of ['outcome', 'acted', 'requests', 'requestCount'] as const) {
      if (value.expect?.[key] === undefined || value.run !== undefined || value.plan === undefined) continue;
      const message = 'a plan sends nothing and has no outcome; replace plan by run';
      context.addIssue({ code: 'custom', path: ['expect', key], message });
    }
    if (KEYS_THAT_DO.every((key) => value[key] === undefined)) {
      const message = `the step does nothing; add one of ${KEYS_THAT_DO.join(', ')}`;
      context.addIssue({ code: 'custom', message });
    }
  }, always);

const testCase = z.strictObject({
  name: text.describe('Name of the test.'),
  now: z.iso
    .datetime({ offset: true, error: INSTANT })
    .prefault('2026-03-02T10:00:00Z')
    .transform((written) => Date.parse(written))
    .describe('Time at the start of the test. Default: a Monday morning.'),
  mode: z.enum(POLICY_MODES).exactOptional().describe('Mode of the policies in this test. Overrides their own mode.'),
  engine: engineSettings.prefault({}).describe('Settings of the engine.'),
  account: z
    .strictObject({
      mode: z.enum(POLICY_MODES).default('enforce').describe('Upper limit for the mode of the policies.'),
      dlqRetention: durationSetting({ min: '1m' }).exactOptional().describe('Retention of the DLQ.'),
      priceUsdPer100kMessages: z.number().positive().exactOptional().describe('Dollars for 100,000 messages.'),
    })
    .prefault({})
    .describe('Settings of the account. All policies of the test use this account.'),
  given: given.prefault({}).describe('State at the start of the test.'),
  steps: z.array(step).min(1).describe('Steps, in order. The keys of one step apply in the order of this schema.'),
});

export const policyTestSettings = z
  .strictObject({
    policies: z.array(policySettings).default([]).describe('Policies.'),
    policyFiles: z
      .array(text)
      .default([])
      .describe('Files with policies, relative to this file. The last part of a path may contain *.'),
    tests: z.array(testCase).min(1).describe('Tests. Each test starts with an empty ledger.'),
  })
  .superRefine((file, context) => {
    if ((file.policies?.length ?? 0) > 0 || (file.policyFiles?.length ?? 0) > 0) return;
    const message = 'the file names no policies; add policyFiles or policies';
    context.addIssue({ code: 'custom', message, params: { missing: ['policyFiles', 'policies'] } });
  }, always);

type PolicyTestFile = z.output<typeof policyTestSettings>;
export type PolicyTest = PolicyTestFile['tests'][number];
export type TestStep = PolicyTest['steps'][number];
export type TestFacts = PolicyTest['given']['facts'];
export type TestEntry = PolicyTest['given']['entries'][number];
export type Expected = NonNullable<TestStep['expect']>;
export type ServiceAnswer = (typeof SERVICE_ANSWERS)[number];
