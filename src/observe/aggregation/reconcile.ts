/**
 * Compares the log and the statistics for the same whole hours. Both are counted exactly, so a gap between them has one
 * of two causes. Either the service never returned some entries or points, or the counting is wrong. An hour is
 * compared once neither can change: late entries and points have arrived.
 */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import type { Reconciled } from '#foundation/domain/statistics.ts';
import { HOUR_MS, type HourCounts } from './log-store.ts';
import { sumWithin } from './points.ts';
import { readPoints } from './series-record.ts';
import type { SeriesRecord } from './series-store.ts';

/** Time that points may still be revised, and the default time for late entries. */
const LATE_MS = 20 * 60_000;
/** Number of consecutive hours after which a gap to the same side is lasting. */
const HOURS = 2;
/** Tolerated difference. Times are rounded at the borders of an hour, and a single late entry is not a gap. */
const TOLERATED = 10;
const TOLERATED_SHARE = 0.02;

/** Named series that correspond to a state of the log. */
const SERIES: readonly { readonly state: MessageState; readonly ids: readonly string[] }[] = [
  { state: 'CREATED', ids: ['created'] },
  { state: 'DELIVERED', ids: ['delivered'] },
  { state: 'ERROR', ids: ['error'] },
  { state: 'CANCELLED', ids: ['canceled', 'cancelled'] },
];
const SOURCES = ['messages', 'workflow_messages'];

export interface ReconcileInput {
  readonly records: readonly SeriesRecord[];
  /** Epoch milliseconds of the start and the end of the counted log. */
  readonly log: { readonly since: number; readonly watermark: number };
  /** Entries of the log by hour and state. */
  readonly hours: HourCounts;
  /** Distance of the watermark beyond an entry at which the entry has certainly been found. */
  readonly lateMs?: number;
}

/** @returns the newest whole hour that can be compared, with a row for each state that both have */
export function reconcile({ records, log, hours: counted, lateMs = 0 }: ReconcileInput): readonly Reconciled[] {
  const rows: Reconciled[] = [];
  for (const { state, ids } of SERIES) {
    const series = SOURCES.flatMap((source) =>
      records.filter((record) => record.source === source && ids.includes(record.series.toLowerCase())),
    ).map(({ record }) => readPoints(record));
    const states = series.filter((known) => known !== undefined);
    if (states.length === 0) continue;
    const until = Math.min(log.watermark, ...states.map(({ watermark }) => watermark)) - Math.max(LATE_MS, lateMs);
    const newest = Math.floor(until / HOUR_MS) * HOUR_MS - HOUR_MS;
    const hours = Array.from({ length: HOURS }, (_, ago) => newest - ago * HOUR_MS).map((hour) => {
      if (hour < log.since) return undefined;
      const sums = states.map(({ base, last }) =>
        hour < base || last.some(({ from, read }) => read === undefined && from >= hour && from < hour + HOUR_MS)
          ? undefined
          : sumWithin(last, hour, hour + HOUR_MS),
      );
      if (sums.includes(undefined)) return undefined;
      const statistics = sums.reduce<number>((sum, value) => sum + value!, 0);
      const logs = counted.get(hour)?.get(state) ?? 0;
      return { hour, logs, statistics, gap: gapOf(statistics, logs) };
    });
    const [now] = hours;
    if (now === undefined) continue;
    const { gap, ...compared } = now;
    const isLasting = gap !== 0 && hours.every((hour) => hour?.gap === gap);
    rows.push({ state, ...compared, agrees: gap === 0, isLasting });
  }
  return rows;
}

/** Returns 1 or -1 if the statistics are higher or lower by more than rounding explains; else 0. */
function gapOf(statistics: number, logs: number): -1 | 0 | 1 {
  const tolerated = Math.max(TOLERATED, TOLERATED_SHARE * Math.max(statistics, logs));
  if (Math.abs(statistics - logs) <= tolerated) return 0;
  return statistics > logs ? 1 : -1;
}
