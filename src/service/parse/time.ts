/** Converts times of the service to epoch milliseconds. Times outside 2015 to 2100 are invalid. */
import { numberIn, optionalNumber, present, UnreadableField, type JsonObject } from './reader.ts';

/** 2015-01-01 and 2100-01-01. */
const EARLIEST_MS = 1_420_070_400_000;
const LATEST_MS = 4_102_444_800_000;

/** Milliseconds, seconds, microseconds, nanoseconds. Their ranges for those years do not overlap. */
const MS_PER_UNIT = [1, 1_000, 1e-3, 1e-6];

/** Returns a time whose unit the interface does not define: its magnitude determines the unit. 0 counts as absent. */
export function optionalTime(row: JsonObject, field: string): number | undefined {
  return timeIn(row[field], field);
}

export function timeIn(given: unknown, field: string): number | undefined {
  const value = numberIn(given, field);
  if (value === undefined || value === 0) return undefined;
  if (isPlausible(value)) return Math.floor(value);
  for (const scale of MS_PER_UNIT) {
    const ms = Math.floor(value * scale);
    if (isPlausible(ms)) return ms;
  }
  throw new UnreadableField(`${field}: not a time between 2015 and 2100`);
}

/** Returns the unit of a time if it is not milliseconds, the unit of the interface's dates. */
export function oddUnit(row: JsonObject, field: string): 'seconds' | 'microseconds' | 'nanoseconds' | undefined {
  const value = optionalNumber(row, field);
  if (value === undefined || value === 0 || isPlausible(value)) return undefined;
  if (value < EARLIEST_MS) return 'seconds';
  return isPlausible(value / 1_000) ? 'microseconds' : 'nanoseconds';
}

export function requireTime(row: JsonObject, field: string): number {
  return present(optionalTime(row, field), field);
}

/** Returns a time that the interface defines in Unix seconds. 0 counts as absent. */
export function optionalSecondsTime(row: JsonObject, field: string): number | undefined {
  const value = optionalNumber(row, field);
  if (value === undefined || value === 0) return undefined;
  const ms = value * 1_000;
  if (!isPlausible(ms)) throw new UnreadableField(`${field}: not Unix seconds between 2015 and 2100`);
  return ms;
}

const POINT_TIME = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? \+0000 UTC$/;

/** Returns `x` of a data point: `YYYY-MM-DD hh:mm:ss[.fraction] +0000 UTC`. Digits below milliseconds are truncated. */
export function pointTime(row: JsonObject): number {
  const text = row['x'];
  const match = typeof text === 'string' ? POINT_TIME.exec(text) : null;
  if (match === null) throw new UnreadableField('x: not a time of the form YYYY-MM-DD hh:mm:ss +0000 UTC');
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const ms = Date.UTC(year, month - 1, day, hour, minute, second) + Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  const exists = month >= 1 && month <= 12 && day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60;
  if (!exists || !isPlausible(ms)) throw new UnreadableField('x: not a time between 2015 and 2100');
  return ms;
}

function isPlausible(ms: number): boolean {
  return ms >= EARLIEST_MS && ms <= LATEST_MS;
}
