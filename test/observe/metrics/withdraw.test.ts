/** Series of an account that another replica exports now. */
import { expect, test, vi } from 'vitest';
import { SeriesTable } from '#observe/metrics/series.ts';
import type { MetricsDeps } from '#observe/metrics/sources.ts';
import { world } from './world.ts';

const LEASES = {
  unowned: 2,
  accounts: [
    { account: 'a', isOwn: false, epoch: 3, takeovers: 1 },
    { account: 'a.b', isOwn: true, epoch: 2, takeovers: 0 },
  ],
};

async function replica(names: readonly string[], deps: Partial<MetricsDeps> = { leases: () => LEASES }) {
  const accounts = names.map((name) => ({ name, apis: ['message'] as const, requestsPerDay: 1 }));
  const { metrics, events, totals, scrape } = await world({ accounts, collectors: ['logs'], deps });
  return {
    metrics,
    write: async (account: string): Promise<void> => {
      events.emit({ type: 'collector.finished', account, collector: 'logs', at: 0, durationMs: 1 });
      await totals.add(account, [{ metric: 'msgsvc_log_events_total', labels: ['DELIVERED'], by: 5 }]);
    },
    /** Returns the lines of the next scrape with an account, or with this one. */
    lines: async (account?: string): Promise<string[]> => {
      const samples = [...(await scrape())].map(([series, value]) => `${series} ${value}`);
      return samples.filter((line) => line.includes(account === undefined ? 'account=' : `account="${account}"`));
    },
  };
}

test('a withdrawn account keeps only its leases, whatever is written later', async () => {
  const { metrics, write, lines } = await replica(['a', 'a.b']);
  await write('a');
  await write('a.b');
  expect((await lines('a')).length).toBeGreaterThan(10);
  metrics.withdraw('a');
  await Promise.resolve();
  await write('a');
  await write('a.b');
  expect(await lines('a')).toEqual([
    'opsd_lease_owner{account="a"} 0',
    'opsd_lease_epoch{account="a"} 3',
    'opsd_lease_takeovers_total{account="a"} 1',
  ]);
  expect(await lines('a.b')).toContain('msgsvc_log_events_total{account="a.b",state="DELIVERED"} 10');
});

test('accounts that are withdrawn in one turn need one walk over the series', async () => {
  const walksFor = async (accounts: readonly string[]): Promise<number> => {
    const { metrics, write, lines } = await replica(accounts, {});
    for (const account of accounts) await write(account);
    const walks = vi.spyOn(SeriesTable.prototype, 'children');
    for (const account of accounts) metrics.withdraw(account);
    await Promise.resolve();
    const { length } = walks.mock.calls;
    walks.mockRestore();
    expect(await lines()).toEqual([]);
    return length;
  };
  const one = await walksFor(['a']);
  expect(one).toBeGreaterThan(0);
  expect(await walksFor(['a', 'b', 'c', 'd'])).toBe(one);
});

test('accounts without an owner are a number of the replica', async () => {
  const { scrape } = await world({ deps: { leases: () => LEASES } });
  expect((await scrape()).get('opsd_accounts_unowned')).toBe(2);
});

test('a daemon that does not share its store exports no leases', async () => {
  const { text } = await world();
  expect(await text()).not.toMatch(/^opsd_(?:lease_|accounts_unowned).*\d$/m);
});
