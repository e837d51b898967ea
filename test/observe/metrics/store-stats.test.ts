import { expect, test } from 'vitest';
import type { StoreReadings } from '#observe/metrics/sources.ts';
import { NOW, seriesOf, world } from './world.ts';

test('sizes and the newest backup of the store; unknown values are absent', async () => {
  let readings: StoreReadings = {
    sizeBytes: 4_096,
    freeBytes: 1e9,
    backup: { intervalMs: 86_400_000, newest: { at: NOW, bytes: 2_048 } },
  };
  const { events, scrape } = await world({ deps: { store: () => readings } });
  const of = async (): Promise<Record<string, number>> => {
    const samples = await scrape();
    return Object.fromEntries([...samples].filter(([name]) => /^opsd_(?:store|backup)_/.test(name)));
  };
  expect(await of()).toEqual({
    opsd_store_size_bytes: 4_096,
    opsd_store_free_bytes: 1e9,
    opsd_backup_interval_seconds: 86_400,
    opsd_backup_last_success_timestamp_seconds: NOW / 1_000,
    opsd_backup_size_bytes: 2_048,
    opsd_backup_failures_total: 0,
  });
  readings = { sizeBytes: undefined, freeBytes: undefined, backup: { intervalMs: 86_400_000, newest: undefined } };
  events.emit({ type: 'backup.failed', message: 'disk full' });
  expect(await of()).toEqual({ opsd_backup_interval_seconds: 86_400, opsd_backup_failures_total: 1 });
  readings = { sizeBytes: 1, freeBytes: 0 };
  expect(await of()).toEqual({ opsd_store_size_bytes: 1, opsd_store_free_bytes: 0, opsd_backup_failures_total: 1 });
  expect(seriesOf(await scrape(), 'opsd_projection_failures_total')).toHaveProperty(
    'opsd_projection_failures_total{source="store"}',
    0,
  );
});
