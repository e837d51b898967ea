/** Compares the counts of the workflow DLQ with the activity of the embedded service, over HTTP and the real client. */
import { expect, test } from 'vitest';
import { workflowDlq } from '#observe/collectors/workflow-dlq.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import { TOKEN, world } from '../../../emulator/test/world.ts';
import { httpSink } from '../../support/http-sink.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { testClient } from '../../support/test-emulator.ts';
import { ACCOUNT, context, target } from './fake-context.ts';

const MINUTE = 60_000;

test("entered and departed runs match the service's activity, across a restart", async () => {
  const service = await world();
  const sink = await httpSink((_request, response) => {
    response.statusCode = 503;
    response.end('down');
  });
  const client = testClient(service.emulator.url, { token: TOKEN });
  let stores = memoryStores();
  let previous: Batch<'workflowDlq'> | undefined;
  const own = new Set<string>();
  const run = async (): Promise<readonly string[]> => {
    const { rows, dropped } = await workflowDlq.collect(
      client,
      context<'workflowDlq'>({
        target: target(),
        clock: service.clock,
        stores,
        actedOn: async () => new Map([...own].map((dlqId) => [dlqId, 'resumed' as const])),
        ...(previous !== undefined && { previous }),
      }),
    );
    previous = { account: ACCOUNT, collector: 'workflowDlq', at: service.clock.now(), rows, dropped };
    return rows.map(({ dlqId }) => dlqId);
  };
  const fail = async (runs: number): Promise<void> => {
    for (let n = 0; n < runs; n++) {
      await service.call('POST', `/v2/trigger/${sink.url}/order/${n}`, { headers: { 'Svc-Retries': '0' } });
    }
    await service.drain(MINUTE);
  };
  const sum = (metric: string): number =>
    stores
      .counters(ACCOUNT)
      .filter((row) => row.metric === metric)
      .reduce((total, { value }) => total + value, 0);

  await fail(3);
  await run();
  await fail(120);
  await service.clock.advance(MINUTE);
  const listed = await run();
  expect(listed).toHaveLength(123);
  expect(sum('msgsvc_workflow_dlq_entered_runs_total')).toBe(120);

  // The daemon resumes five, which fail again under other ids. Another client deletes seven.
  for (const dlqId of listed.slice(0, 5)) {
    own.add(dlqId);
    await service.call('POST', `/v2/workflows/dlq/resume?dlqIds=${dlqId}`);
  }
  const gone = listed.slice(10, 17).map((dlqId) => `dlqIds=${dlqId}`);
  await service.call('DELETE', `/v2/workflows/dlq?${gone.join('&')}`);
  await service.drain(MINUTE);
  stores = stores.restarted();
  previous = undefined;
  // Two pages: the seven are requested individually, and counted at once.
  await service.clock.advance(15 * MINUTE);
  await run();
  expect(previous!.rows).toHaveLength(123 - 7);
  expect(sum('msgsvc_workflow_dlq_entered_runs_total')).toBe(125);
  const left = stores.counters(ACCOUNT).filter(({ metric }) => metric === 'msgsvc_workflow_dlq_left_runs_total');
  expect(Object.fromEntries(left.map(({ labels, value }) => [labels[1], value]))).toEqual({
    resumed: 5,
    other: 7,
    deleted: 0,
    expired: 0,
    unknown: 0,
  });
});
