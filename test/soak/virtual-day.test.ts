/**
 * 24 virtual hours with 1,000,000 log entries (ENTRIES), faults included, from a seed no run had before (SEED). Counters
 * and what is in flight are exact; of what is measured, what a late entry showed to be paired wrongly is counted.
 */
import { expect, test } from 'vitest';
import { virtualDay } from '../support/virtual-day.ts';

const ENTRIES = Number(process.env['ENTRIES'] ?? 1_000_000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));

test(`a day of ${ENTRIES} entries (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
  const { truth, told, own, crashes } = await virtualDay({ entries: ENTRIES, hours: 24, seed: SEED, lateShare: 0.002 });
  const unjoined = own('opsd_logs_unjoined_attempts_total');
  const revised = own('opsd_logs_revised_durations_total');
  process.stdout.write(
    `${crashes} crashes, ${own('opsd_logs_late_entries_total')} late entries, ${own('opsd_logs_pages_total')} pages; ` +
      `${unjoined} attempts not joined, ${revised} durations revised\n`,
  );
  const { attempt, wait, deliveryAttempts, ...exact } = told;
  expect({ ...truth, ...exact }).toEqual(truth);
  expect(attempt[0] + unjoined).toBe(truth.attempts);
  if (unjoined + revised === 0) expect(told).toEqual(truth);
  else expect(truth.wait[0] - wait[0]).toBeLessThanOrEqual(unjoined + revised);
  expect(deliveryAttempts[0]).toBe(truth.deliveryAttempts[0]);
});
