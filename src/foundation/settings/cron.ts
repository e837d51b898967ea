/**
 * Slots of a cron expression, computed for any time. node-cron parses the expression and matches days. The scheduler
 * and its clock own the timers. Pure.
 *
 * In a zone with daylight saving time, an expression that names hours is a time of day and runs once a day. If the hour
 * is repeated, it runs at the first pass. If its time is skipped, it runs at the moment of the change. An expression
 * whose hour is `*` is an interval. It runs at every match of either pass, so the distance of its slots never grows.
 */
import { createTask, parse } from 'node-cron';
import { endOfOffset, offsets } from '../domain/time-zone.ts';

export interface CronSlots {
  /** Returns the first slot after `after` (both epoch milliseconds); undefined if none exists within 40 years. */
  next(after: number): number | undefined;
}

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** Search horizon: 29 February on a given weekday recurs within 40 years. */
const HORIZON_MS = 40 * 366 * DAY_MS;
/** Maximum time that any zone turns its clock back. */
const LONGEST_REPEAT_MS = 3 * 3_600_000;

const silent = { info: ignore, warn: ignore, error: ignore, debug: ignore };

/**
 * @param expression five fields (minute hour day month weekday), or six with seconds first
 * @param timezone IANA name
 * @throws {Error} if the expression is invalid
 */
export function cronSlots(expression: string, timezone: string): CronSlots {
  const fields = parse(expression);
  const civil = civilSlots({
    hours: sorted(fields.hour),
    minutes: sorted(fields.minute),
    seconds: sorted(fields.second),
    matchesDay: dayMatcher(expression),
  });
  const offsetAt = offsets(timezone);
  const isTimeOfDay = new Set(fields.hour).size < 24;

  return {
    next(after) {
      let from = Math.floor(after / SECOND_MS) * SECOND_MS + SECOND_MS;
      if (isTimeOfDay) from = Math.max(from, endOfRepeat(from, offsetAt));
      const horizon = from + HORIZON_MS;
      while (from < horizon) {
        const offset = offsetAt(from);
        const end = endOfOffset(from, offsetAt);
        const slot = civil.first(from + offset, end + offset);
        if (slot !== undefined) return slot - offset;
        const change = offsetAt(end) - offset;
        // Clocks move forward: the skipped times do not exist today.
        if (isTimeOfDay && change > 0 && civil.first(end + offset, end + offset + change) !== undefined) return end;
        // Clocks move back: the following times have already occurred.
        from = isTimeOfDay && change < 0 ? end - change : end;
      }
      return undefined;
    },
  };
}

/** Returns the end of a repeated hour within its second pass; else `from` or an earlier time. */
function endOfRepeat(from: number, offsetAt: (instant: number) => number): number {
  const back = offsetAt(from - LONGEST_REPEAT_MS) - offsetAt(from);
  return back > 0 ? endOfOffset(from - LONGEST_REPEAT_MS, offsetAt) + back : from;
}

interface CivilFields {
  readonly hours: readonly number[];
  readonly minutes: readonly number[];
  readonly seconds: readonly number[];
  readonly matchesDay: (midnight: number) => boolean;
}

/** Slots in a time without a zone: local clock readings, written as milliseconds as if they were UTC. */
function civilSlots(fields: CivilFields): { first(from: number, end: number): number | undefined } {
  const firstOfDay = (from: number, midnight: number): number | undefined => {
    for (const hour of fields.hours) {
      const inHour = midnight + hour * 3_600_000;
      if (inHour + 3_600_000 <= from) continue;
      for (const minute of fields.minutes) {
        const inMinute = inHour + minute * 60_000;
        if (inMinute + 60_000 <= from) continue;
        for (const second of fields.seconds) {
          const slot = inMinute + second * SECOND_MS;
          if (slot >= from) return slot;
        }
      }
    }
    return undefined;
  };
  return {
    first(from, end) {
      for (let midnight = Math.floor(from / DAY_MS) * DAY_MS; midnight < end; midnight += DAY_MS) {
        if (!fields.matchesDay(midnight)) continue;
        const slot = firstOfDay(from, midnight);
        if (slot !== undefined) return slot < end ? slot : undefined;
      }
      return undefined;
    },
  };
}

/**
 * Returns a day matcher of node-cron, which supports `L`, `15W` and `1#2`. The task is never started, so it has no
 * timer.
 */
function dayMatcher(expression: string): (midnight: number) => boolean {
  const day = expression.trim().split(/\s+/).slice(-3).join(' ');
  const task = createTask(`* * * ${day}`, ignore, { timezone: 'UTC', logger: silent });
  // Removes the task only from node-cron's registry, which `match` does not need.
  void task.destroy();
  let last: { readonly midnight: number; readonly matches: boolean } | undefined;
  return (midnight) => {
    if (last?.midnight !== midnight) last = { midnight, matches: task.match(new Date(midnight)) };
    return last.matches;
  };
}

function sorted(values: readonly number[]): number[] {
  return [...new Set(values)].toSorted((a, b) => a - b);
}

function ignore(): void {
  // Discards the message.
}
