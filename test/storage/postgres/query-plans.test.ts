/** Reads and deletes by many ids or keys find their rows by an index, also among many other rows. */
import { describe, expect, test } from 'vitest';
import { createDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { all, run, workOf, type Database, type Statement, type Work } from '#storage/database.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { timelineQueries } from '#storage/ledger-timeline.ts';
import { recentRunsQuery } from '#storage/ledger-runs.ts';
import { createSpanOutbox } from '#storage/span-outbox.ts';
import { createTotals } from '#storage/totals.ts';
import { createWorkflowDlqStore } from '#storage/workflow-dlq-store.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { postgresStore } from '../../support/postgres/test-databases.ts';

const ROWS = 100_000;
const ASKED = 50;
const SEEDS = [
  `INSERT INTO delivery_lines (account, line) SELECT 'a', '{}' FROM generate_series(1, ${ROWS})`,
  `INSERT INTO span_outbox (account, protocol, head, body, spans, made_at)
   SELECT 'a', '', '', '', 1, 1 FROM generate_series(1, ${ROWS})`,
  `INSERT INTO workflow_dlq_runs (account, dlq_id, workflow, created)
   SELECT 'a', 'id ' || n, 'w', 1 FROM generate_series(1, ${ROWS}) AS n`,
  `INSERT INTO log_open (account, message_id, expires, destination, record)
   SELECT 'a', 'id ' || n, 1, 'd', '[]' FROM generate_series(1, ${ROWS}) AS n`,
  `INSERT INTO incident_members (account, queue, dlq_id, incident, at)
   SELECT 'a', 'workflow', 'id ' || n, 'i', 1 FROM generate_series(1, ${ROWS}) AS n`,
  `INSERT INTO runs (policy, account, at, cause) SELECT 'p' || n % 3, 'a', n, '{}' FROM generate_series(1, ${ROWS}) AS n`,
  `INSERT INTO history (account, step, at) SELECT 'a' || n % 50, 60000, 60000::bigint * n FROM generate_series(1, ${ROWS}) AS n`,
  'ANALYZE',
];

describe.each(SERVERS)('%s', (server) => {
  test('for pages', async () => {
    const database = await postgresStore(server);
    for (const seed of SEEDS) await database.transaction(run(seed));
    const { points } = timelineQueries(database.dialect);
    for (const [sql, ...values] of [
      [recentRunsQuery(database.dialect), '["p0","p1"]', 50],
      [points, 60_000, 60_000, 9_000_000, '["a1","a2"]', 60_000],
    ] as const) {
      const plan = await database.read(all(`EXPLAIN ANALYZE ${sql}`, ...values));
      const steps = plan.map((row) => String(Object.values(row)[0])).join('\n');
      expect(steps).not.toMatch(/Seq Scan on (?:runs|history)/);
      // No step reads more rows than the page shows, and a few more.
      const read = [...steps.matchAll(/actual time=\S+ rows=([\d.]+)|Rows Removed by Filter: (\d+)/g)];
      expect(Math.max(...read.map(([, rows, removed]) => Number(rows ?? removed)))).toBeLessThan(400);
    }
  });

  test('in each store', async () => {
    const opened = await postgresStore(server);
    for (const seed of SEEDS) await opened.transaction(run(seed));
    const asked: Statement[] = [];
    function* recorded<T>(work: Work<T>): Work<T> {
      let step = work.next();
      while (step.done !== true) {
        asked.push(step.value);
        step = work.next(yield step.value);
      }
      return step.value;
    }
    const database: Database = {
      dialect: opened.dialect,
      read: (work) => opened.read(recorded(workOf(work))),
      view: (use) => use(database),
      transaction: (work) => opened.transaction(recorded(workOf(work))),
    };
    const store = { database };
    const ids = Array.from({ length: ASKED }, (_, n) => n + 1);
    const keys = ids.map((id) => `id ${id}`);
    const account = 'a';
    const scope = { accounts: [account], replica: '' };
    const none = { changed: [], added: [], removed: [], merged: [], forgotten: [] };
    const totals = createTotals(store);
    const log = createLogAggregationStore(store, totals);
    const dlq = createWorkflowDlqStore(store, totals);
    await log.openRecords(account, keys);
    await log.commitLog({ account, watermark: 1, keptFrom: 1, increments: [], closed: keys });
    await dlq.commitWorkflowDlq(account, () => ({
      account,
      increments: [],
      histograms: [],
      changed: [],
      forgotten: keys,
    }));
    const removed = keys.map((dlqId) => ({ queue: 'workflow' as const, dlqId }));
    await createIncidentStore(store, scope).commit({ ...none, account, removed });
    await (await createSpanOutbox(store, scope)).settle(ids);
    await (await createDeliveryOutbox(store, { onDropped: () => undefined }, scope)).settle(ids);
    const bySet = asked.filter(({ rows }) => rows[0]!.some((value) => String(value).length > ASKED));
    expect(bySet).toHaveLength(8);
    for (const { sql, rows } of bySet) {
      const plan = await opened.read(all(`EXPLAIN ${sql}`, ...rows[0]!));
      const steps = plan.map((row) => String(Object.values(row)[0])).join('\n');
      expect(steps).toMatch(/Index (?:Only )?Scan|Bitmap Index Scan/);
      expect(steps).not.toContain('Seq Scan');
    }
  });
});
