/**
 * Requests of the engine, for any accepted policy and any responses, garbage included: nothing without ids, no
 * unbounded prune, no budget that is not a raise below its ceiling.
 */
import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ActionType } from '#foundation/domain/plan.ts';
import type { EngineFacts } from '#automate/engine/facts/engine-deps.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import type { Policy } from '#automate/policies/policy.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { httpSink, type HttpSink, type SunkRequest } from '../../support/http-sink.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { ODD_TEXTS } from '../../support/odd-texts.ts';
import { policyOf } from '../../support/policies.ts';
import { testClient } from '../../support/test-emulator.ts';
import { brokenRules } from '../../support/wire-rules.ts';
import { casesOf } from '../../support/property-cases.ts';
import { HOUR, NEVER, NOTHING_KNOWN, world } from './world.ts';

type Mapping = Readonly<Record<string, unknown>>;

const weird = fc.constantFrom(...ODD_TEXTS);
const plain = fc.constantFrom('billing', 'a b', 'é漢', 'tenant:14', 'x&y=z', 'https://a.example.com/w?x=1', 'k');
const text = fc.oneof(
  { weight: 3, arbitrary: plain },
  { weight: 1, arbitrary: weird },
  { weight: 1, arbitrary: fc.string() },
);
const texts = fc.array(text, { minLength: 1, maxLength: 3 });
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const within = fc.constantFrom('1m', '1h', '48h', '30d');
const before = fc.constantFrom('1s', '5m', '1h', '14d', '400d');

const runSelect = fc.record({
  anyLabel: optional(texts),
  workflowUrl: optional(texts),
  flowControlKey: optional(texts),
  callerIp: optional(texts),
  failedWithin: optional(within),
  failedBefore: optional(before),
});
const deadLetterSelect = {
  anyLabel: optional(texts),
  url: optional(texts),
  topicName: optional(texts),
  responseStatus: optional(fc.array(fc.integer({ min: 90, max: 610 }), { minLength: 1, maxLength: 3 })),
  failedWithin: optional(within),
};
const caps = {
  maxPerRun: optional(fc.integer({ min: 0, max: 300 })),
  maxPerHour: optional(fc.integer({ min: 1, max: 500 })),
};
const runWhere = fc.constantFrom('entry.cause == "transient"', 'entry.attempts >= 0', 'size(entry.labels) > 0');

const SETTINGS: Readonly<Record<ActionType, fc.Arbitrary<Mapping>>> = {
  'workflow-dlq.resume': fc.record({
    select: runSelect,
    where: runWhere,
    action: fc.record({
      retries: optional(fc.nat(12)),
      flowControlIfAbsent: optional(fc.record({ enabled: fc.boolean(), key: optional(text), parallelism: fc.nat(20) })),
    }),
    limits: fc.record(caps),
    ramp: fc.record({ start: fc.integer({ min: 1, max: 30 }), settle: fc.constant('1s') }),
  }),
  'workflow-dlq.delete': fc.record({
    select: runSelect,
    where: runWhere,
    action: fc.record({
      archive: fc.constant({ dir: '/nonexistent', require: false }),
      grace: fc.constant('1h'),
    }),
    limits: fc.record({ ...caps, maxMatchedShare: fc.constant(1), probation: fc.constant({ runs: 1 }) }),
  }),
  'message-dlq.republish': fc.record({
    select: fc.record({ ...deadLetterSelect, failedBefore: optional(before) }),
    where: fc.constantFrom('entry.cause == "transient"', 'size(entry.labels) >= 0'),
    action: fc.record({ retries: optional(fc.nat(12)) }),
    limits: fc.record(caps),
    ramp: fc.record({ start: fc.integer({ min: 1, max: 30 }), settle: fc.constant('1s') }),
  }),
  'message-dlq.delete': fc.record({
    select: fc.record({ ...deadLetterSelect, failedBefore: optional(before) }),
    where: fc.constantFrom('entry.cause == "permanent"', 'size(entry.labels) >= 0'),
    limits: fc.record({ ...caps, maxMatchedShare: fc.constant(1), probation: fc.constant({ runs: 1 }) }),
  }),
  'message-dlq.prune': fc.record({
    select: fc.record({
      ...deadLetterSelect,
      queueName: optional(texts),
      callerIp: optional(texts),
      failedBefore: fc.oneof(before, fc.constant(undefined)),
      everything: optional(fc.constant(true)),
    }),
    limits: fc.record({ ...caps, probation: fc.constant({ runs: 1 }) }),
  }),
  'budget.raise': fc.record({
    where: fc.constantFrom('spend.monthUsd >= 0.0', 'budget.knownUsd > 0.0'),
    action: fc.record({
      step: fc.oneof(
        fc.record({
          percent: fc.double({ min: 0.01, max: 120, noNaN: true }),
          roundUpTo: fc.integer({ min: 0, max: 1_200 }),
        }),
        fc.record({ usd: fc.integer({ min: 0, max: 12_000 }), percent: fc.constant(undefined) }),
      ),
      ceilingUsd: fc.integer({ min: 0, max: 12_000 }),
      confirm: fc.constant({ readings: 2, apart: '1m' }),
    }),
    limits: fc.record({ minInterval: fc.constant('1h'), maxRaisePerMonthUsd: fc.constantFrom(1, 150, 9_980) }),
  }),
};

/** A policy that loads; invalid ones are skipped. */
const policiesOf = (type: ActionType): fc.Arbitrary<Policy> =>
  SETTINGS[type]
    .map((over): Policy | undefined => {
      try {
        return policyOf(type, { mode: 'enforce', ...without(over) });
      } catch {
        return undefined;
      }
    })
    .filter((policy): policy is Policy => policy !== undefined);

/** Keys that are undefined are not written. */
function without(over: Mapping): Mapping {
  // Removes the key of the base that excludes dollars.
  const entries = Object.entries(over).filter(([key, value]) => value !== undefined || key === 'percent');
  return Object.fromEntries(entries.map(([key, value]) => [key, isMapping(value) ? without(value) : value]));
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Answers {
  readonly rows: readonly Mapping[];
  /** True if the rows match the filter of the request. */
  readonly honest: boolean;
  readonly listing: 'good' | 'garbage' | 'refused';
  readonly garbage: string;
  readonly status: number;
  readonly body: 'good' | 'more' | 'garbage';
  readonly known: number;
  readonly spend: { readonly monthUsd: number; readonly hoursLeft: number };
}

const amount = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 20, max: 10_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, -5, 0.5, 19, 99.5, 10_000, 10_001, Number.NaN, Infinity) },
);
const rowsOf = (id: fc.Arbitrary<string>, createdAt: fc.Arbitrary<unknown>): fc.Arbitrary<readonly Mapping[]> =>
  fc.array(
    fc.record({
      dlqId: id,
      workflowRunId: id,
      workflowUrl: id,
      ageMs: fc.constantFrom(0, 60_000, 2 * HOUR, 20 * 24 * HOUR),
      labels: texts,
      responseStatus: fc.constantFrom(0, 404, 422, 500, 503),
      createdAt,
    }),
    { maxLength: 6 },
  );
const answers: fc.Arbitrary<Answers> = fc.record({
  rows: fc.oneof(
    { weight: 2, arbitrary: rowsOf(plain, fc.constant(undefined)) },
    { weight: 1, arbitrary: rowsOf(text, fc.constantFrom(undefined, undefined, 0, -1, 'x', null)) },
  ),
  honest: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  listing: fc.oneof(
    { weight: 6, arbitrary: fc.constant('good' as const) },
    { weight: 1, arbitrary: fc.constantFrom('garbage', 'refused') },
  ),
  garbage: fc.oneof(fc.json(), fc.constantFrom('', '{"messages":null}', '{"messages":[{}]}', '{"deleted":-1}', 'OK')),
  status: fc.oneof(
    { weight: 4, arbitrary: fc.constant(200) },
    { weight: 1, arbitrary: fc.constantFrom(204, 301, 400, 404, 429, 500, 503) },
  ),
  body: fc.constantFrom('good', 'good', 'more', 'garbage'),
  known: amount,
  spend: fc.record({ monthUsd: fc.constantFrom(0, 15, 100, 9_000), hoursLeft: fc.constantFrom(0, 1, 10, 1_000) }),
});

/** Service of one case: its content does not change. Its labels and ids are those of the first request. */
class Service {
  readonly #given: Answers;
  readonly #startedAt: number;
  readonly #asked = new Map<string, string[]>();

  constructor(given: Answers, startedAt: number) {
    this.#given = given;
    this.#startedAt = startedAt;
  }

  answer(request: SunkRequest, now: number, response: ServerResponse): void {
    const { listing, status, body, garbage } = this.#given;
    const isRead = request.method === 'GET';
    const refusal = listing === 'refused' ? 500 : 200;
    response.writeHead(isRead ? refusal : status, {
      date: new Date(now).toUTCString(),
      'content-type': 'application/json',
    });
    const isGarbage = isRead ? listing === 'garbage' : body === 'garbage';
    const query = new URL(request.url, 'http://service').searchParams;
    response.end(isGarbage ? garbage : JSON.stringify(isRead ? this.#page(query) : this.#done(request, query)));
  }

  #page(query: URLSearchParams): unknown {
    const { rows, honest } = this.#given;
    for (const name of ['label', 'workflowUrl', 'flowControlKey', 'callerIp']) {
      if (query.has(name)) this.#asked.set(name, query.getAll(name));
    }
    const [label, [workflowUrl] = [], [flowControlKey] = [], [callerIP] = []] = [
      'label',
      'workflowUrl',
      'flowControlKey',
      'callerIp',
    ].map((name) => this.#asked.get(name));
    const [from, to] = [Number(query.get('fromDate') ?? 0), Number(query.get('toDate') ?? Infinity)];
    const as = Object.entries({ labels: label, workflowUrl, flowControlKey, callerIP });
    const told = Object.fromEntries(as.filter(([, value]) => value !== undefined));
    const messages = rows
      .map(({ ageMs, createdAt, ...row }) => ({
        ...row,
        createdAt: createdAt ?? this.#startedAt - Number(ageMs),
        ...(honest && told),
      }))
      .filter(({ createdAt: at }) => !honest || typeof at !== 'number' || (at >= from && at <= to));
    return { messages };
  }

  #done({ method, url }: SunkRequest, query: URLSearchParams): unknown {
    const ids = query.getAll('dlqIds');
    if (method === 'PATCH') return 'OK';
    if (method === 'DELETE') return { deleted: ids.length + (this.#given.body === 'more' ? 1_000 : 0) };
    return url.includes('resume') ? { workflowRuns: ids.map((id) => ({ workflowRunId: `run-${id}` })) } : {};
  }
}

/** Runs the policy over time. Returns the requests, each with its time of arrival. */
async function written(sink: HttpSink, policy: Policy, given: Answers) {
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    after: (ms, run) => systemClock.after(ms < 5_000 ? 0 : ms, run),
  };
  const service = new Service(given, clock.now());
  const writes: { readonly request: SunkRequest; readonly now: number }[] = [];
  sink.requests.length = 0;
  sink.answerWith((request, response) => {
    if (request.method !== 'GET') writes.push({ request, now: clock.now() });
    service.answer(request, clock.now(), response);
  });
  const client = testClient(sink.url, { account: 'main', clock });
  const ledger = memoryLedger();
  for (const { dlqId, labels, responseStatus, ageMs } of given.rows) {
    const learnedAt = clock.now() - Number(ageMs);
    await ledger.noteDeadLetter({
      account: 'main',
      dlqId: String(dlqId),
      messageId: 'm',
      learnedAt,
      createdAt: learnedAt,
      url: 'https://app.example.com/hook',
      status: Number(responseStatus),
      labels: labels as string[],
    });
  }
  try {
    const known = { knownUsd: given.known, origin: 'configuration', maxAgeMs: 30 * 24 * HOUR } as const;
    const budget: EngineFacts['budget'] = async () => ({
      changes: await ledger.budgetChanges('main', 0),
      spend: { ...given.spend, last24hUsd: 1, medianDayUsd: 1, fresh: true, at: clock.now() },
      known: { ...known, assertedAt: clock.now() - HOUR },
    });
    const { engine } = world({
      policies: [policy],
      guards: GUARDS,
      ledger,
      deps: {
        accounts: new Map([['main', { mode: 'enforce' }]]),
        actions: actionsOver(client, {
          account: 'main',
          clock,
          bodies: async (...place) => ({ kept: keptOf(...place) }),
        }),
        bodies: { states: async (_account, ids) => new Map(ids.map((id) => [id, { size: 2, until: Infinity }])) },
        facts: { ...NOTHING_KNOWN, budget },
        settleMs: 0,
        clock,
      },
    });
    for (let turn = 0; turn < 4; turn++) {
      const { outcome, detail } = await engine.run(policy.name, NEVER);
      expect(outcome, detail).not.toBe('failed');
      aheadMs += 61 * 60_000;
      await engine.settle(NEVER);
    }
  } finally {
    await client[Symbol.asyncDispose]();
  }
  return writes;
}

function keptOf(account: string, dlqId: string) {
  const message = { url: 'https://app.example.com/hook', method: 'POST', headers: {}, body: Buffer.from('{}') };
  return { ...message, account, dlqId, messageId: 'm', at: 0 };
}

const ACTIONS = Object.keys(SETTINGS) as ActionType[];

test.each(ACTIONS)('%s keeps the rules of the wire, with any configuration and any response', async (type) => {
  const sink = await httpSink();
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(policiesOf(type), answers, async (policy, given) => {
      const writes = await written(sink, policy, given);
      seen += writes.length;
      const { action } = policy;
      const facts = action.type === 'budget.raise' ? { knownBudgetUsd: given.known } : {};
      expect(writes.flatMap(({ request, now }) => brokenRules(request, { now, ...facts }))).toEqual([]);
      if (action.type !== 'budget.raise') return;
      for (const { request } of writes) {
        const { budget } = JSON.parse(request.body.toString()) as { budget: number };
        expect(budget).toBeLessThanOrEqual(action.ceilingUsd);
      }
    }),
    { numRuns: casesOf(60) },
  );
  // Requests were sent, so the rules above were tested.
  expect(seen).toBeGreaterThan(0);
});
