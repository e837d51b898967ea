/**
 * Requests of actions, for any proposal and any response: no resume or delete of workflow runs without ids, no
 * unbounded prune, no budget that is not a raise. At most one request is sent, and its result is what the response
 * proves.
 */
import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ActionRequest, ActResult } from '#automate/actions/action.ts';
import { describeRequest } from '#automate/actions/requests.ts';
import { ACTION_TYPES, type ActionType, type Proposal } from '#foundation/domain/plan.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { httpSink, type HttpSink } from '../../support/http-sink.ts';
import { ODD_TEXTS } from '../../support/odd-texts.ts';
import { testClient } from '../../support/test-emulator.ts';
import { brokenRules } from '../../support/wire-rules.ts';

const NOW = Date.UTC(2025, 10, 20, 12);
const HOUR = 3_600_000;

const weird = fc.constantFrom(...ODD_TEXTS);
const text = fc.oneof(weird, fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string());
const texts = fc.array(text, { maxLength: 3 });
const number = fc.oneof(
  fc.integer({ min: -5, max: 110 }),
  fc.integer({ min: 0, max: 12_000 }),
  fc.double(),
  fc.constantFrom(0, -0, 1, 19, 20, 100, 101, 10_000, 10_001, Number.NaN, Infinity, -Infinity, 2 ** 53),
);
const time = fc.oneof(
  fc.integer({ min: NOW - 30 * 24 * HOUR, max: NOW - HOUR }),
  fc.integer({ min: NOW - 2 * HOUR, max: NOW + HOUR }),
  fc.constantFrom(NOW, NOW - HOUR, NOW - HOUR + 1, NOW + 1, Math.floor(NOW / 1_000)),
  number,
);

const base = { policy: text, account: fc.constant('production'), target: text, group: text, items: number };
const run = { ...base, dlqId: text, workflowRunId: text, workflowUrl: text, lineage: text, failedAt: time };
const more = { labels: texts, cause: text };

/** Proposals of an action, with some of the optional members. */
function proposalsOf<A extends ActionType, N, O>(action: A, needed: Arbitraries<N>, optional = {} as Arbitraries<O>) {
  const some = fc.record(optional, { requiredKeys: [] });
  return fc.tuple(fc.record(needed), some).map(([all, few]) => ({ action, ...all, ...few }));
}

type Arbitraries<T> = { readonly [K in keyof T]: fc.Arbitrary<T[K]> };

const resume = proposalsOf(
  'workflow-dlq.resume',
  { ...run, ...more, attempt: number },
  {
    flowControlKey: text,
    retries: number,
    flowControl: fc.record({ key: text, parallelism: number, rate: number, period: number }),
  },
);
const workflowDelete = proposalsOf('workflow-dlq.delete', { ...run, ...more });
const messageDelete = proposalsOf('message-dlq.delete', { ...base, dlqId: text, messageId: text, failedAt: time });
const republish = proposalsOf(
  'message-dlq.republish',
  { ...base, ...more, dlqId: text, messageId: text, url: text, lineage: text, failedAt: time },
  { attempt: number, retries: number, size: number },
);
const budget = proposalsOf('budget.raise', { ...base, fromUsd: number, toUsd: number });
const filter = fc.record(
  {
    toDate: time,
    fromDate: time,
    url: texts,
    topicName: texts,
    scheduleId: texts,
    queueName: texts,
    label: texts,
    flowControlKey: texts,
    callerIp: texts,
    responseStatus: fc.array(number, { maxLength: 3 }),
    // Values that no type allows.
    dlqIds: texts,
    labels: texts,
  },
  { requiredKeys: ['toDate'] },
);
const prune = proposalsOf('message-dlq.prune', { ...base, page: number, filter });

/** Valid text, so that most runs reach the wire. */
const plainText = fc.stringMatching(/^[\w:;=&?%#./ é漢-]{1,20}$/).filter((value) => value.trim() !== '');
const sendable = fc.oneof(
  fc.tuple(resume, plainText).map(([proposal, dlqId]) => ({
    ...proposal,
    dlqId,
    lineage: 'l',
    attempt: 1,
    labels: ['a'],
    retries: 1,
    flowControl: { key: 'k', parallelism: 1 },
  })),
  fc.tuple(workflowDelete, plainText).map(([proposal, dlqId]) => ({ ...proposal, dlqId })),
  fc.tuple(republish, plainText).map(([proposal, dlqId]) => ({
    ...proposal,
    dlqId,
    lineage: 'l',
    attempt: 1,
    labels: ['a'],
    retries: 1,
  })),
  fc.tuple(messageDelete, plainText).map(([proposal, dlqId]) => ({ ...proposal, dlqId })),
  fc
    .record({
      proposal: prune,
      items: fc.integer({ min: 1, max: 100 }),
      age: fc.integer({ min: HOUR, max: 90 * 24 * HOUR }),
      labels: fc.array(plainText, { minLength: 1, maxLength: 3 }),
    })
    .map(({ proposal, items, age, labels }) => ({ ...proposal, items, filter: { toDate: NOW - age, label: labels } })),
  fc.tuple(budget, fc.integer({ min: 20, max: 9_999 }), fc.nat(400)).map(([proposal, fromUsd, step]) => ({
    ...proposal,
    fromUsd,
    toUsd: fromUsd + step,
  })),
);

const proposals = fc.oneof(resume, workflowDelete, republish, messageDelete, prune, budget, sendable, sendable);

/** Requests that no action creates: the second check must hold alone. */
const requests = fc.record(
  {
    operation: fc.constantFrom('resume-workflow-dlq', 'delete-workflow-dlq', 'delete-dlq', 'update-budget', 'publish'),
    account: fc.constantFrom('production', 'nobody'),
    dlqIds: fc.oneof(texts, text, fc.constant(null)),
    overrides: fc.constantFrom({}, { labels: [] }, { labels: ['a'] }),
    filter: fc.oneof(filter, fc.record({ toDate: time, count: number, label: texts })),
    dollars: number,
    aboveUsd: number,
  },
  { requiredKeys: ['operation', 'account'] },
);

interface Answered {
  readonly status: number;
  readonly body: string;
  /** Transfer of the response: whole, cut after its headers, or none. */
  readonly way: 'whole' | 'cut' | 'reset';
}

const bodies = fc.oneof(
  fc.string(),
  fc.json(),
  number.map((deleted) => JSON.stringify({ deleted })),
  fc.nat(5_000).map((deleted) => JSON.stringify({ deleted, cursor: 'more' })),
  fc
    .array(text, { maxLength: 3 })
    .map((ids) => JSON.stringify({ workflowRuns: ids.map((workflowRunId) => ({ workflowRunId })), cursor: '' })),
  fc.constantFrom(
    '',
    'OK',
    '"OK"',
    '<html>',
    '{"deleted":',
    '{"deleted":-1}',
    '{"deleted":"7"}',
    '{"workflowRuns":null}',
  ),
);
const answers: fc.Arbitrary<Answered> = fc.record({
  status: fc.oneof(
    { weight: 3, arbitrary: fc.constant(200) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(201, 204, 301, 307, 400, 401, 403, 404, 408, 422, 425, 429, 499, 500, 503, 504),
    },
    { weight: 1, arbitrary: fc.integer({ min: 200, max: 599 }) },
  ),
  body: bodies,
  way: fc.constantFrom('whole', 'whole', 'whole', 'cut', 'reset'),
});

function answerWith(sink: HttpSink, { status, body, way }: Answered): void {
  sink.answerWith((request, response: ServerResponse) => {
    if (way === 'reset') {
      response.destroy();
      return;
    }
    const payload = Buffer.from(body);
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': payload.length + (way === 'cut' ? 10 : 0),
      // A client that follows this redirect sends a write twice.
      ...(status >= 300 && status < 400 && { location: request.url }),
    });
    response.write(payload, () => (way === 'cut' ? response.destroy() : response.end()));
  });
}

const KEPT = {
  account: 'production',
  dlqId: 'd',
  messageId: 'm',
  url: 'https://example.com/hook?key=1',
  method: 'POST',
  headers: {},
  body: Buffer.from('body'),
  at: NOW,
};

/** Returns the single request, if any, and the result. */
async function acted(
  sink: HttpSink,
  request: ActionRequest,
): Promise<{ readonly sent: HttpSink['requests']; readonly result: ActResult }> {
  const client = testClient(sink.url);
  try {
    const actions = actionsOver(client, { clock: new ManualClock(NOW), bodies: async () => ({ kept: KEPT }) });
    sink.requests.length = 0;
    const result = await actions.act(request);
    return { sent: [...sink.requests], result };
  } finally {
    await client[Symbol.asyncDispose]();
  }
}

function check(request: ActionRequest, answer: Answered, { sent, result }: Awaited<ReturnType<typeof acted>>): void {
  const knownBudgetUsd = 'aboveUsd' in request ? request.aboveUsd : undefined;
  const facts = { now: NOW, ...(knownBudgetUsd !== undefined && { knownBudgetUsd }) };
  expect(sent.flatMap((one) => brokenRules(one, facts))).toEqual([]);
  expect(sent.length, 'requests for one act').toBeLessThanOrEqual(1);
  const { status, way } = answer;
  const isRefusal = status >= 400 && status < 500 && ![408, 425, 499].includes(status);
  if (sent.length === 0) expect(result.outcome).toBe('rejected');
  else if (way !== 'reset' && isRefusal) expect(result.outcome).toBe('rejected');
  else if (way === 'reset' || status < 200 || status > 299) expect(result.outcome).toBe('unknown');
  else expect(result.outcome).not.toBe('rejected');
  if (result.outcome !== 'accepted') {
    expect(result.detail).not.toBe('');
    return;
  }
  const said: unknown = request.operation === 'update-budget' ? 'OK' : JSON.parse(answer.body);
  const { deleted, workflowRuns } = said as { deleted?: unknown; workflowRuns?: unknown[] };
  if (request.operation === 'publish') expect(result.done).toBe(1);
  else if (request.operation === 'resume-workflow-dlq') expect(result.done).toBe(workflowRuns!.length);
  else if (request.operation !== 'update-budget') expect(result.done).toBe(Number(deleted));
}

describe('for any response', () => {
  test('any proposal keeps the rules of the wire, is sent once, and arrives unchanged', async () => {
    const sink = await httpSink();
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(proposals, answers, async (made, answer) => {
        const proposal = made as unknown as Proposal;
        answerWith(sink, answer);
        const request = describeRequest(proposal, { instance: 'here' });
        const outcome = await acted(sink, request);
        check(request, answer, outcome);
        const [sent] = outcome.sent;
        if (sent === undefined) return;
        reached.add(proposal.action);
        if (proposal.action === 'message-dlq.republish') {
          expect([sent.url, sent.body.toString()]).toEqual([`/v2/publish/${KEPT.url}`, 'body']);
          return;
        }
        expect(meant(sent.url)).toEqual(wanted(proposal));
        if (proposal.action === 'budget.raise')
          expect(JSON.parse(sent.body.toString())).toEqual({ budget: proposal.toUsd });
      }),
      { numRuns: 600 },
    );
    // Each action was sent at least once, so the rules above were tested.
    expect(reached).toEqual(new Set(ACTION_TYPES));
  });

  test('any request, also one that no action makes, keeps the rules of the wire', async () => {
    const sink = await httpSink();
    const outcomes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(requests, answers, async (made, answer) => {
        const request = made as unknown as ActionRequest;
        answerWith(sink, answer);
        const outcome = await acted(sink, request);
        check(request, answer, outcome);
        outcomes.add(outcome.result.outcome);
      }),
      { numRuns: 600 },
    );
    expect(outcomes).toContain('rejected');
  });
});

/** Returns names and values of a query, in the order of names. */
function meant(url: string): string[][] {
  return sorted([...new URL(url, 'http://service').searchParams]);
}

/** Returns the complete selection of a proposal in its query form. */
function wanted(proposal: Proposal): string[][] {
  if (proposal.action === 'budget.raise') return [];
  if (proposal.action !== 'message-dlq.prune') return [['dlqIds', proposal.dlqId]];
  const members = Object.entries({ ...proposal.filter, count: proposal.items });
  return sorted(members.flatMap(([name, value]) => [value].flat().map((item) => [name, String(item)])));
}

function sorted(pairs: string[][]): string[][] {
  return pairs.toSorted(([a = ''], [b = '']) => (a < b ? -1 : Number(a > b)));
}
