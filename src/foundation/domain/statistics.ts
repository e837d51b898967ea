/** Statistics as the service serves them (interface 2.9 to 2.11). */
import type { MessageState } from './log-entry.ts';

export interface DataPoint {
  /** Epoch milliseconds, from `x`. */
  readonly at: number;
  readonly value: number;
}

/** A point of `daily_requests`. */
export interface RequestsPoint extends DataPoint {
  readonly workflowMessages?: number;
  readonly workflowRuns?: number;
}

export interface NamedSeries {
  readonly id: string;
  readonly points: readonly DataPoint[];
}

/** Account statistics (2.11). An array the answer left out is absent, not empty. */
export interface AccountStats {
  readonly days?: readonly string[];
  /** Messages held in the message DLQ. */
  readonly dlqMessages?: number;
  /** Dollars. */
  readonly monthBillingUsd?: number;
  /** Dollars a day. */
  readonly dailyBillings?: readonly DataPoint[];
  /** Bytes a day. */
  readonly dailyBandwidths?: readonly DataPoint[];
  readonly dailyRequests?: readonly RequestsPoint[];
  /** Points of the asked period. */
  readonly used?: readonly DataPoint[];
  readonly usedWorkflow?: readonly DataPoint[];
  /** Bytes. */
  readonly bandwidthUsed?: readonly DataPoint[];
  readonly messages?: readonly NamedSeries[];
  readonly workflowMessages?: readonly NamedSeries[];
}

/** How far a series of points is counted. */
export interface FoldedSeries {
  readonly source: string;
  /** As it stands in labels; empty for a source that is one series. */
  readonly series: string;
  /** Epoch milliseconds: the time of the newest point that was counted. */
  readonly at: number;
}

/** Where the spend of the month is going. What cannot be known is absent. */
export interface Spend {
  /** Billed in the month so far; dollars. */
  readonly monthUsd?: number;
  /** Of today, and as much of yesterday as makes 24 hours, taking its billing as even; dollars. */
  readonly last24hUsd?: number;
  /** Median of the last 14 whole days; absent while fewer than 3 of them are known. */
  readonly medianDayUsd?: number;
  /** Dollars a day, by the last whole days. */
  readonly paceUsd?: number;
  /** Requests of the last 24 hours, as `last24hUsd`. */
  readonly requestsLastDay?: number;
  /** Dollars at the end of the month. */
  readonly forecastUsd?: number;
  /** Epoch milliseconds when the known budget is used up; absent when that is not this month. */
  readonly exhaustedAt?: number;
}

/** Today's points together, beside what the daily arrays say of today. */
export interface PointsCheck {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly sources: readonly {
    readonly source: string;
    readonly points: number;
    readonly day: number;
    /** They differ by more than late points explain. */
    readonly isWrong: boolean;
  }[];
}

/** What the log and the statistics say of a whole hour. */
export interface Reconciled {
  readonly state: MessageState;
  /** Epoch milliseconds at which the hour begins. */
  readonly hour: number;
  readonly logs: number;
  readonly statistics: number;
  /** They differ by no more than rounding explains. */
  readonly agrees: boolean;
  /** They do not, nor did they in the hour before, to the same side. */
  readonly isLasting: boolean;
}

/** What a run of the collector read, and what became of it. */
export interface AccountReading extends AccountStats {
  readonly folded?: readonly FoldedSeries[];
  readonly spend?: Spend;
  /** The last one; of an hour ago at most, while it could be made. */
  readonly pointsCheck?: PointsCheck;
  /** Of the newest whole hour that can be compared, by state; absent where the log is not read. */
  readonly reconciled?: readonly Reconciled[];
}

export const VECTOR_OPERATIONS = ['query', 'update', 'embed', 'rerank'] as const;
type VectorOperation = (typeof VECTOR_OPERATIONS)[number];

/** Vector index statistics (2.10). Latencies are in the unit the service uses, which the interface does not show. */
export interface VectorStats {
  /** The configured id of the index. */
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
  /** Bytes a day, of the last days. */
  readonly dailyBandwidths?: readonly DataPoint[];
  /** Points of the asked period; in the unit the service uses, which the interface does not show. */
  readonly dataSize?: readonly DataPoint[];
  readonly latencyMean: Readonly<Partial<Record<VectorOperation, readonly DataPoint[]>>>;
  readonly latencyP99: Readonly<Partial<Record<VectorOperation, readonly DataPoint[]>>>;
  readonly throughput: Readonly<Partial<Record<'query' | 'update', readonly DataPoint[]>>>;
}

/** The `period` of both statistics operations. */
export const STATS_PERIODS = ['1h', '3h', '12h', '1d', '3d', '7d', '30d'] as const;
export type StatsPeriod = (typeof STATS_PERIODS)[number];
