/** The aggregations' stores over a database in memory, for tests of their users. */
import type { AggregationStores } from '#observe/aggregation/stores.ts';
import { createSeriesStore } from '#storage/sqlite-series-store.ts';
import { createFlowControlStore } from '#storage/sqlite-flow-control-store.ts';
import { createLogAggregationStore } from '#storage/sqlite-log-aggregation-store.ts';
import { createTotals, type SqliteTotals } from '#storage/sqlite-totals.ts';
import { createWorkflowDlqStore } from '#storage/sqlite-workflow-dlq-store.ts';
import type { Store } from '#storage/sqlite.ts';
import { memoryStore } from './memory-store.ts';

export interface MemoryStores extends AggregationStores {
  readonly totals: SqliteTotals;
  /** Committed lines about deliveries. */
  readonly lines: readonly string[];
  /** Opens the same database as a restarted process would. */
  restarted(): MemoryStores;
}

export function memoryStores(): MemoryStores {
  return storesOver(memoryStore(), []);
}

function storesOver(store: Store, lines: string[]): MemoryStores {
  const totals = createTotals(store);
  const deliveries = { write: (written: readonly string[]) => () => void lines.push(...written) };
  return {
    totals,
    lines,
    log: createLogAggregationStore(store, totals, { write: () => () => undefined, deliveries }),
    series: createSeriesStore(store, totals),
    flowControl: createFlowControlStore(totals),
    workflowDlq: createWorkflowDlqStore(store, totals),
    restarted: () => storesOver(store, lines),
  };
}
