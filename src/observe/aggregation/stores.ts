/** Ports of all aggregations, as collectors receive them. */
import type { FlowControlAggregationStore } from './flow-control-store.ts';
import type { HistoryStore } from './history-store.ts';
import type { LogAggregationStore } from './log-store.ts';
import type { SeriesStore } from './series-store.ts';
import type { WorkflowDlqAggregationStore } from './workflow-dlq-store.ts';

export interface AggregationStores {
  readonly log: LogAggregationStore;
  readonly series: SeriesStore;
  readonly flowControl: FlowControlAggregationStore;
  readonly workflowDlq: WorkflowDlqAggregationStore;
  readonly history: HistoryStore;
}
