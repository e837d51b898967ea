/** Two virtual hours here; a day with a million entries in the soak. */
import { expect, test } from 'vitest';
import { virtualDay } from '../support/virtual-day.ts';

test("two hours of faults, crashes and late entries end with the service's own figures", async () => {
  const { truth, told, facts, ...day } = await virtualDay({ entries: 6_000, hours: 2, seed: 11 });
  expect(told).toEqual(truth);
  expect(facts).toEqual(day.shown);
  expect(day.entries).toBeGreaterThanOrEqual(6_000);
  for (const happened of ['crashes', 'faults', 'outages'] as const) expect(day[happened]).toBeGreaterThan(0);
  expect(day.own('opsd_log_late_entries_total')).toBeGreaterThan(0);
  expect(day.own('opsd_log_duplicate_entries_total')).toBeGreaterThan(0);
});
