/** The aggregations' stores over a database in memory, for tests of their users. */
import type { AggregationStores } from '#observe/aggregation/stores.ts';
import { SUM_COLUMNS } from '#observe/aggregation/minute-sums.ts';
import type { CounterValue, HistogramValue } from '#observe/aggregation/totals.ts';
import { each } from '#storage/database.ts';
import type { StoredDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { createSeriesStore } from '#storage/series-store.ts';
import { createHistoryStore } from '#storage/history-store.ts';
import { createFlowControlStore } from '#storage/flow-control-store.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createTotals, type StoredTotals } from '#storage/totals.ts';
import { createWorkflowDlqStore } from '#storage/workflow-dlq-store.ts';
import type { Store } from '#storage/sqlite.ts';
import { memoryStore } from './memory-store.ts';
import { storedCounters, storedHistograms } from './stored-totals.ts';

export interface MemoryStores extends AggregationStores {
  readonly totals: StoredTotals;
  readonly counters: (account: string) => CounterValue[];
  readonly histograms: (account: string) => HistogramValue[];
  /** Sums of the log in the history, over all minutes or hours. */
  readonly sums: (account: string, step: number) => Record<string, number>;
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
  const deliveries: Pick<StoredDeliveryOutbox, 'begin'> = {
    begin: (_account, written) => ({
      work: each('', [], () => []),
      committed: () => void lines.push(...written),
      failed: () => undefined,
    }),
  };
  return {
    totals,
    counters: (account) => storedCounters(store, account),
    histograms: (account) => storedHistograms(store, account),
    lines,
    sums(account, step) {
      const sums = SUM_COLUMNS.map((column) => `total(${column}) AS ${column}`).join(', ');
      const query = store.db.prepare(`SELECT ${sums} FROM history WHERE account = ? AND step = ?`);
      return { ...(query.get(account, step) as Record<string, number>) };
    },
    log: createLogAggregationStore(store, totals, { deliveries }),
    series: createSeriesStore(store, totals),
    flowControl: createFlowControlStore(totals),
    workflowDlq: createWorkflowDlqStore(store, totals),
    history: createHistoryStore(totals),
    restarted: () => storesOver(store, lines),
  };
}
