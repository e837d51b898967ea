/**
 * Each action over the real client: against the embedded service, and against responses that a correct service never
 * sends.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { asked, type ActionRequest } from '#automate/actions/action.ts';
import type { ServiceClient } from '#service/api.ts';
import { parseStamp } from '#foundation/domain/lineage.ts';
import type {
  MessageDeleteProposal,
  Proposal,
  PruneProposal,
  WorkflowDeleteProposal,
} from '#foundation/domain/plan.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { faultProxy } from '../../support/fault-proxy.ts';
import { httpSink, type Answer } from '../../support/http-sink.ts';
import { publish, trigger } from '../../support/service.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { testClient, testEmulator } from '../../support/test-emulator.ts';

const ACCOUNT = 'acc-1';
const TOKEN = 'token-of-tests';
const HOUR = 3_600_000;
const NEVER = new AbortController().signal;
const CANARY = 'canary-header-8d07';
const BASE = { policy: 'p', account: 'production', target: 't', group: '', items: 1 } as const;

function actionsAt(url: string, clocks: { readonly client: Clock; readonly now: () => number }) {
  const bus = new EventBus();
  const events: OpsEvent[] = [];
  bus.subscribe((event) => events.push(event));
  const client = testClient(url, { token: TOKEN, clock: clocks.client, events: bus });
  const actions = actionsOver(client, { clock: { ...systemClock, now: clocks.now }, events: bus });
  return { actions, events };
}

/** The daemon's clock is some hours ahead of the service, so that recent failures count as old. */
async function stage() {
  const destination = await httpSink((_request, response) => {
    response.statusCode = 404;
    response.end('gone');
  });
  const emulator = await testEmulator({
    accounts: [{ id: ACCOUNT, token: TOKEN, budgetUsd: 100 }],
    enforceLimits: true,
  });
  const proxy = await faultProxy(emulator.url);
  const { actions, events } = actionsAt(proxy.url, { client: systemClock, now: () => systemClock.now() + 3 * HOUR });
  const service = { url: emulator.url, token: TOKEN };
  const headers = { 'Svc-Retries': '0', 'Svc-Label': 'billing', 'Svc-Forward-Authorization': `Bearer ${CANARY}` };
  return {
    emulator,
    proxy,
    actions,
    events,
    /** Dead messages, oldest first. */
    deadLetters: () =>
      emulator.messages(ACCOUNT).filter(({ state, dlqId }) => state === 'FAILED' && dlqId !== undefined),
    async failMessages(count: number): Promise<void> {
      for (let i = 0; i < count; i++) await publish(service, `${destination.url}/orders`, headers);
      await until({ what: 'dead messages' }, () => this.deadLetters().length === count);
    },
    async failRun(): Promise<WorkflowDeleteProposal> {
      await trigger(service, `${destination.url}/workflow`, headers);
      await until({ what: 'a failed run' }, () => emulator.workflowDlq(ACCOUNT).length === 1);
      const [entry] = (await actions.list('production', {}, NEVER)).entries;
      return {
        ...BASE,
        action: 'workflow-dlq.delete',
        dlqId: entry!.dlqId,
        workflowRunId: entry!.workflowRunId,
        workflowUrl: entry!.workflowUrl,
        lineage: 'abc',
        failedAt: entry!.createdAt,
        labels: entry!.labels,
        cause: 'permanent',
        ...(entry!.responseStatus !== undefined && { status: entry!.responseStatus }),
      };
    },
    act: (proposal: Proposal) => actions.act(actions.describe(proposal, { instance: 'here' })),
  };
}

function deadLetterOf(dlqId: string): MessageDeleteProposal {
  return { ...BASE, action: 'message-dlq.delete', dlqId, messageId: 'm', failedAt: 0 };
}

function pruneOf(count: number, over: Partial<PruneProposal['filter']> = {}): PruneProposal {
  const filter = { toDate: systemClock.now() + 1_000, ...over };
  return { ...BASE, action: 'message-dlq.prune', items: count, page: 1, filter };
}

describe('over the embedded service', () => {
  test('a run is deleted after its entry was archived, and its header appears nowhere in plain text', async () => {
    const s = await stage();
    const proposal = await s.failRun();
    const dir = join(tempDir(), 'archive');
    expect(await s.actions.prepare(proposal, { archive: { dir, require: true } }, NEVER)).toBeUndefined();
    const result = await s.act(proposal);
    expect(result).toEqual({ outcome: 'accepted', done: 1 });
    expect(s.emulator.workflowDlq(ACCOUNT)).toEqual([]);
    const [file] = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.json'));
    const archived = readFileSync(join(dir, file!), 'utf8');
    expect(archived).toContain(proposal.workflowRunId);
    expect(archived).toContain('REDACTED:');
    expect(archived + JSON.stringify([result, s.events, proposal])).not.toContain(CANARY);
    // A repeated delete, as in recovery: the entry is gone, which is not an error.
    expect(await s.act(proposal)).toEqual({ outcome: 'accepted', done: 0 });
    expect(await s.actions.prepare(proposal, { archive: { dir, require: true } }, NEVER)).toMatch(
      'no longer in the DLQ',
    );
  });

  test('a run is resumed with its stamp, its labels and the flow control that it lacked', async () => {
    const s = await stage();
    const { cause, action: _action, ...run } = await s.failRun();
    const flowControl = { key: 'opsd-p', parallelism: 2, rate: 5, period: 1 };
    const result = await s.act({ ...run, cause, action: 'workflow-dlq.resume', attempt: 1, retries: 0, flowControl });
    expect(result).toEqual({ outcome: 'accepted', done: 1, newRunId: expect.any(String) as string });
    const resumed = s.emulator.messages(ACCOUNT).at(-1)!;
    expect(resumed.labels.map((label) => parseStamp(label) ?? label)).toEqual([
      { instance: 'here', lineage: 'abc', attempt: 1 },
      'billing',
    ]);
    expect(resumed.flowControlKey).toBe('opsd-p');
  });

  test('a message is deleted by its id, and no other', async () => {
    const s = await stage();
    await s.failMessages(3);
    const dlqId = s.deadLetters()[1]!.dlqId!;
    expect(await s.act(deadLetterOf(dlqId))).toEqual({ outcome: 'accepted', done: 1 });
    expect(await s.act(deadLetterOf(dlqId))).toEqual({ outcome: 'accepted', done: 0 });
    expect(await s.act(pruneOf(100))).toEqual({ outcome: 'accepted', done: 2 });
  });

  test('a prune deletes at most its count, under all its filters', async () => {
    const s = await stage();
    await s.failMessages(5);
    expect(await s.act(pruneOf(3, { label: ['newsletter'] }))).toEqual({ outcome: 'accepted', done: 0 });
    expect(await s.act(pruneOf(3, { label: ['newsletter', 'billing'] }))).toEqual({ outcome: 'accepted', done: 3 });
    expect(await s.act(pruneOf(3, { responseStatus: [404] }))).toEqual({ outcome: 'accepted', done: 2 });
  });

  test('a budget is raised, and never lowered', async () => {
    const s = await stage();
    const raise = (fromUsd: number, toUsd: number) => s.act({ ...BASE, action: 'budget.raise', fromUsd, toUsd });
    expect(await raise(100, 120)).toEqual({ outcome: 'accepted', done: 1 });
    expect(s.emulator.accounts.byId(ACCOUNT)?.budgetUsd).toBe(120);
    expect(await raise(120, 100)).toMatchObject({ outcome: 'rejected' });
    expect(s.emulator.accounts.byId(ACCOUNT)?.budgetUsd).toBe(120);
  });

  test('a response that is lost after the action results in unknown, and nothing is sent again', async () => {
    const s = await stage();
    await s.failMessages(2);
    const proposal = await s.failRun();
    s.proxy.decide(() => 'lose');
    const before = s.proxy.passed.length;
    const results = [
      await s.act(deadLetterOf(s.deadLetters()[0]!.dlqId!)),
      await s.act(pruneOf(1)),
      await s.act(proposal),
      await s.act({ ...BASE, action: 'budget.raise', fromUsd: 100, toUsd: 120 }),
    ];
    expect(results.map(({ outcome }) => outcome)).toEqual(['unknown', 'unknown', 'unknown', 'unknown']);
    expect(s.proxy.passed.slice(before).map(({ method, url }) => `${method} ${url.split('?')[0]}`)).toEqual([
      'DELETE /v2/dlq',
      'DELETE /v2/dlq',
      'DELETE /v2/workflows/dlq',
      'PATCH /v2/msgsvc/update-budget/acc-1',
    ]);
  });
});

const REQUESTS: readonly ActionRequest[] = [
  { operation: 'resume-workflow-dlq', account: 'production', dlqIds: ['d'], overrides: {} },
  { operation: 'delete-workflow-dlq', account: 'production', dlqIds: ['d'] },
  { operation: 'delete-dlq', account: 'production', dlqIds: ['d'] },
  { operation: 'delete-dlq', account: 'production', filter: { toDate: Date.UTC(2025, 10, 1), count: 5 } },
  { operation: 'update-budget', account: 'production', dollars: 40, aboveUsd: 20 },
];

async function answered(answer: Answer) {
  const sink = await httpSink(answer);
  const clock = new ManualClock(Date.UTC(2025, 10, 20, 12));
  return { sink, clock, ...actionsAt(sink.url, { client: clock, now: () => clock.now() }) };
}

describe.each(REQUESTS.map((request) => [request.operation, request] as const))('%s', (_operation, request) => {
  test('no answer in time', async () => {
    const { actions, clock, sink } = await answered(() => undefined);
    const result = actions.act(request);
    await until({ what: 'the request' }, () => sink.requests.length === 1);
    await clock.advance(10 * 60_000);
    expect(await result).toMatchObject({ outcome: 'unknown', code: 'timeout' });
  });

  test('an error text that quotes a header of the entry is reported without it', async () => {
    const quotes = [
      `header Authorization: Bearer ${CANARY} is not allowed`,
      `{"Authorization":["Bearer ${CANARY}"]}`,
      `Svc-Forward-X-Api-Key = ${CANARY}`,
      `cookie: a=${CANARY}`,
      `basic ${CANARY}`,
      `token eyJhbGciOiJI.${CANARY}.x`,
    ];
    for (const error of quotes) {
      const { actions } = await answered((_r, response) => void response.writeHead(400).end(JSON.stringify({ error })));
      const result = await actions.act(request);
      expect(result.outcome).toBe('rejected');
      expect(JSON.stringify(result)).not.toContain(CANARY);
    }
  });
});

test.each([
  ['delete-workflow-dlq', REQUESTS[1]!],
  ['delete-dlq by id', REQUESTS[2]!],
  ['delete-dlq by filters', REQUESTS[3]!],
])('%s that exceeds the request reports it', async (_what, request) => {
  const { actions } = await answered((_r, response) => void response.end('{"deleted":4711}'));
  expect(asked(request)).toBeLessThan(4711);
  expect(await actions.act(request)).toEqual({ outcome: 'accepted', done: 4711 });
});

test('a resume that exceeds the request reports it', async () => {
  const runs = Array.from({ length: 3 }, (_, i) => ({ workflowRunId: `wfr-${i}` }));
  const { actions } = await answered((_r, response) => void response.end(JSON.stringify({ workflowRuns: runs })));
  expect(await actions.act(REQUESTS[0]!)).toEqual({ outcome: 'accepted', done: 3 });
});

describe('never sent', () => {
  const now = Date.UTC(2025, 10, 20, 12);
  const [resume, , byId, prune, budget] = REQUESTS as readonly [
    Extract<ActionRequest, { operation: 'resume-workflow-dlq' }>,
    ActionRequest,
    ActionRequest,
    Extract<ActionRequest, { filter: unknown }>,
    Extract<ActionRequest, { operation: 'update-budget' }>,
  ];
  const pruned = (over: object) => ({ ...prune, filter: { ...prune.filter, ...over } });
  test.each<[string, object, string]>([
    ['no id', { ...resume, dlqIds: [] }, 'exactly one dlqId'],
    ['two ids', { ...resume, dlqIds: ['a', 'b'] }, 'exactly one dlqId'],
    ['an id that is no list', { ...byId, dlqIds: 'abc' }, 'exactly one dlqId'],
    ['an empty id', { ...byId, dlqIds: [''] }, 'the dlqId has no visible text'],
    ['a blank id', { ...byId, dlqIds: [' '] }, 'the dlqId has no visible text'],
    ['an invisible id', { ...byId, dlqIds: ['\u200B'] }, 'the dlqId has no visible text'],
    ['an id of two', { ...byId, dlqIds: ['a,b'] }, 'comma'],
    ['a prune of none', pruned({ count: 0 }), 'from 1 to 100'],
    ['a prune of too many', pruned({ count: 101 }), 'from 1 to 100'],
    ['a prune of half a message', pruned({ count: 1.5 }), 'from 1 to 100'],
    ['a prune without bound in time', pruned({ toDate: undefined }), 'toDate of a prune must be'],
    ['a prune of the future', pruned({ toDate: now + 1 }), 'in the future'],
    ['a prune of the last hour', pruned({ toDate: now - HOUR + 1 }), 'within the last hour'],
    ['a prune in seconds', pruned({ toDate: Math.floor(now / 1_000) - 7_200 }), 'between 2015 and 2100'],
    ['a prune of no time', pruned({ fromDate: now }), 'after its toDate'],
    ['a prune with an empty filter', pruned({ label: [] }), 'empty list'],
    ['a prune with a blank filter', pruned({ label: ['a', ' '] }), 'a filter of a prune has no visible text'],
    ['a prune with an invisible filter', pruned({ label: ['\u2060'] }), 'a filter of a prune has no visible text'],
    ['a prune with ids', pruned({ dlqIds: ['a'] }), 'must not have dlqIds'],
    ['a prune with an unknown filter', pruned({ labels: ['a'] }), 'there is no key "labels"'],
    ['a budget of nothing', { ...budget, dollars: 0 }, 'from 20 to 10000'],
    ['a budget that is no number', { ...budget, dollars: Number.NaN }, 'from 20 to 10000'],
    ['a budget in cents', { ...budget, dollars: 40.5 }, 'from 20 to 10000'],
    ['a budget beyond all', { ...budget, dollars: 10_001 }, 'from 20 to 10000'],
    ['the known budget', { ...budget, aboveUsd: 40 }, 'not above the known budget'],
    ['a lower budget', { ...budget, aboveUsd: 50 }, 'not above the known budget'],
    ['a budget above an unknown one', { ...budget, aboveUsd: Number.NaN }, 'is unknown'],
    ['a budget in the place of no limit', { ...budget, aboveUsd: 0 }, 'is unknown'],
    ['a budget below no limit', { ...budget, aboveUsd: Infinity }, 'not above the known budget'],
    ['another operation', { ...byId, operation: 'put-endpoints' }, 'no action sends'],
    ['an unknown account', { ...byId, account: 'nobody' }, 'has no message API'],
    ['a budget of an unknown account', { ...budget, account: 'nobody' }, 'has no management API'],
  ])('%s', async (_what, request, why) => {
    const { actions, sink } = await answered((_r, response) => void response.end('{"deleted":1}'));
    const result = await actions.act(request as ActionRequest);
    expect(result).toMatchObject({ outcome: 'rejected', detail: expect.stringContaining(why) as string });
    expect(sink.requests).toEqual([]);
  });

  test('a budget of an account whose id is unknown', async () => {
    let calls = 0;
    const management = { updateBudget: async () => void calls++ };
    const actions = actionsOver({ management } as unknown as ServiceClient, { accountIds: new Map() });
    expect(await actions.act(budget)).toEqual({
      outcome: 'rejected',
      detail: 'account production has no managementApi.accountId',
    });
    expect(calls).toBe(0);
  });
});
