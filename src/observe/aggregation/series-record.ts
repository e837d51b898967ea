/**
 * Encodes the states of the statistics aggregations. Counted intervals are adjacent and of equal length, so a run of them is
 * stored as its start, its step and its values. A record that is unreadable or has an implausible amount is treated as
 * missing: the series starts again, and its counter stays.
 */
import { isRecord, jsonOf } from '#foundation/domain/json.ts';
import { LARGEST } from '#foundation/domain/statistics.ts';
import type { MonthState } from './month-total.ts';
import type { CountedInterval, SeriesState } from './points.ts';
import type { BilledDays } from './spend.ts';

/** Start, length of each interval, then one value each: `[counted, read]` if they differ, null for a hole. */
type Run = readonly [from: number, stepMs: number, ...values: (number | null | readonly [number, number | null])[]];

/** Maximum of any amount. */
const MOST = Math.max(...Object.values(LARGEST));

interface PointsRecord {
  readonly v: 1;
  readonly base: number;
  readonly watermark: number;
  readonly last: readonly Run[];
}

export function writePoints({ base, watermark, last }: SeriesState): string {
  const runs: { readonly from: number; readonly stepMs: number; to: number; readonly values: Run[number][] }[] = [];
  for (const counted of last) {
    const { from, to, value, read } = counted;
    const written = read === value ? value : ([value, read ?? null] as const);
    const run = runs.at(-1);
    if (run !== undefined && run.to === from && run.stepMs === to - from) {
      run.values.push(written);
      run.to = to;
    } else runs.push({ from, stepMs: to - from, to, values: [written] });
  }
  const record = { v: 1, base, watermark, last: runs.map((run) => [run.from, run.stepMs, ...run.values]) };
  return JSON.stringify(record);
}

export function readPoints(record: string | undefined): SeriesState | undefined {
  const known = parsed(record) as PointsRecord | undefined;
  if (known === undefined || !Number.isFinite(known.base) || !Number.isFinite(known.watermark)) return undefined;
  if (!Array.isArray(known.last)) return undefined;
  const last: CountedInterval[] = [];
  for (const [from, stepMs, ...values] of known.last as readonly Run[]) {
    values.forEach((written, index) => {
      const [value, read] = Array.isArray(written) ? written : [written, written];
      const at = from + index * stepMs;
      last.push({ from: at, to: at + stepMs, value: Number(value), read: read === null ? undefined : Number(read) });
    });
  }
  if (last.some(({ value }) => value > MOST)) return undefined;
  return { base: known.base, watermark: known.watermark, last };
}

export function writeMonth(state: MonthState): string {
  return JSON.stringify({ v: 1, ...state });
}

export function readMonth(record: string | undefined): MonthState | undefined {
  const known = parsed(record) as (MonthState & { readonly v: 1 }) | undefined;
  if (
    known === undefined ||
    ![known.value, known.read, known.at, known.month].every((one) => Number.isFinite(one) && one <= MOST)
  ) {
    return undefined;
  }
  const { v: _version, ...state } = known;
  return state;
}

export function writeDays(days: BilledDays): string {
  return JSON.stringify({ v: 1, days: [...days] });
}

export function readDays(record: string | undefined): BilledDays {
  const { days } = (parsed(record) ?? {}) as { readonly days?: unknown };
  const isDay = (row: unknown): row is [number, number] =>
    Array.isArray(row) && row.length === 2 && row.every((one) => Number.isFinite(one) && one <= MOST);
  return new Map(Array.isArray(days) ? days.filter(isDay) : []);
}

function parsed(record: string | undefined): { readonly v: 1 } | undefined {
  const value = record === undefined ? undefined : jsonOf(record);
  return isRecord(value) && value['v'] === 1 ? { ...value, v: 1 } : undefined;
}
