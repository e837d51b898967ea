/** Offsets of time zones from UTC, and their changes. Pure. */

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** Returns local time minus UTC at a time, in milliseconds. */
export function offsets(timezone: string): (instant: number) => number {
  if (timezone === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (instant) => {
    const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of format.formatToParts(instant)) part[type] = Number(value);
    const local = Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute, part.second);
    return local - Math.floor(instant / SECOND_MS) * SECOND_MS;
  };
}

/** Returns the next change of the zone's offset after `from`, or one day later if it does not change. */
export function endOfOffset(from: number, offsetAt: (instant: number) => number): number {
  const offset = offsetAt(from);
  let same = from;
  let changed = from + DAY_MS;
  if (offsetAt(changed) === offset) return changed;
  while (changed - same > SECOND_MS) {
    const middle = same + Math.floor((changed - same) / 2 / SECOND_MS) * SECOND_MS;
    if (offsetAt(middle) === offset) same = middle;
    else changed = middle;
  }
  return changed;
}
