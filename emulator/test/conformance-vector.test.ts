/** Vector index statistics over HTTP (interface 2.10): figures of the same quantity agree. */
import { expect, test } from 'vitest';
import { manage } from './conformance-support.ts';
import { START, world, type World } from './world.ts';

const DAY = 86_400_000;

interface Vector extends Record<string, unknown> {
  readonly days: readonly string[];
}

/** Starts at the last second of 7 December: the seven days shown are the month so far. */
async function week(): Promise<World> {
  const service = await world();
  service.emulator.indexes.createVectorIndex('vec-1');
  await service.clock.advance(Date.UTC(2026, 11, 7, 23, 59, 59) - START);
  return service;
}

const read = async (service: World): Promise<Vector> =>
  (await manage<Vector>(service, 'GET', '/v2/vector/index/vec-1/stats')).json;

const ys = (points: unknown): readonly number[] => (points as { readonly y: number }[]).map(({ y }) => y);
const sum = (points: unknown): number => ys(points).reduce((total, y) => total + y, 0);

test('days add up to the month, and the last of them is today', async () => {
  const told = await read(await week());
  expect(told.days).toEqual(['Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday', 'Monday']);
  for (const kind of ['query', 'update', 'rerank']) {
    const points = told[`daily_${kind}_requests`];
    expect(ys(points)).toHaveLength(7);
    expect(sum(points)).toBe(told[`monthly_${kind}_count`]);
    expect(ys(points).at(-1)).toBe(told[`daily_${kind}_count`]);
    expect(told[`daily_${kind}_count`]).toBeGreaterThan(0);
  }
  expect(sum(told['daily_bandwidths'])).toBe(told['monthly_bandwidth_usage']);
});

test('stored vectors match their size, and bandwidth and cost increase', async () => {
  const service = await week();
  const before = await read(service);
  const bytes = Number(before['storage_usage']) / Number(before['current_vector_count']);
  expect(Number.isInteger(bytes)).toBe(true);
  expect(ys(before['data_size'])).toEqual(ys(before['vector_count']).map((count) => count * bytes));
  expect(ys(before['vector_count']).at(-1)).toBeLessThanOrEqual(Number(before['current_vector_count']));
  expect(before['pending_index_count']).toBeLessThan(Number(before['current_vector_count']));
  await service.clock.advance(DAY);
  const after = await read(service);
  expect(after['current_vector_count']).not.toBe(before['current_vector_count']);
  for (const name of ['monthly_cost', 'monthly_bandwidth_usage']) {
    expect(after[name], name).toBeGreaterThan(Number(before[name]));
  }
});

test('the 99th percentile is above the mean, and throughput matches the counts', async () => {
  const told = await read(await week());
  for (const kind of ['query', 'update', 'embeds', 'rerank']) {
    const [means, tails] = [ys(told[`${kind}_latency_mean`]), ys(told[`${kind}_latency_99`])];
    expect(means).toHaveLength(60);
    expect(means.every((mean, index) => mean > 0 && tails[index]! > mean)).toBe(true);
  }
  for (const kind of ['query', 'update']) {
    const hour = ys(told[`${kind}_throughput`]);
    expect(hour).toHaveLength(60);
    // The busiest minute, taken as a rate per second, cannot exceed the count of the day.
    expect(Math.max(...hour) * 60).toBeLessThanOrEqual(Number(told[`daily_${kind}_count`]));
    expect(Math.max(...hour)).toBeGreaterThan(0);
  }
});
