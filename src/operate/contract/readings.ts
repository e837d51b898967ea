/** Views of readings: flow control, canaries, and spend. Field names are stable. */
import { z } from 'zod';
import {
  CANARY_PHASES,
  CANARY_SIZES,
  CANARY_VERDICTS,
  type CanaryRound,
  type CanaryState,
} from '#foundation/domain/canary.ts';
import { CONSTRAINTS } from '#foundation/domain/flow-control.ts';
import { BUDGET_ORIGINS } from '#foundation/domain/known-budget.ts';
import { textParameter } from './parameters.ts';
import { route } from './route.ts';
import * as s from './schema.ts';
import { source } from './status.ts';

const query = z.strictObject({ account: textParameter('Only this account.') });

const flowControlKey = s.named(
  'FlowControlKey',
  s.object({
    account: s.text(),
    flowControlKey: s.text(),
    at: s.time('Time of the reading.'),
    isDiscovered: s.opt(s.flag('True if the key was found in entries; absent if it is configured.')),
    waitListSize: s.count('Waiting messages.'),
    parallelismMax: s.opt(s.integer()),
    parallelismCount: s.opt(s.integer()),
    rateMax: s.opt(s.integer()),
    rateCount: s.opt(s.integer()),
    ratePeriod: s.opt(s.integer('Seconds.')),
    ratePeriodStart: s.opt(s.time()),
    isPinnedParallelism: s.opt(s.flag()),
    isPinnedRate: s.opt(s.flag()),
    isPaused: s.opt(s.flag()),
    // More than 1 if a limit was lowered. Absent if the key has no limit, or the service did not return its use.
    saturation: s.opt(s.number('Used share of the tighter limit.')),
    constraint: s.opt(s.choice(CONSTRAINTS, 'What keeps messages waiting.')),
    advice: s.opt(s.text('What would end the waiting; absent if the facts support nothing.')),
    // Oldest first. A bucket without a reading is absent.
    history: s.listOf(s.object({ at: s.time('Start of the bucket.'), waitListSize: s.count('Highest reading.') })),
  }),
);

export const listFlowControl = route('GET /api/v1/flow-control', {
  id: 'listFlowControl',
  summary: 'Flow-control keys by saturation',
  role: 'viewer',
  query,
  answer: s.object({
    at: s.time(),
    bucketMs: s.integer('Length of a bucket of the history.'),
    // Keys of fresh readings: paused keys with waiting messages first, then by saturation, then by waiting messages.
    keys: s.listOf(flowControlKey),
    // Collector of each account. Keys of a collector without fresh data are not in `keys`.
    sources: s.listOf(source),
  }),
  errors: [404],
});
export type FlowControlView = s.Infer<typeof listFlowControl.answer>;
export type FlowControlKeyView = FlowControlView['keys'][number];

const canaryRound = s.named(
  'CanaryRound',
  s.objectOf<CanaryRound>({
    id: s.text('Id of the message in the log of the daemon.'),
    size: s.choice(CANARY_SIZES),
    bytes: s.count('Size of the body.'),
    startedAt: s.time('Time of the publish request.'),
    phases: s.mapOf(s.time(), `Time of each phase that is known: ${CANARY_PHASES.join(', ')}.`),
    duplicates: s.count('Arrivals after the first one.'),
    messageId: s.opt(s.text('Id at the service; absent if unknown.')),
    warmUp: s.flag('True for the first message after a start, which does not count.'),
    result: s.opt(
      s.object(
        { verdict: s.choice(CANARY_VERDICTS), reason: s.text(), at: s.time() },
        'Absent while the message is in flight.',
      ),
    ),
  }),
);

const canary = s.named(
  'Canary',
  s.objectOf<CanaryState & { readonly next?: string }>({
    account: s.text(),
    canary: s.text('Name of the canary.'),
    verdict: s.choice(CANARY_VERDICTS),
    reason: s.text('One sentence without a period.'),
    next: s.opt(s.text('Next step for this verdict; absent if none is needed.')),
    since: s.time('Time since which the canary has this verdict.'),
    lastSuccessAt: s.opt(s.time('Arrival of the last message with the verdict ok.')),
    // Absent: messages go directly to the URL of the hooks listener.
    via: s.opt(
      s.oneOf(
        s.object({ flowControlKey: s.text() }),
        s.object({ urlGroup: s.text() }),
        s.object({ queue: s.text() }),
        s.object({ workflow: s.flag('True.') }),
      ),
    ),
    every: s.span('Interval of the messages.'),
    timeout: s.span('Time until a message must have arrived and been reported.'),
    inFlight: s.count('Messages without a verdict.'),
    rounds: s.listOf(canaryRound, 'Last messages, newest first.'),
  }),
);

export const listCanaries = route('GET /api/v1/canaries', {
  id: 'listCanaries',
  summary: 'Canaries with their verdicts and last messages, failing ones first',
  role: 'viewer',
  query,
  answer: s.object({ at: s.time(), canaries: s.listOf(canary) }),
  errors: [404],
});
export type CanariesView = s.Infer<typeof listCanaries.answer>;
export type CanaryView = CanariesView['canaries'][number];

/** US dollars per month. */
const amount = s.orNull(s.dollars('Null if unlimited.'));

const amounts = (description: string) => s.listOf(s.orNull(s.dollars()), description);

/** Amounts are US dollars. An absent amount is unknown. */
const accountSpend = s.named(
  'AccountSpend',
  s.object({
    account: s.text(),
    // Time of the reading; absent without fresh statistics.
    readAt: s.opt(s.time()),
    monthUsd: s.opt(s.dollars('Billed in the month so far.')),
    last24hUsd: s.opt(s.dollars()),
    dayBeforeUsd: s.opt(s.dollars()),
    medianDayUsd: s.opt(s.dollars()),
    paceUsd: s.opt(s.dollars('Per day.')),
    forecastUsd: s.opt(s.dollars('Forecast for the end of the month.')),
    exhaustedAt: s.opt(s.time('Time when the known budget is exhausted, if that is in this month.')),
    // Absent if the budget is unknown: no operation of the service reads it.
    budget: s.opt(
      s.object({
        knownUsd: amount,
        // `configuration` if an operator asserted it, `ledger` if the daemon set it last.
        origin: s.choice(BUDGET_ORIGINS),
        assertedAt: s.opt(s.time()),
        isOutdated: s.flag('True if it is too old to act on.'),
      }),
    ),
    // Whole days and the current one (UTC), oldest first; none of the future.
    days: s.listOf(s.object({ at: s.time(), usd: s.opt(s.dollars()), requests: s.opt(s.number()) })),
    // Absent without a fresh amount of the month. Values are those at the end of each day (UTC), and now for today.
    month: s.opt(
      s.object({
        from: s.time('Start of the month.'),
        spentUsd: amounts('Billed in the month up to today. Null after it, and if a day is unknown.'),
        forecastUsd: amounts('From today on. Null before it, and without a pace.'),
        lowUsd: amounts('With the lowest of the last seven whole days. Null if fewer than three are known.'),
        highUsd: amounts('With the highest of these days.'),
      }),
    ),
    // Changes that may have had an effect, newest first, at most 100.
    raises: s.listOf(
      s.object({
        at: s.time(),
        fromUsd: amount,
        toUsd: amount,
        outcome: s.opt(s.text()),
        isByOperator: s.opt(s.flag('True if an operator set the amount.')),
      }),
    ),
    // Configured dimension of the log, and its entries by value, highest number first. They have no price.
    dimension: s.opt(s.text()),
    byValue: s.listOf(s.object({ value: s.text(), states: s.mapOf(s.count()) })),
    // Collector of the statistics; absent if the account has no management API.
    source: s.opt(source),
  }),
);
export type AccountSpend = s.Infer<typeof accountSpend>;
export type SpendDay = AccountSpend['days'][number];
export type BudgetView = NonNullable<AccountSpend['budget']>;
export type RaiseView = AccountSpend['raises'][number];
/** Log entries of one value of the configured dimension, since the store began to count. */
export type ValueCount = AccountSpend['byValue'][number];

export const getSpend = route('GET /api/v1/spend', {
  id: 'getSpend',
  summary: 'Budget, forecast, days and raises of each account',
  role: 'viewer',
  query,
  answer: s.object({ at: s.time(), accounts: s.listOf(accountSpend) }),
  errors: [404, 503],
});
export type SpendView = s.Infer<typeof getSpend.answer>;
