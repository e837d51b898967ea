/** The log and the statistics of a real service, counted from both sides for hours of its own time. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { collectors } from '#observe/collectors/index.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createSeriesStore } from '#storage/series-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { ACCOUNT as ID, MANAGEMENT, START, TOKEN, world } from '../../../emulator/test/world.ts';
import { httpSink } from '../../support/http-sink.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { testClient } from '../../support/test-emulator.ts';
import { context, target } from './fake-context.ts';

const MINUTE = 60_000;

test('whole hours agree to the message, and points add up to their day', async () => {
  const service = await world({ clock: systemClock, time: 'virtual', startAt: START });
  const { emulator } = service;
  const now = (): number => emulator.control.clock().now;
  const clock: Clock = { ...systemClock, now };
  const sink = await httpSink((request, response) => void response.writeHead(request.url === '/bad' ? 500 : 200).end());
  const client = testClient(emulator.url, { token: TOKEN, management: MANAGEMENT });
  const store = openStore(join(tempDir(), 'opsd.db'));
  onTestFinished(() => store[Symbol.dispose]());
  const totals = createTotals(store);
  const stores = {
    ...memoryStores(),
    log: createLogAggregationStore(store, totals),
    series: createSeriesStore(store, totals),
  };
  let previousLogs: Batch<'logs'> | undefined;
  let previous: Batch<'accountStats'> | undefined;
  const collect = async (): Promise<void> => {
    const of = { clock, stores, target: target({ accountId: ID }) };
    const logs = await collectors.logs.collect(
      client,
      context({ ...of, ...(previousLogs && { previous: previousLogs }) }),
    );
    previousLogs = { account: 'production', collector: 'logs', at: now(), ...logs };
    const stats = await collectors.accountStats.collect(client, context({ ...of, ...(previous && { previous }) }));
    previous = { account: 'production', collector: 'accountStats', at: now(), ...stats };
  };

  await collect();
  for (let minute = 0; minute < 3 * 60 + 30; minute += 3) {
    await emulator.advance(3 * MINUTE);
    const path = minute % 9 === 0 ? '/bad' : '/good';
    const what = minute % 4 === 0 ? 'trigger' : 'publish';
    const headers = { 'Svc-Retries': '1', 'Svc-Delay': `${minute % 7}m` };
    await service.call('POST', `/v2/${what}/${sink.url}${path}`, { headers, body: '{}' });
    await emulator.idle();
    await collect();
  }
  const [row] = previous!.rows;
  const byState = Object.fromEntries((row?.reconciled ?? []).map(({ state, ...compared }) => [state, compared]));
  expect(Object.keys(byState)).toEqual(['CREATED', 'DELIVERED', 'ERROR', 'CANCELLED']);
  for (const { logs, statistics, agrees, isLasting, hour } of Object.values(byState)) {
    expect(statistics).toBe(logs);
    expect({ agrees, isLasting, hour }).toEqual({ agrees: true, isLasting: false, hour: START + 2 * 60 * MINUTE });
  }
  expect(byState['CREATED']!.logs).toBe(20);
  expect(byState['DELIVERED']!.logs).toBeGreaterThan(10);
  expect(byState['ERROR']!.logs).toBeGreaterThan(5);
  expect(row?.pointsCheck?.sources).toEqual([
    expect.objectContaining({ source: 'used', isWrong: false }),
    expect.objectContaining({ source: 'used_workflow', isWrong: false }),
    expect.objectContaining({ source: 'bandwidth', isWrong: false }),
  ]);
  for (const { points, day } of row!.pointsCheck!.sources) expect(points).toBe(day);
});
