/** Store of the readings in the history. The samples of a minute share transactions with what waits of their accounts. */
import type { HistorySample, HistoryStore } from '#observe/aggregation/history-store.ts';
import { put, type Work } from './database.ts';
import { forgetHistory } from './log-aggregation-store.ts';
import type { StoredTotals } from './totals.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const VALUES = ['in_flight', 'failed_runs', 'dead_messages', 'spend_usd'] as const;

/** The higher of two values, of which each may be NULL. */
const higher = (column: string): string =>
  `${column} = CASE WHEN history.${column} >= excluded.${column} THEN history.${column}
    ELSE coalesce(excluded.${column}, history.${column}) END`;
const PUT_SAMPLE = `INSERT INTO history (account, step, at, ${VALUES.join(', ')}, flow_control) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (account, step, at) DO UPDATE SET ${VALUES.map(higher).join(', ')},
  flow_control = coalesce(excluded.flow_control, history.flow_control)`;

export function createHistoryStore(totals: Pick<StoredTotals, 'commitTogether'>): HistoryStore {
  const forgottenAt = new Map<string, number>();

  function* save(sample: HistorySample): Work<void> {
    const { account, at, flowControl } = sample;
    const { inFlight = null, failedRuns = null, deadLetters = null, spendUsd = null } = sample;
    const keys = flowControl === undefined ? null : JSON.stringify(flowControl);
    const rows = [MINUTE_MS, HOUR_MS].map((step) => {
      const begins = Math.floor(at / step) * step;
      return [account, step, begins, inFlight, failedRuns, deadLetters, spendUsd, keys];
    });
    yield* put(PUT_SAMPLE, rows);
    // The log may be off, or far behind.
    if (at - (forgottenAt.get(account) ?? -Infinity) < HOUR_MS) return;
    yield* forgetHistory(account, at);
    forgottenAt.set(account, at);
  }

  return {
    addSamples: (samples) =>
      totals.commitTogether(new Map(samples.map((sample) => [sample.account, { work: () => save(sample) }]))),
  };
}
