/** The aggregations' stores for tests of their users: the log's in memory, the others over a database in memory. */
import { DatabaseSync } from 'node:sqlite';
import type { AggregationStores } from '#observe/aggregation/stores.ts';
import { MIGRATIONS } from '#storage/migrations.ts';
import { createSeriesStore } from '#storage/sqlite-series-store.ts';
import { createFlowControlStore } from '#storage/sqlite-flow-control-store.ts';
import { createTotals, type SqliteTotals } from '#storage/sqlite-totals.ts';
import { createWorkflowDlqStore } from '#storage/sqlite-workflow-dlq-store.ts';
import { MemoryAggregationStore } from './memory-aggregation-store.ts';

export interface MemoryStores extends AggregationStores {
  readonly totals: SqliteTotals;
  /** Opens the same database as a restarted process would. */
  restarted(): MemoryStores;
}

export function memoryStores(): MemoryStores {
  const db = new DatabaseSync(':memory:');
  for (const step of MIGRATIONS) db.exec(step);
  return storesOver(db);
}

function storesOver(db: DatabaseSync): MemoryStores {
  const store = {
    db,
    path: ':memory:',
    instance: 'here',
    epoch: 1,
    restored: false,
    problem: undefined,
    [Symbol.dispose]: () => undefined,
  };
  const totals = createTotals(store);
  return {
    totals,
    log: new MemoryAggregationStore(),
    series: createSeriesStore(store, totals),
    flowControl: createFlowControlStore(totals),
    workflowDlq: createWorkflowDlqStore(store, totals),
    restarted: () => storesOver(db),
  };
}
