/** Series of an account that another replica exports now. */
import { expect, test, vi } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createExposition } from '#observe/metrics/exposition.ts';
import { createFamilies } from '#observe/metrics/families.ts';
import { SeriesTable } from '#observe/metrics/series.ts';
import { leasePart } from '#observe/metrics/self-leases.ts';

function bench() {
  const families = createFamilies({
    limiter: { admit: (_account: string, _label: string, value: string) => value },
    clock: new ManualClock(1_000),
    zeroForMs: 0,
    maxSeries: 100_000,
    debug: true,
    onRefused: () => undefined,
  });
  const leases = leasePart(families, () => ({
    unowned: 0,
    accounts: [
      { account: 'a', isOwn: false, epoch: 3, takeovers: 1 },
      { account: 'a.b', isOwn: true, epoch: 2, takeovers: 0 },
    ],
  }));
  const exposition = createExposition({
    tables: families.tables,
    refresh() {
      const { put, samples } = families.collect('store');
      leases.fill(put);
      families.exchange(leases.gauges, samples);
    },
    heldCounters: () => 0,
    textBehind: async () => '',
  });
  const scrape = async (): Promise<string[]> => {
    const text = Buffer.concat((await exposition.render('text')).parts).toString('utf8');
    return text.split('\n').filter((line) => line.includes('account="') && !line.startsWith('#'));
  };
  const write = (account: string): void => {
    families.set('msgsvc_up', { account, api: 'message' }, 1);
    families.add('opsd_collector_runs_total', { account, collector: 'logs' });
    families.mirror('msgsvc_log_events_total', { account, state: 'DELIVERED' }, 5, true);
  };
  return { families, scrape, write };
}

test('a withdrawn account keeps only its leases, whatever is written later', async () => {
  const { families, scrape, write } = bench();
  write('a');
  write('a.b');
  const before = await scrape();
  families.withdraw('a');
  await Promise.resolve();
  write('a');
  write('a.b');
  const ofA = (lines: readonly string[]) => lines.filter((line) => line.includes('account="a"'));
  expect(ofA(before)).toHaveLength(6);
  expect(ofA(await scrape())).toEqual([
    'opsd_lease_owner{account="a"} 0',
    'opsd_lease_epoch{account="a"} 3',
    'opsd_lease_takeovers_total{account="a"} 1',
  ]);
  expect((await scrape()).filter((line) => line.includes('account="a.b"'))).toContain(
    'msgsvc_log_events_total{account="a.b",state="DELIVERED"} 10',
  );
});

test('accounts that are withdrawn in one turn need one walk over the series', async () => {
  const walksFor = async (accounts: readonly string[]): Promise<number> => {
    const { families, scrape, write } = bench();
    for (const account of accounts) write(account);
    const walks = vi.spyOn(SeriesTable.prototype, 'children');
    for (const account of accounts) families.withdraw(account);
    await Promise.resolve();
    const { length } = walks.mock.calls;
    walks.mockRestore();
    expect((await scrape()).filter((line) => !line.startsWith('opsd_lease'))).toEqual([]);
    return length;
  };
  const one = await walksFor(['a']);
  expect(one).toBeGreaterThan(0);
  expect(await walksFor(['a', 'b', 'c', 'd'])).toBe(one);
});

test('accounts without an owner are a number of the replica', () => {
  const { families } = bench();
  const { put, samples } = families.collect('store');
  leasePart(families, () => ({ unowned: 2, accounts: [] })).fill(put);
  expect(samples).toEqual(new Map([['opsd_accounts_unowned', new Map([['', 2]])]]));
});

test('a daemon that does not share its store exports no leases', () => {
  const { families } = bench();
  const { put, samples } = families.collect('store');
  leasePart(families, undefined).fill(put);
  expect([...samples]).toEqual([]);
});
