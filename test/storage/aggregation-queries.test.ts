/** No statement of the aggregations reads a whole table, except once at the start of the process. */
import { expect, test } from 'vitest';
import { KeySlices } from '#observe/aggregation/keys.ts';
import type { Database, Work } from '#storage/database.ts';
import { createDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createSeriesStore } from '#storage/series-store.ts';
import { createSpanOutbox } from '#storage/span-outbox.ts';
import { createTotals } from '#storage/totals.ts';
import { createWorkflowDlqStore } from '#storage/workflow-dlq-store.ts';
import { memoryStore } from '../support/memory-store.ts';

const A = 'production';
/** Statements that read a whole table at the start, or its first rows in the order of its key. */
const WHOLE: ReadonlySet<string> = new Set([
  'SELECT account, label, value, idle_ms FROM label_values ORDER BY id',
  'SELECT coalesce(sum(spans), 0) AS spans FROM span_outbox',
  'SELECT made_at FROM span_outbox ORDER BY id LIMIT 1',
  'SELECT count(*) AS lines FROM delivery_lines',
  'SELECT id, line FROM delivery_lines ORDER BY id LIMIT 500',
]);

/** Runs every operation of the stores, and returns their statements. */
async function statements(): Promise<{ readonly sql: ReadonlySet<string>; readonly plan: (sql: string) => string[] }> {
  const store = memoryStore();
  const sql = new Set<string>();
  function* recorded<T>(work: Work<T>): Work<T> {
    let step = work.next();
    while (step.done !== true) {
      sql.add(step.value.sql);
      step = work.next(yield step.value);
    }
    return step.value;
  }
  const database: Database = {
    ...store.database,
    read: (work) => store.database.read(recorded(work)),
    transaction: (work, account) => store.database.transaction(recorded(work), account),
  };
  const opened = { ...store, database };
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
  const hours = [{ hour: 0, state: 'CREATED', count: 1 } as const];
  await log.commitLog({ ...commit, ...both, hours, seen: keys(), ended: keys() });
  await log.commitLog({ ...commit, closed: ['m'] });
  await log.loadLogState(A);
  await log.openRecords(A, ['n']);
  await log.expired(A, 5, 5);
  await log.hourCounts(A);
  await spans.settle([(await spans.next())!.id]);
  await deliveries.settle((await deliveries.next())!.ids);
  const series = createSeriesStore(opened, totals);
  await series.commitSeries({
    account: A,
    increments,
    records: [{ subject: 's', source: 'x', series: '', record: '' }],
  });
  await series.loadSeries(A, ['s', 't']);
  const dlq = createWorkflowDlqStore(opened, totals);
  const run = { dlqId: 'd', workflow: 'w', createdAt: 1 };
  const change = { account: A, increments: [], histograms: [], changed: [run], forgotten: ['e'], listedAt: 1 };
  await dlq.commitWorkflowDlq(A, () => change);
  const labels = createLabelStore(opened, totals);
  await labels.save([{ account: A, label: 'destination', value: 'a', idleMs: 1 }]);
  await labels.load();
  const places = [
    { metric: increments[0].metric, index: 0 },
    { metric: histogram.metric, index: 0 },
  ];
  await labels.evict(A, [{ label: 'destination', value: 'a', totals: places }], () => undefined);
  (await totals.follow(A))[Symbol.dispose]();
  await totals.countersOf(A, 'x');
  await createIncidentStore(opened).readMembers(() => undefined);
  const plan = (text: string) =>
    store.db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({ detail }) => String(detail));
  return { sql, plan };
}

test('every statement finds its rows by an index', async () => {
  const { sql, plan } = await statements();
  expect(sql.size).toBeGreaterThan(40);
  const scans = [...sql].filter(
    (text) => !WHOLE.has(text) && plan(text).some((step) => /^SCAN (?!json_each)/.test(step)),
  );
  expect(scans).toEqual([]);
  for (const text of WHOLE) expect(sql).toContain(text);
});
