/** A reset of counters is in the audit log before it takes effect, and metrics show it as a counter reset. */
import { describe, expect, test } from 'vitest';
import { counterResets } from '#app/reset-counters.ts';
import type { Generation } from '#app/generation.ts';
import type { Storage } from '#app/storage.ts';
import { createCounters } from '#storage/ledger-counters.ts';
import { createTotals } from '#storage/totals.ts';
import { world } from '../observe/metrics/world.ts';
import { STORES } from '../support/postgres/test-stores.ts';

const BILLING = 'msgsvc_account_billing_dollars_total';
const MESSAGES = 'msgsvc_account_messages_total';
const NAMED = `${MESSAGES}{account="prod",series="delivered"}`;

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  async function ruined() {
    const store = await open();
    const { database, journal } = store;
    const totals = createTotals({ database });
    await totals.add('prod', [
      { metric: MESSAGES, labels: ['delivered'], by: 2 ** 64 },
      { metric: MESSAGES, labels: ['canceled'], by: 3 },
      { metric: BILLING, labels: [], by: 7 },
    ]);
    const names = (...all: string[]) => ({ accounts: all.map((name) => ({ name })) });
    const generation = { config: names('prod'), whole: names('prod', 'elsewhere'), stores: { totals } };
    const resets = counterResets(generation as unknown as Generation, { ledger: createCounters(journal) } as Storage);
    const reset = (more: Partial<Parameters<typeof resets>[0]> = {}) =>
      resets({ account: 'prod', metric: MESSAGES, labels: {}, by: 'anna', reason: 'underflow', ...more });
    return { totals, audited: () => store.audited(), reset };
  }

  test('the named counter restarts at 0 with a new time of creation, and counts on', async () => {
    const { totals, audited, reset } = await ruined();
    const { scrape, text } = await world({ totals });
    const former = await reset({ labels: { series: 'delivered' } });
    expect(former).toEqual([{ labels: { series: 'delivered' }, value: 2 ** 64 }]);
    expect(await audited()).toEqual([
      {
        type: 'counter.reset',
        account: 'prod',
        metric: MESSAGES,
        counters: 1,
        largest: 2 ** 64,
        by: 'anna',
        reason: 'underflow',
      },
    ]);
    expect((await scrape()).get(NAMED)).toBe(0);
    expect(await text('openmetrics')).toContain(NAMED.replace('_total', '_created'));
    await totals.add('prod', [{ metric: MESSAGES, labels: ['delivered'], by: 5 }]);
    const samples = await scrape();
    expect(samples.get(NAMED)).toBe(5);
    expect(samples.get(NAMED.replace('delivered', 'canceled'))).toBe(3);
    expect(samples.get(`${BILLING}{account="prod"}`)).toBe(7);
    expect((await totals.countersOf(['prod'], MESSAGES)).get('prod')).toContainEqual({
      metric: MESSAGES,
      labels: ['delivered'],
      value: 5,
    });
  });

  test('what does not exist changes nothing, and its message has what does', async () => {
    const { totals, audited, reset } = await ruined();
    await expect(reset({ account: 'nobody' })).rejects.toThrow('no account nobody; accounts: prod, elsewhere');
    await expect(reset({ account: 'elsewhere' })).rejects.toThrow('Another replica owns account elsewhere');
    await expect(reset({ metric: 'msgsvc_account_dlq_messages' })).rejects.toThrow('not a stored counter');
    await expect(reset({ metric: 'nonsense' })).rejects.toThrow('not a stored counter');
    await expect(reset({ labels: { state: 'x' } })).rejects.toThrow('has no label state; its labels: series');
    expect(await reset({ labels: { series: 'x' } })).toEqual([]);
    expect(await audited()).toEqual([]);
    expect((await totals.countersOf(['prod'], MESSAGES)).get('prod')!.map(({ value }) => value)).toEqual([3, 2 ** 64]);
  });
});
