/** Statistics as returned by the service (interface 2.9 to 2.11). */
import type { MessageState } from './log-entry.ts';

/**
 * Largest plausible amounts. Larger ones, such as an unsigned 64-bit counter below 0, would ruin a counter: a sum in
 * floating point is exact below 2^53.
 */
export const LARGEST = { count: 1e12, bytes: 1e15, dollars: 1e9 } as const;

export interface DataPoint {
  /** Epoch milliseconds, from `x`. */
  readonly at: number;
  readonly value: number;
}

/** Point of `daily_requests`. */
export interface RequestsPoint extends DataPoint {
  readonly workflowMessages?: number;
  readonly workflowRuns?: number;
}

export interface NamedSeries {
  readonly id: string;
  readonly points: readonly DataPoint[];
}

/** Account statistics (2.11). An array that the response lacks is absent, not empty. */
export interface AccountStats {
  readonly days?: readonly string[];
  /** Messages in the message DLQ. */
  readonly dlqMessages?: number;
  /** US dollars. */
  readonly monthBillingUsd?: number;
  /** US dollars per day. */
  readonly dailyBillings?: readonly DataPoint[];
  /** Bytes per day. */
  readonly dailyBandwidths?: readonly DataPoint[];
  readonly dailyRequests?: readonly RequestsPoint[];
  /** Points of the requested period. */
  readonly used?: readonly DataPoint[];
  readonly usedWorkflow?: readonly DataPoint[];
  /** Bytes. */
  readonly bandwidthUsed?: readonly DataPoint[];
  readonly messages?: readonly NamedSeries[];
  readonly workflowMessages?: readonly NamedSeries[];
}

/** Counting state of a series of points. */
export interface AggregatedSeries {
  readonly source: string;
  /** Label value; empty for a source with a single series. */
  readonly series: string;
  /** Epoch milliseconds of the newest counted point. */
  readonly at: number;
}

/** Projected spend of the month. Unknown values are absent. */
export interface Spend {
  /** Amount billed in the month so far, in US dollars. */
  readonly monthUsd?: number;
  /** Amount of today plus the part of yesterday that completes 24 hours, as if evenly distributed; US dollars. */
  readonly last24hUsd?: number;
  /** Amount of the 24 hours before, computed likewise. */
  readonly dayBeforeUsd?: number;
  /** Median of the last 14 whole days; absent while fewer than 3 of them are known. */
  readonly medianDayUsd?: number;
  /** US dollars per day, from the last whole days. */
  readonly paceUsd?: number;
  /** Requests of the last 24 hours, computed as `last24hUsd`. */
  readonly requestsLastDay?: number;
  /** Forecast for the end of the month, in US dollars. */
  readonly forecastUsd?: number;
  /** Epoch milliseconds when the known budget is exhausted; absent if that is not this month. */
  readonly exhaustedAt?: number;
}

/** Comparison of the sum of today's points with today's value in the daily arrays. */
export interface PointsCheck {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly sources: readonly {
    readonly source: string;
    readonly points: number;
    readonly day: number;
    /** True if they differ by more than late points explain. */
    readonly isWrong: boolean;
  }[];
}

/** Counts of the log and of the statistics for a whole hour. */
export interface Reconciled {
  readonly state: MessageState;
  /** Epoch milliseconds at which the hour begins. */
  readonly hour: number;
  readonly logs: number;
  readonly statistics: number;
  /** True if they differ by no more than rounding explains. */
  readonly agrees: boolean;
  /** True if they disagree, and disagreed to the same side in the previous hour. */
  readonly isLasting: boolean;
}

/** Statistics of a collector run, and the results of counting them. */
export interface AccountReading extends AccountStats {
  readonly aggregated?: readonly AggregatedSeries[];
  readonly spend?: Spend;
  /** Last check; at most an hour old while checks succeed. */
  readonly pointsCheck?: PointsCheck;
  /** Comparison for the newest whole hour, by state; absent if the log is not read. */
  readonly reconciled?: readonly Reconciled[];
}

export const VECTOR_OPERATIONS = ['query', 'update', 'embed', 'rerank'] as const;
type VectorOperation = (typeof VECTOR_OPERATIONS)[number];

/** Vector index statistics (2.10). Latencies are in the unit of the service, which the interface does not define. */
export interface VectorStats {
  /** Configured id of the index. */
  readonly index: string;
  readonly vectors?: number;
  readonly pendingVectors?: number;
  readonly storageBytes?: number;
  readonly dayQueries?: number;
  readonly dayUpdates?: number;
  readonly dayReranks?: number;
  readonly monthQueries?: number;
  readonly monthUpdates?: number;
  readonly monthReranks?: number;
  readonly monthBandwidthBytes?: number;
  readonly monthCostUsd?: number;
  /** Bytes per day, for the last days. */
  readonly dailyBandwidths?: readonly DataPoint[];
  /** Points of the requested period, in the unit of the service, which the interface does not define. */
  readonly dataSize?: readonly DataPoint[];
  readonly latencyMean: Readonly<Partial<Record<VectorOperation, readonly DataPoint[]>>>;
  readonly latencyP99: Readonly<Partial<Record<VectorOperation, readonly DataPoint[]>>>;
  readonly throughput: Readonly<Partial<Record<'query' | 'update', readonly DataPoint[]>>>;
}

/** `period` of both statistics operations. */
export const STATS_PERIODS = ['1h', '3h', '12h', '1d', '3d', '7d', '30d'] as const;
export type StatsPeriod = (typeof STATS_PERIODS)[number];

/** Search index record (interface 2.8), without its tokens. Limits of -1 (unlimited) become Infinity. */
export interface SearchIndex {
  /** Configured id of the index. */
  readonly index: string;
  readonly name: string;
  /** `free`, `payg` or `fixed`. */
  readonly plan: string;
  readonly region: string;
  readonly maxVectors?: number;
  readonly maxMonthlyReranks?: number;
  readonly maxDailyUpdates?: number;
  readonly maxDailyQueries?: number;
  /** Bytes. */
  readonly maxMonthlyBandwidth?: number;
  readonly maxWritesPerSecond?: number;
  readonly maxQueriesPerSecond?: number;
  readonly maxReadsPerRequest?: number;
  readonly maxWritesPerRequest?: number;
  /** Epoch milliseconds. */
  readonly createdAt?: number;
  readonly inputEnrichmentEnabled?: boolean;
  /** True if the index belongs to a partner integration. The address is not kept. */
  readonly hasIntegration?: boolean;
  readonly throughput?: readonly DataPoint[];
}
