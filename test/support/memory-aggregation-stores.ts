/** The aggregations' stores for tests of their users: the log's in memory, the others over a database in memory. */
import type { AggregationStores } from '#observe/aggregation/stores.ts';
import { createSeriesStore } from '#storage/sqlite-series-store.ts';
import { createFlowControlStore } from '#storage/sqlite-flow-control-store.ts';
import { createTotals, type SqliteTotals } from '#storage/sqlite-totals.ts';
import { createWorkflowDlqStore } from '#storage/sqlite-workflow-dlq-store.ts';
import type { Store } from '#storage/sqlite.ts';
import { MemoryAggregationStore } from './memory-aggregation-store.ts';
import { memoryStore } from './memory-store.ts';

export interface MemoryStores extends AggregationStores {
  readonly totals: SqliteTotals;
  /** Opens the same database as a restarted process would. */
  restarted(): MemoryStores;
}

export function memoryStores(): MemoryStores {
  return storesOver(memoryStore());
}

function storesOver(store: Store): MemoryStores {
  const totals = createTotals(store);
  return {
    totals,
    log: new MemoryAggregationStore(),
    series: createSeriesStore(store, totals),
    flowControl: createFlowControlStore(totals),
    workflowDlq: createWorkflowDlqStore(store, totals),
    restarted: () => storesOver(store),
  };
}
