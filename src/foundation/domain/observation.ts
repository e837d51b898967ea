/**
 * An observation is what one collector saw in one run: the fact that exporters and policies both read.
 * A batch is complete or it does not exist; a newer batch replaces an older one as a whole.
 */
import type { WatchedFlowControlKey } from './flow-control.ts';
import type { SearchIndex } from './search-index.ts';
import type { AccountReading, VectorStats } from './statistics.ts';
import type { UrlGroup } from './url-group.ts';
import type { WorkflowDlqEntry } from './workflow-dlq.ts';

/** How far the log has been read and counted. The counts themselves live in the fold's store. */
export interface LogProgress {
  /** Epoch milliseconds: entries up to here are counted. */
  readonly watermark: number;
  /** Whether the log tells each change of state or a message's present state; absent while that is not known. */
  readonly form?: 'transitions' | 'present';
  /** By destination, as it came. Absent where it cannot be known. */
  readonly inFlight?: readonly InFlightMessages[];
}

export interface InFlightMessages {
  readonly destination: string;
  readonly messages: number;
  /** Epoch milliseconds when the oldest of those that are due became due; absent when none is. */
  readonly oldestDueAt?: number;
}

/** Row type of each collector's batch, by the collector's name in the configuration. */
export interface Observations {
  readonly logs: LogProgress;
  readonly accountStats: AccountReading;
  readonly flowControl: WatchedFlowControlKey;
  readonly workflowDlq: WorkflowDlqEntry;
  readonly urlGroups: UrlGroup;
  readonly searchIndexes: SearchIndex;
  readonly vectorStats: VectorStats;
}

export const COLLECTOR_NAMES = [
  'logs',
  'accountStats',
  'flowControl',
  'workflowDlq',
  'urlGroups',
  'searchIndexes',
  'vectorStats',
] as const satisfies readonly (keyof Observations)[];

export type CollectorName = (typeof COLLECTOR_NAMES)[number];

export interface Batch<N extends CollectorName = CollectorName> {
  readonly account: string;
  readonly collector: N;
  /** Epoch milliseconds when the read that made this batch was finished. */
  readonly at: number;
  readonly rows: readonly Observations[N][];
  /** Rows of the answer that could not be understood and are not in `rows`. */
  readonly dropped: number;
}
