/**
 * Windows of a policy. A window is wall-clock time of its zone: it is shorter when clocks go forward. It is longer, or
 * opens twice, when they go back. A window over midnight belongs to the day on which it opens.
 */
import { endOfOffset, offsets } from '#foundation/domain/time-zone.ts';
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
  const offsetAt = offsetsOf(timezone);
  const second = Math.floor(now / 1_000) * 1_000;
  let best = Infinity;
  // Later days can only find later openings.
  for (let day = -1; day <= LOOK_AHEAD_DAYS && best > now + day * DAY_MS; day++) {
    const start = second + day * DAY_MS;
    const [before, after] = [offsetAt(start), offsetAt(start + DAY_MS)];
    const midnight = Math.floor((start + before) / DAY_MS) * DAY_MS;
    const candidates = [before, after]
      .flatMap((offset) => [0, DAY_MS].map((later) => midnight + later + from * MINUTE_MS - offset))
      .filter((at) => civil(timezone, at).minute === from % 1_440);
    if (before !== after) candidates.push(endOfOffset(start, offsetAt));
    best = Math.min(best, ...candidates.filter((at) => at > now && isOpen(window, at)));
  }
  return best;
}

const zones = new Map<string, (at: number) => number>();

/** Returns the offsets of a time zone. */
function offsetsOf(timezone: string): (at: number) => number {
  const known = zones.get(timezone) ?? offsets(timezone);
  zones.set(timezone, known);
  return known;
}

/** Day of the week and minute of the day on the wall clock. */
function civil(timezone: string, at: number): { readonly day: number; readonly minute: number } {
  const asUtc = at + offsetsOf(timezone)(at);
  return { day: new Date(asUtc).getUTCDay(), minute: Math.floor(asUtc / MINUTE_MS) % 1_440 };
}
