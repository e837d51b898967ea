/** Accounts that reject requests, plans in the record, their costs, and spent budgets. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AccountBook } from '#emulator/state/account-book.ts';
import type { PlanName } from '#emulator/state/account.ts';
import type { RunOptions } from '#emulator/emulator-options.ts';
import { createPlanBilling } from '#emulator/statistics/plan-billing.ts';
import { createStatistics } from '#emulator/statistics/statistics.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { manage as manageAny } from '../conformance-support.ts';
import { ACCOUNT, allLogs, READ_ONLY_TOKEN, START, statesOf, TOKEN, world, type World } from '../world.ts';

const NEXT_MONTH = Date.UTC(2026, 11, 1);

function service(
  seed: Partial<RunOptions['accounts'][number]> = {},
  options: Partial<RunOptions> = {},
): Promise<World> {
  const account = { id: ACCOUNT, token: TOKEN, readOnlyToken: READ_ONLY_TOKEN, ...seed };
  return world({ enforceLimits: true, accounts: [account], ...options });
}

const manage = (running: World, method: string, path: string, body?: object) =>
  manageAny(running, method, `/v2/msgsvc/${path}`, body);

const record = async (running: World) => (await manage(running, 'POST', `rotate-token/${ACCOUNT}`)).json;

const billed = async (running: World): Promise<unknown> =>
  (await manage(running, 'GET', `stats/${ACCOUNT}`)).json['total_monthly_billing'];

/** Records attempts for this many dollars: one dollar pays for 100,000. */
function spend(running: World, usd: number, at = running.clock.now()): void {
  const fact = { kind: 'attempt', at, workflow: false, outcome: 'delivered', bytes: 0 } as const;
  running.emulator.statistics.record(ACCOUNT, fact, Math.round(usd * 100_000));
}

describe('an account that is not active', () => {
  test.each([
    ['passive', { state: 'passive' }, 'is passive'],
    ['archived', { state: 'archived' }, 'is archived'],
    ['being suspended', { state: 'active', modifyingState: 'suspended' }, 'is being suspended'],
  ])('%s: every operation is rejected with the reason, until it is active again', async (_what, state, reason) => {
    const running = await service();
    expect(running.emulator.accounts.setState(ACCOUNT, state)).toBe(true);
    const refusal = [403, { error: `the account ${ACCOUNT} ${reason}: requests are rejected` }];
    for (const [method, path] of [
      ['GET', '/v2/logs'],
      ['POST', '/v2/publish/http://nowhere.invalid/'],
      ['POST', '/v2/trigger/http://nowhere.invalid/'],
    ] as const) {
      const answer = await running.call(method, path);
      expect([answer.status, answer.json]).toEqual(refusal);
    }
    const authorization = { Authorization: `Bearer ${READ_ONLY_TOKEN}` };
    expect((await running.call('GET', '/v2/logs', { headers: authorization })).status).toBe(403);
    expect((await running.call('GET', '/v2/logs', { headers: { Authorization: 'Bearer wrong' } })).status).toBe(401);
    expect(await manage(running, 'GET', `stats/${ACCOUNT}`)).toMatchObject({ status: 200 });
    running.emulator.accounts.setState(ACCOUNT, { state: 'active' });
    expect((await running.call('GET', '/v2/logs')).status).toBe(200);
  });

  test('the record reports it', async () => {
    const running = await service({ state: 'passive', modifyingState: 'suspended' });
    expect(await record(running)).toMatchObject({ active: false, state: 'passive', modifying_state: 'suspended' });
    running.emulator.accounts.setState(ACCOUNT, { state: 'active' });
    const active = await record(running);
    expect(active).toMatchObject({ active: true, state: 'active' });
    expect(active).not.toHaveProperty('modifying_state');
    expect(running.emulator.accounts.setState('nobody', { state: 'passive' })).toBe(false);
  });

  test('messages that it sent earlier are still delivered', async () => {
    const sink = await httpSink();
    const running = await service();
    await running.call('POST', `/v2/publish/${sink.url}/`, { headers: { 'Svc-Delay': '1m' } });
    running.emulator.accounts.setState(ACCOUNT, { state: 'passive' });
    await running.drain();
    expect(sink.requests).toHaveLength(1);
  });
});

describe('plans', () => {
  test('an enterprise account', async () => {
    const running = await service({ plan: 'enterprise', enterpriseId: 'acme' });
    expect(await record(running)).toMatchObject({
      type: 'paid',
      reserved_type: 'enterprise:acme',
      reserved_price: 5_000,
      enterprise: { id: 'acme' },
      max_topics: 10_000,
    });
    await manage(running, 'POST', `set-plan/${ACCOUNT}`, { plan_name: 'paid' });
    const paid = await record(running);
    expect(paid).toMatchObject({ reserved_type: '', reserved_price: 0, max_topics: 100 });
    expect(paid).not.toHaveProperty('enterprise');
    running.emulator.accounts.setPlan(ACCOUNT, { plan: 'enterprise', now: START });
    expect(await record(running)).toMatchObject({ reserved_type: `enterprise:${ACCOUNT}` });
    expect(running.emulator.accounts.setPlan('nobody', { plan: 'free', now: START })).toBe(false);
  });

  test('a fixed plan of unknown size, in the other region, without metrics', async () => {
    const running = await service({ plan: 'fixed', region: 'us-east-1', metricsEnabled: false });
    expect(await record(running)).toMatchObject({
      reserved_type: 'msgsvc_fixed',
      region: 'us-east-1',
      metrics_enabled: 'false',
    });
  });

  test('only the paid plan bills each message', async () => {
    for (const [plan, usd] of [['free', 0] as const, ['paid', 3] as const]) {
      const running = await service({ plan });
      spend(running, 3);
      expect(await billed(running)).toBe(usd);
    }
  });

  test('messages are billed by the plan of their time, a reserved price on the day it was taken', async () => {
    const running = await service();
    spend(running, 3);
    await manage(running, 'POST', `set-plan/${ACCOUNT}`, { plan_name: 'msgsvc_fixed_1m' });
    await manage(running, 'POST', `set-plan/${ACCOUNT}`, { plan_name: 'msgsvc_fixed_1m' });
    spend(running, 50);
    expect(await billed(running)).toBe(183);
    await manage(running, 'POST', `set-plan/${ACCOUNT}`, { plan_name: 'paid' });
    spend(running, 2);
    expect(await billed(running)).toBe(185);
    await running.clock.advance(NEXT_MONTH - START);
    expect(await billed(running)).toBe(0);
  });

  test('a reserved price is due on the first of each month, and not earlier', () => {
    const accounts = new AccountBook([{ id: ACCOUNT, token: TOKEN, plan: 'fixed_10m' }], seededRandom(1));
    const statistics = createStatistics({ plans: createPlanBilling(accounts, START) });
    const total = (now: number): number => statistics.monthBillingMicroUsd(ACCOUNT, now) / 1_000_000;
    expect(total(START)).toBe(420);
    expect(total(NEXT_MONTH)).toBe(420);
    accounts.setPlan(ACCOUNT, { plan: 'fixed_1m', now: NEXT_MONTH + 5 * 86_400_000 });
    expect(total(NEXT_MONTH)).toBe(420);
    expect(total(NEXT_MONTH + 5 * 86_400_000)).toBe(600);
    const january = statistics.accountStats(ACCOUNT, '1h', Date.UTC(2027, 0, 15), 0);
    expect(january.total_monthly_billing).toBe(180);
    expect(january.daily_billings.map(({ y }) => y)).toEqual([180, ...Array.from({ length: 30 }, () => 0)]);
    expect(total(Date.UTC(2026, 9, 31))).toBe(0);
  });

  test("days always add up to the month's total", () => {
    const plan = fc.constantFrom<PlanName>('free', 'paid', 'fixed_1m', 'fixed_10m', 'fixed_100m', 'enterprise');
    const change = fc.record({ plan, days: fc.nat(20), attempts: fc.nat(5_000_000) });
    fc.assert(
      fc.property(plan, fc.array(change, { maxLength: 8 }), (first, changes) => {
        const accounts = new AccountBook([{ id: ACCOUNT, token: TOKEN, plan: first }], seededRandom(1));
        const statistics = createStatistics({ plans: createPlanBilling(accounts, START) });
        let now = START;
        for (const { plan: next, days, attempts } of changes) {
          now += days * 86_400_000;
          accounts.setPlan(ACCOUNT, { plan: next, now });
          const fact = { kind: 'attempt', at: now, workflow: true, outcome: 'retry', bytes: 1 } as const;
          statistics.record(ACCOUNT, fact, attempts);
          const stats = statistics.accountStats(ACCOUNT, '30d', now, 0);
          const sum = stats.daily_billings.reduce((total, { y }) => total + Math.round(y * 1_000_000), 0);
          expect(sum).toBe(statistics.monthBillingMicroUsd(ACCOUNT, now));
          expect(statistics.monthSpendMicroUsd(ACCOUNT, now)).toBeLessThanOrEqual(sum);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('a spent budget', () => {
  test('rejects publishes and triggers until the month turns; reads continue', async () => {
    const sink = await httpSink();
    const running = await service({ budgetUsd: 20 });
    spend(running, 19.999_99);
    expect((await running.call('POST', `/v2/publish/${sink.url}/`)).status).toBe(200);
    await running.emulator.idle();
    expect(await billed(running)).toBe(20);
    for (const path of [`/v2/publish/${sink.url}/`, `/v2/trigger/${sink.url}/`]) {
      const refused = await running.call('POST', path);
      expect([refused.status, refused.json]).toEqual([
        429,
        { error: `quota exhausted: the account ${ACCOUNT} has spent its budget of 20 dollars a month` },
      ]);
      expect(refused.headers['retry-after']).toBe(String((NEXT_MONTH - START) / 1_000));
    }
    expect((await running.call('GET', '/v2/logs')).status).toBe(200);
    await running.clock.advance(NEXT_MONTH - START - 1);
    expect((await running.call('POST', `/v2/publish/${sink.url}/`)).status).toBe(429);
    await running.clock.advance(1);
    expect((await running.call('POST', `/v2/publish/${sink.url}/`)).status).toBe(200);
    await running.emulator.idle();
    expect(sink.requests).toHaveLength(2);
  });

  test.each([
    ['the budget is raised', (running: World) => manage(running, 'PATCH', `update-budget/${ACCOUNT}`, { budget: 21 })],
    ['it is taken away', (running: World) => manage(running, 'PATCH', `update-budget/${ACCOUNT}`, { budget: 0 })],
    [
      'the plan has its messages in its price',
      (running: World) => manage(running, 'POST', `set-plan/${ACCOUNT}`, { plan_name: 'msgsvc_fixed_1m' }),
    ],
  ])('accepts again at once when %s', async (_what, change) => {
    const running = await service({ budgetUsd: 20 });
    spend(running, 20);
    const publish = () =>
      running.call('POST', '/v2/publish/http://nowhere.invalid/', { headers: { 'Svc-Delay': '1h' } });
    expect((await publish()).status).toBe(429);
    expect((await change(running)).status).toBe(200);
    expect((await publish()).status).toBe(200);
  });

  test('fails due deliveries permanently: runs enter the DLQ, and can be resumed with a new budget', async () => {
    const sink = await httpSink();
    const running = await service({ budgetUsd: 20 });
    const later = { headers: { 'Svc-Delay': '1m' } };
    await running.call('POST', `/v2/trigger/${sink.url}/`, later);
    const { json } = await running.call('POST', `/v2/publish/${sink.url}/`, later);
    spend(running, 20);
    await running.drain();
    expect(sink.requests).toHaveLength(0);
    const id = String(json['messageId']);
    expect(await statesOf(running, id)).toEqual(['CREATED', 'ACTIVE', 'ERROR', 'FAILED']);
    const errors = (await allLogs(running, `messageId=${id}`)).map((entry) => entry.error).filter(Boolean);
    expect(errors[0]).toMatch(/^quota exhausted/);
    expect(running.emulator.workflowDlq(ACCOUNT)).toHaveLength(1);
    const { json: stats } = await manage(running, 'GET', `stats/${ACCOUNT}`);
    expect(stats['dlq_message_count']).toBe(1);
    expect(stats['total_monthly_billing']).toBe(20.000_02);

    expect((await running.call('POST', '/v2/workflows/dlq/resume')).status).toBe(429);
    expect(running.emulator.workflowDlq(ACCOUNT)).toHaveLength(1);
    await manage(running, 'PATCH', `update-budget/${ACCOUNT}`, { budget: 50 });
    expect((await running.call('POST', '/v2/workflows/dlq/resume')).status).toBe(200);
    await running.emulator.idle();
    expect(sink.requests).toHaveLength(1);
    expect(running.emulator.workflowDlq(ACCOUNT)).toHaveLength(0);
  });

  test('has no effect where limits are not enforced', async () => {
    const running = await service({ budgetUsd: 20 }, { enforceLimits: false });
    spend(running, 30);
    expect(
      (await running.call('POST', '/v2/publish/http://127.0.0.1:1/', { headers: { 'Svc-Delay': '1h' } })).status,
    ).toBe(200);
  });
});
