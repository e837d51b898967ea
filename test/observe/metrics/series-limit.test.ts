import { describe, expect, test } from 'vitest';
import type { OpsEvent } from '#foundation/events/events.ts';
import type { Increment } from '#observe/aggregation/totals.ts';
import { createTotals } from '#storage/totals.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { until } from '../../support/until.ts';
import { seriesOf, world, type World } from './world.ts';

const labels = { destination: { max: 90_000 }, urlGroup: { max: 90_000 } };
const metrics = { maxSeries: 2_000, labels };

const created = (destination: string, by: number): Increment => ({
  metric: 'msgsvc_messages_created_total',
  labels: [destination],
  by,
});
const createdOf = (destination: string): string =>
  `msgsvc_messages_created_total{account="prod",destination="${destination}"}`;

const groups = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `group-${index}`,
    createdAt: 1_700_000_000_000,
    updatedAt: 1_700_000_000_000,
    endpoints: [],
  }));

async function seriesTold(made: World): Promise<{ readonly exposed: number; readonly told: number }> {
  const samples = await made.scrape();
  const told = Object.values(seriesOf(samples, 'opsd_series_by_family')).reduce((sum, value) => sum + value, 0);
  return { exposed: samples.size, told };
}

/** More series than the limit. This many rows are shown some turns after their arrival. */
async function fill(made: World): Promise<void> {
  made.publish('urlGroups', groups(5_000));
  await until({ what: 'the limit is reached' }, async () => {
    const samples = await made.scrape();
    return (samples.get('opsd_series_dropped_total') ?? 0) > 10_000;
  });
}

describe('the limit of series', () => {
  test('is never exceeded; the daemon still reports about itself', async () => {
    const made = await world({ metrics });
    const heard: OpsEvent[] = [];
    made.events.subscribe((event) => heard.push(event));
    await fill(made);
    const { exposed, told } = await seriesTold(made);
    expect(exposed).toBe(told);
    expect(exposed).toBeLessThanOrEqual(2_000);
    made.events.emit({ type: 'collector.skipped', account: 'prod', collector: 'logs', reason: 'quota' });
    const samples = await made.scrape();
    expect(samples.get('opsd_collector_runs_skipped_total{account="prod",collector="logs",reason="quota"}')).toBe(1);
    expect(samples.get('msgsvc_up{account="prod",api="message"}')).toBe(0);
    expect(samples.get('opsd_series_limit')).toBe(2_000);
    expect(samples.get('opsd_series_dropped_total')).toBeGreaterThan(10_000);
    const warned = heard.filter(({ type }) => type === 'series.refused');
    expect(new Set(warned.map((event) => JSON.stringify(event))).size).toBe(warned.length);
    expect(warned).toContainEqual({ type: 'series.refused', family: 'msgsvc_url_group_endpoints', limit: 2_000 });
  });

  test('lets known series increase, and accepts new ones when there is room again', async () => {
    const made = await world({ metrics, stored: [created('a.example', 1)] });
    await fill(made);
    await made.totals.add('prod', [created('a.example', 1), created('late.example', 1)]);
    const full = await made.scrape();
    expect(full.get(createdOf('a.example'))).toBe(2);
    expect(full.has(createdOf('late.example'))).toBe(false);
    made.publish('urlGroups', groups(3));
    await made.scrape();
    await made.totals.add('prod', [created('new.example', 5)]);
    const roomy = await made.scrape();
    expect(Object.keys(seriesOf(roomy, 'msgsvc_url_group_endpoints'))).toHaveLength(3);
    expect(roomy.get(createdOf('new.example'))).toBe(5);
  });

  test('shows no part of a total: a rejected one stays so until a restart', async () => {
    const totals = createTotals(memoryStore());
    const made = await world({ metrics, totals });
    await fill(made);
    await totals.add('prod', [created('late.example', 100)]);
    made.publish('urlGroups', []);
    await made.scrape();
    await totals.add('prod', [created('late.example', 1)]);
    expect((await made.scrape()).has(createdOf('late.example'))).toBe(false);
    expect((await (await world({ metrics, totals })).scrape()).get(createdOf('late.example'))).toBe(101);
  });

  test('applies to the content of the store, too', async () => {
    const stored = Array.from({ length: 3_000 }, (_, index) => created(`d${index}.example`, 1));
    const made = await world({ metrics, stored });
    expect((await seriesTold(made)).exposed).toBeLessThanOrEqual(2_000);
    expect((await made.scrape()).get('opsd_series_dropped_total')).toBeGreaterThan(2_000);
  });
});
