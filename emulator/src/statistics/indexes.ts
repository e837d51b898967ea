/**
 * Search and vector indexes. A search index uses a vector index of the same id, so its vector statistics are readable.
 * A vector index alone can be created only here, not through the interface.
 *
 * The activity of an index is a generated workload (`index-workload.ts`): the service performs no real searches.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import { randomId } from '../state/ids.ts';
import type { FractionDigits } from '../state/switches.ts';
import type { StatsPeriodName } from './statistics-period.ts';
import { throughputVector, vectorStatistics, type WorkloadReading } from './vector-statistics.ts';

export const INDEX_REGIONS = ['eu-west-1', 'us-central1'] as const;
type IndexRegion = (typeof INDEX_REGIONS)[number];

export const INDEX_TYPES = ['free', 'payg', 'fixed'] as const;
type IndexType = (typeof INDEX_TYPES)[number];

interface NewIndex {
  /** Random when absent. */
  readonly id?: string;
  readonly name: string;
  readonly region: IndexRegion;
  readonly type: IndexType;
  readonly customerId: string;
}

export interface Indexes {
  /** @returns the record of interface 2.8, credentials included */
  create(index: NewIndex): object;
  /** Returns the complete input of `restore`, for storage. */
  snapshot(): IndexesSnapshot;
  restore(snapshot: IndexesSnapshot): void;
  /** Creates a vector index without a search index. */
  createVectorIndex(id: string): void;
  /** Returns the record of interface 2.8, or undefined. */
  get(id: string): object | undefined;
  /** Returns false when no such index exists. */
  rename(id: string, name: string): boolean;
  /** Returns false when no such index exists. */
  transfer(id: string, customerId: string): boolean;
  /** Returns the statistics of interface 2.10 as of now, or undefined when no such vector index exists. */
  vectorStats(id: string, period: StatsPeriodName): object | undefined;
}

/** Limits by plan; -1 is unlimited. The interface gives no values. */
const LIMITS: Readonly<Record<IndexType, object>> = {
  free: {
    max_vector_count: 200_000,
    max_monthly_reranks: 1_000,
    max_daily_updates: 10_000,
    max_daily_queries: 10_000,
    max_monthly_bandwidth: 50_000_000_000,
    max_writes_per_second: 100,
    max_query_per_second: 100,
    max_reads_per_request: 100,
    max_writes_per_request: 100,
  },
  payg: {
    max_vector_count: 2_000_000,
    max_monthly_reranks: -1,
    max_daily_updates: -1,
    max_daily_queries: -1,
    max_monthly_bandwidth: 1_000_000_000_000,
    max_writes_per_second: 1_000,
    max_query_per_second: 1_000,
    max_reads_per_request: 1_000,
    max_writes_per_request: 1_000,
  },
  fixed: {
    max_vector_count: 10_000_000,
    max_monthly_reranks: -1,
    max_daily_updates: 1_000_000,
    max_daily_queries: 1_000_000,
    max_monthly_bandwidth: -1,
    max_writes_per_second: 1_000,
    max_query_per_second: 1_000,
    max_reads_per_request: 1_000,
    max_writes_per_request: 1_000,
  },
};

interface IndexState extends NewIndex {
  readonly id: string;
  readonly endpoint: string;
  readonly token: string;
  readonly readOnlyToken: string;
  /** Unix seconds. */
  readonly createdAt: number;
}

export interface IndexesSnapshot {
  readonly indexes: readonly IndexState[];
  readonly vectorIndexes: readonly string[];
}

export interface IndexesOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Returns the fraction digits of the times of points; nine when absent. */
  readonly fractionDigits?: () => FractionDigits;
}

export function createIndexes({ clock, random, fractionDigits = () => 9 }: IndexesOptions): Indexes {
  const indexes = new Map<string, IndexState>();
  const vectorIndexes = new Set<string>();
  const reading = (): WorkloadReading => ({ now: clock.now(), fractionDigits: fractionDigits() });

  function recordOf(index: IndexState): object {
    return {
      customer_id: index.customerId,
      id: index.id,
      name: index.name,
      endpoint: index.endpoint,
      type: index.type,
      region: index.region,
      integration_email: '',
      token: index.token,
      read_only_token: index.readOnlyToken,
      ...LIMITS[index.type],
      creation_time: index.createdAt,
      input_enrichment_enabled: true,
      throughput_vector: throughputVector(index.id, reading()),
    };
  }

  function change(id: string, part: Partial<IndexState>): boolean {
    const index = indexes.get(id);
    if (index === undefined) return false;
    indexes.set(id, { ...index, ...part });
    return true;
  }

  return {
    snapshot: () => ({ indexes: [...indexes.values()], vectorIndexes: [...vectorIndexes] }),
    restore(snapshot) {
      for (const index of snapshot.indexes) indexes.set(index.id, index);
      for (const id of snapshot.vectorIndexes) vectorIndexes.add(id);
    },
    create(index) {
      const id = index.id ?? uuid(random);
      // Clients of the index connect to the endpoint, so a later rename does not change it.
      const endpoint = `https://${slugOf(index.name)}-${hex(random, 5)}-${index.region}-search.example`;
      const state = {
        ...index,
        id,
        endpoint,
        token: randomId('', random),
        readOnlyToken: randomId('', random),
        createdAt: Math.floor(clock.now() / 1_000),
      };
      indexes.set(id, state);
      vectorIndexes.add(id);
      return recordOf(state);
    },
    createVectorIndex: (id) => void vectorIndexes.add(id),
    get(id) {
      const index = indexes.get(id);
      return index && recordOf(index);
    },
    rename: (id, name) => change(id, { name }),
    transfer: (id, customerId) => change(id, { customerId }),
    vectorStats: (id, period) => (vectorIndexes.has(id) ? vectorStatistics(id, period, reading()) : undefined),
  };
}

function slugOf(name: string): string {
  const slug = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return (
    slug
      .slice(0, 20)
      .replace(/(?<!-)-+$/, '')
      .replace(/^-/, '') || 'index'
  );
}

function hex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
}

function uuid(random: Random): string {
  const variant = '89ab'[Math.floor(random() * 4)]!;
  return `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-${variant}${hex(random, 3)}-${hex(random, 12)}`;
}
