import type { DataPoint } from './statistics.ts';

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
