/** Unit tests of policies, as they are written: what is given, what happens step by step, and what is expected. */
import { z } from 'zod';
import { POLICY_MODES, RUN_OUTCOMES } from '#foundation/domain/plan.ts';
import { always, durationSetting } from '#foundation/platform/settings.ts';
import { engineSettings, policySettings } from '../policies/settings.ts';

const text = z.string().min(1);
const count = z.int().min(0);
const ago = (fallback: string) => durationSetting({ min: '0ms' }).prefault(fallback);
const INSTANT = 'expected a time such as 2026-03-02T10:00:00Z';

const entry = z.strictObject({
  dlqId: text.describe('Its id; with count, the beginning of their ids, as in billing-1 and billing-2.'),
  count: z.int().min(1).max(100_000).default(1).describe('So many of them.'),
  workflowRunId: text.exactOptional().describe('Id of its run; without it run- and its dlqId.'),
  workflowUrl: text.default('https://app.example.com/api/workflows/test').describe('Its workflow.'),
  failedAgo: ago('1h').describe('How long ago it failed.'),
  status: z
    .union([z.int().min(100).max(599), z.literal('none')])
    .default(503)
    .describe('Status of its last answer; none when there was no answer.'),
  labels: z.array(text).default([]).describe('Its labels.'),
  responseText: text.exactOptional().describe('The last answer, or the error text where there was none.'),
  url: text.exactOptional().describe('URL of the step that failed.'),
  method: text.exactOptional().describe('Method of the step that failed.'),
  maxRetries: count.exactOptional().describe('Retries that its step had.'),
  callerIp: text.exactOptional().describe('Where it came from.'),
  flowControlKey: text.exactOptional().describe('Its flow-control key.'),
  failureFunctionState: text.exactOptional().describe('State of its failure function.'),
  attempts: z
    .strictObject({
      count: z.int().min(1).max(20).describe('Resumes so far; each brought it back.'),
      lastAgo: ago('1h').describe('How long ago the last one was sent; those before it an hour apart.'),
    })
    .exactOptional()
    .describe('Resumes of this run that the ledger knows.'),
});

const deadLetter = z.strictObject({
  dlqId: text.describe('Its id.'),
  messageId: text.exactOptional().describe('Id of the message; without it msg- and its dlqId.'),
  learnedAgo: ago('1h').describe('How long ago its failure callback came.'),
  url: text.exactOptional().describe('Its destination.'),
  topicName: text.exactOptional().describe('Its URL Group.'),
  scheduleId: text.exactOptional().describe('Its schedule.'),
  retried: count.exactOptional().describe('Retries that were made.'),
  status: z.int().min(100).max(599).exactOptional().describe('Status of its last attempt; absent: no answer.'),
  labels: z.array(text).default([]).describe('Its labels.'),
});

const usd = z.number().min(0);

const facts = z.strictObject({
  deliveries: z
    .record(
      z.string(),
      z.strictObject({
        delivered: count.describe('Attempts that succeeded.'),
        all: count.describe('Attempts in all.'),
      }),
    )
    .exactOptional()
    .describe('Deliveries of the last minutes, by host; of hosts that are not named nothing is known.'),
  refusedAgo: durationSetting({ min: '0ms' }).exactOptional().describe('How long ago the service answered 429.'),
  alertFiring: z.record(z.string(), z.boolean()).exactOptional().describe('Whether alerts fire, by name.'),
  flowWaiting: z.record(z.string(), count).exactOptional().describe('Messages that wait, by flow-control key.'),
  flowPaused: z.record(z.string(), z.boolean()).exactOptional().describe('Whether a flow-control key is paused.'),
  dlqMessages: count.exactOptional().describe('Messages in the DLQ; a prune deletes no more than these.'),
  dlqFillRatio: z.number().min(0).exactOptional().describe('How full the DLQ is, 0 to 1.'),
  budget: z
    .strictObject({
      knownUsd: usd.describe('Dollars a month; 0 when there is no limit.'),
      assertedAgo: ago('1d').describe('How long ago it was known to be so.'),
      maxAge: durationSetting({ min: '1d' }).prefault('45d').describe('Age after which nobody acts on it.'),
    })
    .exactOptional()
    .describe('The known budget; a raise of an earlier step takes its place.'),
  spend: z
    .strictObject({
      fresh: z.boolean().default(true).describe('Whether the statistics are fresh.'),
      monthUsd: usd.exactOptional().describe('Dollars of this month.'),
      last24hUsd: usd.exactOptional().describe('Dollars of the last day.'),
      medianDayUsd: usd.exactOptional().describe('The median day of the last two weeks.'),
      forecastMonthUsd: usd.exactOptional().describe('Dollars of the whole month, at this pace.'),
      hoursLeft: usd.exactOptional().describe('Hours until the budget is used up.'),
      messagesLastDay: count.exactOptional().describe('Messages of the last day.'),
      ownMessagesLastDay: count.exactOptional().describe('Those of them that acts of the daemon caused.'),
    })
    .exactOptional()
    .describe('What is spent; read anew at each run.'),
});

const campaign = z.strictObject({
  policy: text.exactOptional().describe('Its policy; needed where the file has several.'),
  group: text.describe('The group: a workflow’s URL, or a destination.'),
  state: z.enum(['ready', 'halted', 'audit']).default('ready').describe('Where it stands.'),
  step: z.int().min(1).default(1).describe('Number of its next step.'),
  size: z.int().min(1).describe('Most entries of that step.'),
  judged: count.default(0).describe('Acts that were judged so far.'),
  verified: count.default(0).describe('Those of them that were verified.'),
  halts: count.default(0).describe('Halts in a row.'),
  until: durationSetting({ min: '1s' }).exactOptional().describe('So long the breaker stays open from now on.'),
});

const past = {
  policy: text.exactOptional().describe('Who did it; needed where the file has several policies.'),
  ago: ago('1h').describe('How long ago.'),
};

const given = z.strictObject({
  entries: z.array(entry).default([]).describe('Entries of the workflow DLQ.'),
  deadLetters: z.array(deadLetter).default([]).describe('Dead messages that failure callbacks told of.'),
  facts: facts.prefault({}).describe('What is known; all else is not known.'),
  campaigns: z.array(campaign).default([]).describe('Campaigns under way.'),
  raises: z
    .array(
      z.strictObject({
        ...past,
        fromUsd: usd.describe('The budget before.'),
        toUsd: usd.describe('The budget after.'),
      }),
    )
    .default([])
    .describe('Raises of the budget that were done.'),
  acted: z
    .array(z.strictObject({ ...past, items: z.int().min(1).describe('Entries acted on: what the caps count.') }))
    .default([])
    .describe('Acts that caps and intervals count.'),
  pastProbation: z
    .boolean()
    .default(false)
    .describe('Whether the audit runs that a new policy makes first are behind it.'),
});

/** `*` in an expected text stands for any text. */
const denial = z.strictObject({
  guard: text.describe('Name of the guard.'),
  reason: text.exactOptional().describe('Its reason; * stands for any text.'),
});

const expected = z.strictObject({
  outcome: z.enum(RUN_OUTCOMES).exactOptional().describe('How the run ended.'),
  acted: count.exactOptional().describe('Entries that were acted on.'),
  state: z.enum(['nothing', 'changes', 'held', 'aborted']).exactOptional().describe('State of the plan.'),
  effectiveMode: z.enum(POLICY_MODES).exactOptional().describe('The least of all modes.'),
  stopped: denial.exactOptional().describe('What held or aborted it.'),
  needsApproval: denial.exactOptional().describe('Why a person is asked.'),
  selected: count.exactOptional().describe('Entries that select and where mean.'),
  matched: count.exactOptional().describe('Entries that the guards of entries allow.'),
  backlog: count.exactOptional().describe('Entries left for later.'),
  evaluationErrors: count.exactOptional().describe('Entries on which the expression failed.'),
  chosen: z.array(text).exactOptional().describe('Ids of the acts of the plan, all of them, in order.'),
  chosenCount: count.exactOptional().describe('How many acts the plan has.'),
  skipped: z
    .array(
      z.strictObject({
        guard: text.describe('Name of the guard.'),
        reason: text.exactOptional().describe('Its reason; * stands for any text.'),
        count: count.exactOptional().describe('Entries that it left out.'),
      }),
    )
    .exactOptional()
    .describe('What was left out, all of it, in any order.'),
  campaigns: z
    .array(
      z.strictObject({
        group: text.describe('The group.'),
        state: text.exactOptional().describe('Where its campaign stands.'),
        step: z.int().min(1).exactOptional().describe('The step that would be sent.'),
        now: count.exactOptional().describe('Entries of it that go now.'),
        next: z.array(count).exactOptional().describe('Sizes of the two steps after it.'),
        verified: count.exactOptional().describe('Acts that were verified so far.'),
        judged: count.exactOptional().describe('Acts that were judged so far.'),
        matched: count.exactOptional().describe('Entries of the group.'),
        held: denial.exactOptional().describe('Why the group waits.'),
      }),
    )
    .exactOptional()
    .describe('The groups of the plan, all of them, in any order.'),
  requests: z
    .array(
      z.strictObject({
        operation: z
          .enum(['resume-workflow-dlq', 'delete-workflow-dlq', 'delete-dlq', 'update-budget'])
          .describe('The operation.'),
        dlqIds: z.array(text).exactOptional().describe('Ids that it names.'),
        overrides: z
          .strictObject({
            retries: count.exactOptional().describe('Retries of each step.'),
            labels: z.array(text).exactOptional().describe('Labels; the stamp comes first: opsd:test:*:1.'),
            flowControl: z
              .strictObject({
                key: text.exactOptional().describe('Flow-control key.'),
                parallelism: count.exactOptional().describe('Runs at the same time.'),
                rate: count.exactOptional().describe('Steps in a period.'),
                period: z.number().exactOptional().describe('Seconds.'),
              })
              .exactOptional()
              .describe('Flow control that it asks for.'),
          })
          .exactOptional()
          .describe('What a resume changes, all of it.'),
        filter: z.record(z.string(), z.unknown()).exactOptional().describe('What a prune asks for, all of it.'),
        dollars: count.exactOptional().describe('The budget that it sets.'),
      }),
    )
    .exactOptional()
    .describe('The requests that were sent, all of them, in order.'),
  requestCount: count.exactOptional().describe('How many requests were sent.'),
  notes: z.array(text).exactOptional().describe('Sentences of the plan; each must be there.'),
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
      .describe('Time goes on, and what became of earlier acts is learned.'),
    entries: z.array(entry).exactOptional().describe('More entries of the workflow DLQ.'),
    remove: z.array(text).exactOptional().describe('Entries that go, by id.'),
    deadLetters: z.array(deadLetter).exactOptional().describe('More dead messages.'),
    facts: facts.exactOptional().describe('Facts that take the place of those before, key by key.'),
    failAgain: z
      .array(text)
      .exactOptional()
      .describe('Resumed entries whose runs fail again: they are listed anew, with -again behind their ids.'),
    pause: text.exactOptional().describe('A person pauses everything, for this reason.'),
    unpause: text.exactOptional().describe('A person lifts every pause, for this reason.'),
    approve: text.exactOptional().describe('A person approves the waiting plan of this policy.'),
    answers: z
      .array(z.enum(SERVICE_ANSWERS))
      .exactOptional()
      .describe('How the next requests are answered; good when there are no more.'),
    plan: text.exactOptional().describe('This policy decides, and nothing is done.'),
    run: text.exactOptional().describe('This policy runs.'),
    expect: expected
      .exactOptional()
      .describe('What the plan or the run is expected to be; what is not named may be anything.'),
  })
  .superRefine((value, context) => {
    if (value.plan !== undefined && value.run !== undefined) {
      const message = 'plan and run exclude each other; write two steps';
      context.addIssue({ code: 'custom', path: ['plan'], message });
    }
    if (value.expect !== undefined && value.plan === undefined && value.run === undefined) {
      const message = 'nothing decides in this step; add plan or run';
      context.addIssue({ code: 'custom', path: ['expect'], message });
    }
    for (const key of ['outcome', 'acted', 'requests', 'requestCount'] as const) {
      if (value.expect?.[key] === undefined || value.run !== undefined || value.plan === undefined) continue;
      const message = 'a plan sends nothing and has no outcome; write run in place of plan';
      context.addIssue({ code: 'custom', path: ['expect', key], message });
    }
    if (KEYS_THAT_DO.every((key) => value[key] === undefined)) {
      const message = `nothing happens in this step; add one of ${KEYS_THAT_DO.join(', ')}`;
      context.addIssue({ code: 'custom', message });
    }
  }, always);

const testCase = z.strictObject({
  name: text.describe('What is tested.'),
  now: z.iso
    .datetime({ offset: true, error: INSTANT })
    .prefault('2026-03-02T10:00:00Z')
    .transform((written) => Date.parse(written))
    .describe('The time at its beginning; without it a Monday morning.'),
  mode: z
    .enum(POLICY_MODES)
    .exactOptional()
    .describe('Mode that the policies have in this test, whatever is written in them.'),
  engine: engineSettings.prefault({}).describe('Settings of the engine.'),
  account: z
    .strictObject({
      mode: z.enum(POLICY_MODES).default('enforce').describe('Ceiling for the mode of its policies.'),
      dlqRetention: durationSetting({ min: '1m' }).exactOptional().describe('How long the DLQ keeps an entry.'),
      priceUsdPer100kMessages: z.number().positive().exactOptional().describe('Dollars for 100,000 messages.'),
    })
    .prefault({})
    .describe('What the configuration would say of the account; the policies’ accounts are all this one.'),
  given: given.prefault({}).describe('What there is at the beginning.'),
  steps: z.array(step).min(1).describe('What happens, one after the other; the keys of a step in the order above.'),
});

export const policyTestSettings = z
  .strictObject({
    policies: z.array(policySettings).default([]).describe('Policies, written here.'),
    policyFiles: z
      .array(text)
      .default([])
      .describe('Files with policies, relative to this one; * may stand in the last part of a path.'),
    tests: z.array(testCase).min(1).describe('The tests; each begins with an empty ledger.'),
  })
  .superRefine((file, context) => {
    if ((file.policies?.length ?? 0) > 0 || (file.policyFiles?.length ?? 0) > 0) return;
    const message = 'nothing says which policies are tested; add policyFiles or policies';
    context.addIssue({ code: 'custom', message, params: { missing: ['policyFiles', 'policies'] } });
  }, always);

type PolicyTestFile = z.output<typeof policyTestSettings>;
export type PolicyTest = PolicyTestFile['tests'][number];
export type TestStep = PolicyTest['steps'][number];
export type TestFacts = PolicyTest['given']['facts'];
export type TestEntry = PolicyTest['given']['entries'][number];
export type Expected = NonNullable<TestStep['expect']>;
export type ServiceAnswer = (typeof SERVICE_ANSWERS)[number];
