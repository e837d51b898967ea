/** Resets of counters, in the audit log. */
import type { Counters } from '#automate/ledger/counters.ts';
import { all, each } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { counterOf, COUNTERS_OF } from './totals.ts';

const SET_TO_ZERO = 'UPDATE counters SET value = 0 WHERE account = ? AND metric = ? AND labels = ?';

export function createCounters({ write }: Journal): Counters {
  return {
    resetCounters: ({ account, metric, isMeant, by, reason }) =>
      write(function* (tell) {
        const rows = (yield* all(COUNTERS_OF, account, metric)).filter((row) => isMeant(counterOf(row).labels));
        const counters = rows.map(counterOf);
        if (counters.length === 0) return counters;
        yield* each(SET_TO_ZERO, rows, ({ labels }) => [account, metric, String(labels)]);
        const largest = Math.max(...counters.map(({ value }) => value));
        yield* tell({ type: 'counter.reset', account, metric, counters: counters.length, largest, by, reason });
        return counters;
      }, account),
  };
}
