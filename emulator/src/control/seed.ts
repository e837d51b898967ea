/** State that a test requests: groups, indexes, and failed messages. */
import type { Account } from '../state/account.ts';
import type { Indexes } from '../statistics/indexes.ts';
import type { Limits } from '../state/limits.ts';
import { plantFailures, type FailureBed, type SeededFailure, type SeededRun } from './seeded-failures.ts';
import type { Endpoint } from '../state/url-groups.ts';

export interface Seed {
  readonly urlGroups?: readonly { readonly name: string; readonly endpoints: readonly Endpoint[] }[] | undefined;
  readonly indexes?: readonly SeededIndex[] | undefined;
  /** Ids of vector indexes without a search index. */
  readonly vectorIndexes?: readonly string[] | undefined;
  /** Messages of the message DLQ. */
  readonly deadMessages?: readonly SeededFailure[] | undefined;
  /** Runs of the workflow DLQ. */
  readonly failedRuns?: readonly SeededRun[] | undefined;
}

interface SeededIndex {
  readonly id?: string | undefined;
  readonly name: string;
  readonly region?: 'eu-west-1' | 'us-central1' | undefined;
  readonly type?: 'free' | 'payg' | 'fixed' | undefined;
}

interface SeedBed extends FailureBed {
  readonly account: Account;
  readonly limits: Limits;
  readonly indexes: Indexes;
}

/** @returns ids of the dead messages, then of the failed runs, in the given order */
export function plantSeed(
  seed: Seed,
  bed: SeedBed,
): { readonly dlqIds: readonly string[]; readonly indexIds: readonly string[] } {
  for (const { name, endpoints } of seed.urlGroups ?? []) bed.state.urlGroups.upsert(name, endpoints, bed);
  for (const id of seed.vectorIndexes ?? []) bed.indexes.createVectorIndex(id);
  const indexIds = (seed.indexes ?? []).map(({ id, name, region = 'eu-west-1', type = 'payg' }) => {
    const index = { ...(id !== undefined && { id }), name, region, type, customerId: bed.account.customerId };
    return (bed.indexes.create(index) as { readonly id: string }).id;
  });
  return { dlqIds: plantFailures(seed.deadMessages ?? [], seed.failedRuns ?? [], bed), indexIds };
}
