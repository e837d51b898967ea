import { expect, test } from 'vitest';
import type { BudgetKnowledge } from '#foundation/domain/known-budget.ts';
import type { KnownLimits } from '#observe/metrics/sources.ts';
import { seriesOf, world } from './world.ts';

async function shown(known: { readonly budget?: BudgetKnowledge; readonly limits?: KnownLimits }) {
  const { budget, ...rest } = known;
  const { scrape } = await world({
    accounts: [{ name: 'prod', apis: ['management'], requestsPerDay: 1, ...rest }],
    facts: async () => ({ budgets: new Map([['prod', { changes: [], ...(budget && { known: budget }) }]]) }),
  });
  const samples = await scrape();
  const found = Object.entries({
    ...seriesOf(samples, 'msgsvc_account_budget_dollars'),
    ...seriesOf(samples, 'msgsvc_account_budget_asserted_timestamp_seconds'),
    ...Object.fromEntries([...samples].filter(([series]) => series.startsWith('msgsvc_account_limit_'))),
  });
  return Object.fromEntries(
    found.map(([series, value]) => [series.replace('account="prod"', '').replace('msgsvc_account_', ''), value]),
  );
}

test('a budget is shown with its source and its date', async () => {
  const asserted = Date.UTC(2026, 10, 1);
  const known = { knownUsd: 500, assertedAt: asserted, maxAgeMs: 1 };
  for (const origin of ['configuration', 'ledger'] as const) {
    expect(await shown({ budget: { ...known, origin } })).toEqual({
      [`budget_dollars{,origin="${origin}"}`]: 500,
      [`budget_asserted_timestamp_seconds{,origin="${origin}"}`]: asserted / 1_000,
    });
  }
  expect(await shown({ budget: { knownUsd: Infinity, origin: 'configuration', maxAgeMs: 1 } })).toEqual({
    'budget_dollars{,origin="configuration"}': Infinity,
  });
});

test('only known limits are shown', async () => {
  expect(await shown({})).toEqual({});
  expect(
    await shown({
      limits: {
        dlqMessages: 1,
        dlqRetention: 86_400_000,
        requestsPerDay: 2,
        requestsPerDayHard: 3,
        requestsPerSecond: 4,
        parallelism: 5,
        globalParallelism: 6,
      },
    }),
  ).toEqual({
    'limit_dlq_messages{}': 1,
    'limit_dlq_retention_seconds{}': 86_400,
    'limit_day_requests{,kind="soft"}': 2,
    'limit_day_requests{,kind="hard"}': 3,
    'limit_requests_per_second{}': 4,
    'limit_parallelism{,scope="endpoint"}': 5,
    'limit_parallelism{,scope="global"}': 6,
  });
});
