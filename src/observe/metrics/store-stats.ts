import type { GaugeName } from '../catalog/catalog.ts';
import type { Families } from './families.ts';
import { seconds } from './values.ts';

const GAUGES = [
  'opsd_store_size_bytes',
  'opsd_store_free_bytes',
  'opsd_backup_interval_seconds',
  'opsd_backup_last_success_timestamp_seconds',
  'opsd_backup_size_bytes',
] as const satisfies readonly GaugeName[];

/** Readings of the store's files at one moment. An unavailable value is undefined. */
export interface StoreReadings {
  readonly sizeBytes?: number | undefined;
  readonly freeBytes?: number | undefined;
  /** Absent if backups are not scheduled. */
  readonly backup?: {
    readonly intervalMs: number;
    readonly newest: { /** Epoch milliseconds. */ readonly at: number; readonly bytes: number } | undefined;
  };
}

/** @returns a function that updates the metrics of the store files, synchronously */
export function createStoreStats(families: Families, read: () => StoreReadings): () => void {
  return () => {
    const { put, samples } = families.collect('store');
    const { sizeBytes, freeBytes, backup } = read();
    put('opsd_store_size_bytes', {}, sizeBytes);
    put('opsd_store_free_bytes', {}, freeBytes);
    put('opsd_backup_interval_seconds', {}, seconds(backup?.intervalMs));
    put('opsd_backup_last_success_timestamp_seconds', {}, seconds(backup?.newest?.at));
    put('opsd_backup_size_bytes', {}, backup?.newest?.bytes);
    families.exchange(GAUGES, samples);
  };
}
