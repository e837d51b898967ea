/** The management API, tested through its handlers without HTTP. */
import { describe, expect, test } from 'vitest';
import { AccountBook } from '#emulator/state/account-book.ts';
import { createIndexes } from '#emulator/statistics/indexes.ts';
import { managementRoutes } from '#emulator/http/management-routes.ts';
import { ApiError } from '#emulator/state/api-error.ts';
import type { ApiResponse } from '#emulator/http/route.ts';
import { createStatistics } from '#emulator/statistics/statistics.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';

const NOW = Date.UTC(2026, 10, 20, 10, 30, 15);

function world(product = 'msgsvc') {
  const clock = new ManualClock(NOW);
  const accounts = new AccountBook([{ id: 'acc-1', token: 'first' }], seededRandom(1));
  const statistics = createStatistics();
  const indexes = createIndexes({ clock, random: seededRandom(2) });
  const routes = managementRoutes({ clock, accounts, statistics, indexes, product, dlqMessageCount: () => 17 });
  const call = async (
    operation: string,
    request: { readonly id?: string; readonly query?: string; readonly body?: unknown } = {},
  ): Promise<ApiResponse> => {
    const route = routes.find((candidate) => candidate.operation === operation)!;
    const body = typeof request.body === 'string' ? request.body : JSON.stringify(request.body ?? '');
    const answer = await route.handle({
      account: {
        id: '',
        token: '',
        readOnlyToken: '',
        plan: 'paid',
        firstPlan: 'paid',
        budgetUsd: 0,
        customerId: 'ops@example.com',
        createdBy: 'ops@example.com',
      },
      headers: {},
      params: request.id === undefined ? {} : { id: request.id },
      query: new URLSearchParams(request.query),
      body: request.body === undefined ? new Uint8Array() : new TextEncoder().encode(body),
      callerIp: '127.0.0.1',
    });
    return answer;
  };
  const refusal = async (...args: Parameters<typeof call>): Promise<readonly [number, string]> => {
    try {
      const answer = await call(...args);
      throw new Error(`answered ${answer.status} ${JSON.stringify(answer.json)}`);
    } catch (error) {
      if (error instanceof ApiError) return [error.status, error.message];
      throw error;
    }
  };
  return { clock, accounts, statistics, indexes, routes, call, refusal };
}

type Json = Readonly<Record<string, unknown>>;

const newIndex = { name: 'products', region: 'eu-west-1', type: 'payg' };

describe('accounts', () => {
  test('moving to a team changes the owner, not the creator', async () => {
    const { call } = world();
    const moved = await call('move-to-team', { body: { msgsvc_id: 'acc-1', target_team_id: 'team-9' } });
    expect(moved).toMatchObject({ status: 200, json: 'OK' });
    const record = (await call('rotate-token', { id: 'acc-1' })).json as Json;
    expect(record['customer_id']).toBe('team-9');
    expect(record['created_by']).toBe('owner@acc-1.example');
  });

  test.each([0, 20, 21, 10_000])('budget %i is accepted', async (budget) => {
    const { accounts, call } = world();
    expect(await call('update-budget', { id: 'acc-1', body: { budget } })).toEqual({ status: 200, json: 'OK' });
    expect(accounts.byId('acc-1')!.budgetUsd).toBe(budget);
    expect((await call('rotate-token', { id: 'acc-1' })).json).toMatchObject({ budget });
  });

  test.each([1, 19, 10_001, -20, 20.5, '100', null, undefined, true, [100]])(
    'budget %j is rejected',
    async (budget) => {
      const { accounts, refusal } = world();
      const [status, message] = await refusal('update-budget', { id: 'acc-1', body: { budget } });
      expect(status).toBe(400);
      expect(message).toContain('budget');
      expect(accounts.byId('acc-1')!.budgetUsd).toBe(0);
    },
  );

  test.each([
    ['get-account-stats', { id: 'acc-1', query: 'period=2h' }, 400, 'period must be one of 1h, 3h'],
    ['get-account-stats', { id: 'acc-1', query: 'period=constructor' }, 400, 'period'],
    ['get-account-stats', { id: 'acc-1', query: 'period=' }, 400, 'period'],
    ['get-account-stats', { id: 'nobody' }, 404, 'account nobody not found'],
    ['set-plan', { id: 'nobody', body: { plan_name: 'paid' } }, 404, 'account nobody not found'],
    ['set-plan', { id: 'acc-1', body: { plan_name: 'free' } }, 400, 'plan_name must be one of paid, msgsvc_fixed_1m'],
    ['set-plan', { id: 'acc-1', body: {} }, 400, 'plan_name'],
    ['rotate-token', { id: 'nobody' }, 404, 'account nobody not found'],
    ['update-budget', { id: 'nobody', body: { budget: 20 } }, 404, 'account nobody not found'],
    ['update-budget', { id: 'acc-1' }, 400, 'JSON object'],
    ['update-budget', { id: 'acc-1', body: '{"budget":' }, 400, 'JSON object'],
    ['update-budget', { id: 'acc-1', body: [1] }, 400, 'JSON object'],
    ['update-budget', { id: 'acc-1', body: 'null' }, 400, 'JSON object'],
    ['update-budget', { id: 'acc-1', body: '{"__proto__":{"budget":100}}' }, 400, 'budget is required'],
    ['move-to-team', { body: { msgsvc_id: 'nobody', target_team_id: 't' } }, 404, 'account nobody not found'],
    ['move-to-team', { body: { msgsvc_id: 'acc-1' } }, 400, 'target_team_id'],
    ['move-to-team', { body: { target_team_id: 't' } }, 400, 'msgsvc_id'],
  ] as const)('%s %j is answered %i', async (operation, request, status, message) => {
    const { refusal } = world();
    const [refused, reason] = await refusal(operation, request);
    expect(refused).toBe(status);
    expect(reason).toContain(message);
  });

  test('another brand appears in paths, plan names and fields', async () => {
    const { routes, call } = world('courier');
    expect(routes.find((route) => route.operation === 'get-account-stats')!.pattern).toBe('/v2/courier/stats/:id');
    const stats = (await call('get-account-stats', { id: 'acc-1' })).json as Json;
    expect(Object.keys(stats).filter((key) => key.endsWith('_messages'))).toEqual([
      'daily_workflow_messages',
      'daily_courier_messages',
    ]);
    await call('set-plan', { id: 'acc-1', body: { plan_name: 'courier_fixed_1m' } });
    expect((await call('rotate-token', { id: 'acc-1' })).json).toMatchObject({ reserved_type: 'courier_fixed_1m' });
    expect(await call('move-to-team', { body: { courier_id: 'acc-1', target_team_id: 't' } })).toMatchObject({
      status: 200,
    });
  });
});

describe('indexes', () => {
  test('are created, read, renamed and transferred', async () => {
    const { call } = world();
    const created = (await call('create-index', { body: newIndex })).json as Json;
    expect(created).toMatchObject({ ...newIndex, customer_id: 'ops@example.com', creation_time: NOW / 1_000 });
    const id = String(created['id']);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect((await call('get-index', { id })).json).toEqual(created);
    expect(await call('rename-index', { id, body: { name: 'goods' } })).toEqual({ status: 200, json: 'OK' });
    expect(await call('transfer-index', { id, body: { target_account: 'team-9' } })).toEqual({
      status: 200,
      json: 'OK',
    });
    expect((await call('get-index', { id })).json).toEqual({ ...created, name: 'goods', customer_id: 'team-9' });
    expect((await call('create-index', { body: newIndex })).json).not.toMatchObject({ id });
  });

  test('a free index has finite limits, a paid one is unlimited where the interface says so', async () => {
    const { call, indexes } = world();
    const free = (await call('create-index', { body: { ...newIndex, type: 'free' } })).json as Json;
    const paid = (await call('create-index', { body: newIndex })).json as Json;
    const fixed = indexes.create({ ...newIndex, region: 'eu-west-1', type: 'fixed', customerId: 'c' }) as Json;
    for (const name of ['max_monthly_reranks', 'max_daily_updates', 'max_daily_queries']) {
      expect([name, paid[name]]).toEqual([name, -1]);
    }
    expect(fixed['max_monthly_bandwidth']).toBe(-1);
    const limits = Object.keys(free).filter((name) => name.startsWith('max_'));
    expect(limits).toHaveLength(9);
    for (const name of limits) expect(free[name], name).toBeGreaterThan(0);
  });

  test('a vector index can exist alone', async () => {
    const { indexes, call, refusal } = world();
    indexes.createVectorIndex('vec-1');
    expect(await call('get-vector-stats', { id: 'vec-1', query: 'period=30d' })).toMatchObject({ status: 200 });
    expect(await refusal('get-index', { id: 'vec-1' })).toEqual([404, 'index vec-1 not found']);
  });

  test.each([
    ['create-index', { body: { ...newIndex, region: 'mars' } }, 400, 'region must be one of eu-west-1, us-central1'],
    ['create-index', { body: { ...newIndex, type: 'gold' } }, 400, 'type must be one of free, payg, fixed'],
    ['create-index', { body: { ...newIndex, type: 'fixed' } }, 400, 'not available'],
    ['create-index', { body: { ...newIndex, name: ' ' } }, 400, 'name'],
    ['create-index', { body: { name: 'x' } }, 400, 'region'],
    ['get-index', { id: 'none' }, 404, 'index none not found'],
    ['rename-index', { id: 'none', body: { name: 'x' } }, 404, 'index none not found'],
    ['rename-index', { id: 'idx-1', body: { name: 7 } }, 400, 'name'],
    ['transfer-index', { id: 'none', body: { target_account: 'x' } }, 404, 'index none not found'],
    ['transfer-index', { id: 'idx-1', body: {} }, 400, 'target_account'],
    ['get-vector-stats', { id: 'none' }, 404, 'index none not found'],
    ['get-vector-stats', { id: 'idx-1', query: 'period=1y' }, 400, 'period'],
  ] as const)('%s %j is answered %i', async (operation, request, status, message) => {
    const { indexes, refusal } = world();
    indexes.create({ id: 'idx-1', name: 'x', region: 'eu-west-1', type: 'payg', customerId: 'c' });
    const [refused, reason] = await refusal(operation, request);
    expect(refused).toBe(status);
    expect(reason).toContain(message);
  });
});
