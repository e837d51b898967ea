/**
 * Runs 24 virtual hours with 1,000,000 log entries (ENTRIES) over the embedded service's HTTP, with faults, from a new
 * seed (SEED). All counts are exact, except after a wrong pairing of late entries. A wrong pairing needs three late
 * entries in a row and is counted. Then only the durations may differ, by at most that count.
 */
import { expect, test } from 'vitest';
import { virtualDay } from '../support/virtual-day.ts';

const ENTRIES = Number(process.env['ENTRIES'] ?? 1_000_000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));

test(`a day of ${ENTRIES} entries (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
  const { truth, told, facts, own, ...day } = await virtualDay({ entries: ENTRIES, hours: 24, seed: SEED });
  const unjoined = own('opsd_log_unjoined_attempts_total');
  const revised = own('opsd_log_revised_durations_total');
  process.stdout.write(
    `${day.entries} entries, ${own('opsd_log_pages_total')} pages, ${day.faults} faults, ${day.outages} outages, ` +
      `${day.crashes} crashes, ${own('opsd_log_late_entries_total')} late and ` +
      `${own('opsd_log_duplicate_entries_total')} repeated entries; ` +
      `${unjoined} attempts not joined, ${revised} durations revised\n`,
  );
  expect(day.entries).toBeGreaterThanOrEqual(ENTRIES);
  expect(facts).toEqual(day.shown);
  expect(told.counters).toEqual(truth.counters);
  expect(told.inFlight).toEqual(truth.inFlight);
  if (unjoined + revised === 0) expect(told.histograms).toEqual(truth.histograms);
  const counts = (histograms: typeof truth.histograms): number =>
    Object.values(histograms).reduce((sum, told) => sum + told.at(-1)!, 0);
  expect(Math.abs(counts(told.histograms) - counts(truth.histograms))).toBeLessThanOrEqual(2 * unjoined + revised);
});
