/** Times as texts: UTC, and relative times. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `2026-11-18 10:02:11Z`; the number itself if it is outside the calendar. */
export function formatTime(at: number): string {
  return isCalendarTime(at) ? `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z` : String(at);
}

/** Value for the `datetime` attribute of a `<time>`; undefined if there is none. */
export function machineTime(at: number): string | undefined {
  return isCalendarTime(at) ? new Date(at).toISOString() : undefined;
}

function isCalendarTime(at: number): boolean {
  return Math.abs(at) <= 8.64e15;
}

/** `12 s ago`, `in 5 min`, `3 h ago`; `now` within half a second. */
export function formatAge(at: number, now: number): string {
  const span = formatSpan(Math.abs(now - at));
  if (span === '0 s') return 'now';
  return at > now ? `in ${span}` : `${span} ago`;
}

/** Duration in at most two adjacent units, rounded: `12 s`, `5 min`, `1 h 40 min`, `12 h`, `2 d 22 h`. */
export function formatSpan(ms: number): string {
  if (ms < 59.5 * SECOND) return `${Math.round(ms / SECOND)} s`;
  if (ms < 2 * MINUTE) return twoUnits(Math.round(ms / SECOND), 60, 'min', 's');
  if (ms < 59.5 * MINUTE) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 10 * HOUR) return twoUnits(Math.round(ms / MINUTE), 60, 'h', 'min');
  if (ms < 48 * HOUR) return `${Math.round(ms / HOUR)} h`;
  if (ms < 10 * DAY) return twoUnits(Math.round(ms / HOUR), 24, 'd', 'h');
  return `${Math.round(ms / DAY)} d`;
}

function twoUnits(count: number, inOne: number, large: string, small: string): string {
  const rest = count % inOne;
  return `${Math.floor(count / inOne)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

/** Measured duration with a fraction: `250 ms`, `1.5 s`, `2.5 min`. */
export function formatElapsed(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 2 * MINUTE) return `${(ms / SECOND).toFixed(1)} s`;
  return ms < 2 * HOUR ? `${(ms / MINUTE).toFixed(1)} min` : `${(ms / HOUR).toFixed(1)} h`;
}
