/**
 * Windows of a policy. A window is wall-clock time of its zone: it is shorter when clocks go forward. It is longer, or
 * opens twice, when they go back. A window over midnight belongs to the day on which it opens.
 */
import type { PolicyWindow } from './policy.ts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A window skipped by a clock change opens a week later. */
const LOOK_AHEAD_DAYS = 15;

/** Days of a text such as `mon-fri`, `sat,sun` or `fri-mon`; 0 is Sunday. Undefined if the text is invalid. */
export function daysOf(text: string): readonly number[] | undefined {
  const days = new Set<number>();
  for (const part of text.toLowerCase().split(',')) {
    const [first, last, ...more] = part.split('-').map((day) => DAYS.indexOf(day.trim()));
    if (first === undefined || more.length > 0 || first === -1 || last === -1) return undefined;
    for (let day = first; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === (last ?? first)) break;
    }
  }
  return [...days].sort((a, b) => a - b);
}

/** Minutes since midnight for `06:00`, up to `24:00`; undefined if the text is invalid. */
export function minutesOf(text: string): number | undefined {
  const parts = /^(\d\d?):(\d\d)$/.exec(text);
  if (parts === null) return undefined;
  const minutes = Number(parts[1]) * 60 + Number(parts[2]);
  return Number(parts[2]) < 60 && minutes <= 1_440 ? minutes : undefined;
}

/**
 * @param now epoch milliseconds
 * @returns undefined inside a window or without windows; else when the next window opens, Infinity if none does soon
 */
export function nextWindow(windows: readonly PolicyWindow[], now: number): number | undefined {
  if (windows.length === 0 || windows.some((window) => isOpen(window, now))) return undefined;
  return Math.min(...windows.map((window) => nextOpening(window, now)));
}

function isOpen({ days, from, to, timezone }: PolicyWindow, at: number): boolean {
  const { day, minute } = civil(timezone, at);
  const isToday = days.includes(day);
  if (from < to) return isToday && from <= minute && minute < to;
  return (isToday && from <= minute) || (days.includes((day + 6) % 7) && minute < to);
}

/** Next opening of a window. Its time can occur twice or never, and a clock change can jump into the window. */
function nextOpening(window: PolicyWindow, now: number): number {
  const { timezone, from } = window;
  let best = Infinity;
  // Later days can only find later openings.
  for (let day = -1; day <= LOOK_AHEAD_DAYS && best > now + day * DAY_MS; day++) {
    const start = now + day * DAY_MS;
    const offsets = [offsetAt(timezone, start), offsetAt(timezone, start + DAY_MS)] as const;
    const midnight = Math.floor((start + offsets[0]) / DAY_MS) * DAY_MS;
    const candidates = offsets
      .flatMap((offset) => [0, DAY_MS].map((later) => midnight + later + from * MINUTE_MS - offset))
      .filter((at) => civil(timezone, at).minute === from % 1_440);
    if (offsets[0] !== offsets[1]) candidates.push(changeBetween(timezone, start, start + DAY_MS));
    best = Math.min(best, ...candidates.filter((at) => at > now && isOpen(window, at)));
  }
  return best;
}

/** Time between two others at which the clocks change. */
function changeBetween(timezone: string, from: number, to: number): number {
  const before = offsetAt(timezone, from);
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(timezone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

interface Civil {
  readonly day: number;
  readonly minute: number;
  /** Wall clock as if it were UTC, in whole minutes, as epoch milliseconds. */
  readonly asUtc: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function civil(timezone: string, at: number): Civil {
  let format = formats.get(timezone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    });
    formats.set(timezone, format);
  }
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const [hour, minute] = [parts.get('hour')!, parts.get('minute')!];
  const asUtc = Date.UTC(parts.get('year')!, parts.get('month')! - 1, parts.get('day'), hour, minute);
  return { day: new Date(asUtc).getUTCDay(), minute: hour * 60 + minute, asUtc };
}

/** Offset of the wall clock from UTC, in milliseconds. */
function offsetAt(timezone: string, at: number): number {
  return civil(timezone, at).asUtc - Math.floor(at / MINUTE_MS) * MINUTE_MS;
}
