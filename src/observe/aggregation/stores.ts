/** Ports of all folds, as collectors receive them. */
import type { FlowControlFoldStore } from './flow-control-store.ts';
import type { LogFoldStore } from './log-store.ts';
import type { SeriesStore } from './series-store.ts';
import type { WorkflowDlqFoldStore } from './workflow-dlq-store.ts';

export interface FoldStores {
  readonly log: LogFoldStore;
  readonly series: SeriesStore;
  readonly flowControl: FlowControlFoldStore;
  readonly workflowDlq: WorkflowDlqFoldStore;
}
