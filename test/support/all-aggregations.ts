/** Every operation of the aggregations' stores once, over any database. */
import { KeySlices } from '#observe/aggregation/keys.ts';
import { SUM_COLUMNS } from '#observe/aggregation/minute-sums.ts';
import { createDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createSeriesStore } from '#storage/series-store.ts';
import { createSpanOutbox } from '#storage/span-outbox.ts';
import { createTotals } from '#storage/totals.ts';
import { createWorkflowDlqStore } from '#storage/workflow-dlq-store.ts';
import type { Database } from '#storage/database.ts';

const A = 'production';

/** Runs the operations, and returns what they read. */
export async function runAggregations(database: Database): Promise<readonly unknown[]> {
  const opened = { database };
  const totals = createTotals(opened);
  const spans = await createSpanOutbox(opened);
  const deliveries = await createDeliveryOutbox(opened, { onDropped: () => undefined });
  const increments = [{ metric: 'msgsvc_messages_created_total', labels: ['a'], by: 1 }] as const;
  const histogram = {
    metric: 'msgsvc_message_delivery_duration_seconds',
    labels: ['a'],
    buckets: [1],
    sum: 1,
  } as const;
  const keys = () => {
    const slices = new KeySlices(60_000);
    slices.add(1, { a: 1, b: 1, c: 1 });
    return slices;
  };
  const log = createLogAggregationStore(opened, totals, { spans, deliveries });
  const batch = { protocol: 'http/json', head: '{}', body: new Uint8Array(1), spans: 1, madeAt: 1 } as const;
  const message = (messageId: string) => ({ messageId, expires: 1, destination: 'a', record: '[]' });
  const commit = { account: A, watermark: 1, keptFrom: 1, increments, histograms: [histogram] };
  const both = { opened: [message('m'), message('n')], spans: { batches: [batch], leftOpen: ['m'] }, lines: ['{}'] };
  const minutes = [{ minute: 0, values: SUM_COLUMNS.map((_column, index) => index) }];
  await log.commitLog({ ...commit, ...both, minutes, seen: keys(), ended: keys() });
  await log.commitLog({ ...commit, closed: ['m'] });
  const { seen, open, leftOpen } = await createLogAggregationStore(opened, totals).memory(A);
  const read: unknown[] = [seen.size, [...open], [...leftOpen]];
  read.push(await log.loadLogState(A), await log.openRecords(A, ['m', 'n']), await log.expired(A, 5, 5));
  read.push(await log.hourCounts(A), spans.queued(), deliveries.queued);
  const { id, body, ...rest } = (await spans.next())!;
  const lines = (await deliveries.next())!;
  read.push(rest, Buffer.from(body).toString('hex'), lines.text);
  await spans.settle([id]);
  await deliveries.settle(lines.ids);
  read.push(spans.queued(), deliveries.queued, await spans.next(), await deliveries.next());
  const series = createSeriesStore(opened, totals);
  await series.commitSeries({
    account: A,
    increments,
    records: [{ subject: 's', source: 'x', series: '', record: '' }],
  });
  read.push(await series.loadSeries(A, ['s', 't']));
  const dlq = createWorkflowDlqStore(opened, totals);
  const run = { dlqId: 'd', workflowRunId: 'run-d', workflow: 'w', createdAt: 1 };
  const change = { account: A, increments: [], histograms: [], changed: [run], forgotten: ['e'], listedAt: 1 };
  await dlq.commitWorkflowDlq(A, () => change);
  const stored = await createWorkflowDlqStore(opened, totals).memory(A);
  read.push(stored.listedAt, [...stored.runs.values()]);
  const labels = createLabelStore(opened, totals);
  await labels.save([{ account: A, label: 'destination', value: 'a', idleMs: 1 }]);
  read.push(await labels.load());
  const places = [
    { metric: increments[0].metric, index: 0 },
    { metric: histogram.metric, index: 0 },
  ];
  await labels.evict(A, [{ label: 'destination', value: 'a', totals: places }], () => undefined);
  const { counters, histograms } = await totals.follow(A);
  read.push(counters, histograms, (await totals.countersOf([A], increments[0].metric)).get(A), await labels.load());
  return read;
}
