import { describe, expect, test } from 'vitest';
import { timing } from '#observe/collectors/index.ts';
import { collectorsSettings } from '#observe/collectors/settings.ts';

const settings = collectorsSettings.parse({
  accountStats: { schedule: '*/2 * * * *', timezone: 'Europe/Berlin' },
  flowControl: { every: '5s', timeout: '3s', maxStaleness: '1m' },
});

describe('the timing of a collector', () => {
  test('follows from its interval', () => {
    expect(timing('urlGroups', settings)).toEqual({
      schedule: { every: 300_000 },
      intervalMs: 300_000,
      timeoutMs: 60_000,
      maxStalenessMs: 900_000,
      describe: 'every 5m',
    });
  });

  test('gives a listing of many pages the time it needs', () => {
    expect(timing('logs', settings)).toMatchObject({ timeoutMs: 300_000, maxStalenessMs: 180_000 });
    expect(timing('workflowDlq', settings)).toMatchObject({ timeoutMs: 600_000 });
  });

  test('of a cron expression follows from its longest gap', () => {
    expect(timing('accountStats', settings)).toEqual({
      schedule: { cron: '*/2 * * * *', timezone: 'Europe/Berlin' },
      intervalMs: 120_000,
      timeoutMs: 60_000,
      maxStalenessMs: 360_000,
      describe: '*/2 * * * * (Europe/Berlin)',
    });
  });

  test('is taken from the settings if they contain it', () => {
    expect(timing('flowControl', settings)).toMatchObject({ timeoutMs: 3_000, maxStalenessMs: 60_000 });
  });
});
