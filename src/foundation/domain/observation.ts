/**
 * Observation: the result of one run of a collector, which exporters and policies read. A batch is complete or does not
 * exist. A newer batch replaces an older one as a whole.
 */
import type { WatchedFlowControlKey } from './flow-control.ts';
import type { SearchIndex, AccountReading, VectorStats } from './statistics.ts';
import type { WorkflowDlqEntry } from './workflow-dlq.ts';

/** Progress of reading and counting the log. The counts are in the aggregation's store. */
export interface LogProgress {
  /** End of the counted log, in epoch milliseconds. */
  readonly watermark: number;
  /** Entry mode of the log: an entry for each change of state, or one per message. Absent while unknown. */
  readonly entryMode?: 'transitions' | 'snapshot';
  /** Messages in flight by original destination. Absent if unknown. */
  readonly inFlight?: readonly InFlightMessages[];
}

export interface InFlightMessages {
  readonly destination: string;
  readonly messages: number;
  /** Epoch milliseconds of the due time of the longest overdue message; absent if none is due. */
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
  /** Epoch milliseconds of the end of the reading. */
  readonly at: number;
  readonly rows: readonly Observations[N][];
  /** Number of invalid rows of the response, which are not in `rows`. */
  readonly dropped: number;
}

/** URL Group with its endpoints (interface 2.1). */
export interface UrlGroup {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt?: number;
  /** Epoch milliseconds. */
  readonly updatedAt?: number;
  readonly endpoints: readonly { readonly name?: string; readonly url: string }[];
}
