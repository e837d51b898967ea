import type { DataPoint } from './statistics.ts';

/** A search index record (interface 2.8), without its tokens. Limits of -1 (unlimited) are Infinity here. */
export interface SearchIndex {
  /** The configured id of the index. */
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
  /** Whether it came of a partner's integration; whose address that is, nobody here needs to know. */
  readonly hasIntegration?: boolean;
  readonly throughput?: readonly DataPoint[];
}
