/** Two virtual hours here; a day with a million entries in the soak. */
import { expect, test } from 'vitest';
import { virtualDay } from '../support/virtual-day.ts';

test('two hours of faults, crashes and late entries end in what is true', async () => {
  const { truth, told, own, crashes } = await virtualDay({ entries: 6_000, hours: 2, seed: 11, lateShare: 0.002 });
  expect(told).toEqual(truth);
  expect(crashes).toBeGreaterThan(0);
  expect(own('opsd_logs_late_entries_total')).toBeGreaterThan(0);
  expect(own('opsd_logs_unjoined_attempts_total')).toBe(0);
  expect(own('opsd_logs_revised_durations_total')).toBe(0);
});
