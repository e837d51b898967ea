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

/** Duration in one unit, rounded: `12 s`, `5 min`, `3 h`, `4 d`. */
export function formatSpan(ms: number): string {
  if (ms < 99.5 * SECOND) return `${Math.round(ms / SECOND)} s`;
  if (ms < 99.5 * MINUTE) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 48 * HOUR) return `${Math.round(ms / HOUR)} h`;
  return `${Math.round(ms / DAY)} d`;
}
