/** Times, ages and durations as text for terminals. Pure. */
import { formatDuration } from '#foundation/domain/duration.ts';
import { formatTime, machineTime } from '#foundation/domain/time-text.ts';

/** `full`: the date and the age. `exact`: the date. `short`: the date without its year. */
export type Times = 'full' | 'exact' | 'short';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function timeText(at: number, times: Times): string {
  const machine = machineTime(at);
  if (times === 'full' || machine === undefined) return formatTime(at);
  if (times === 'exact') return machine;
  // `18 Nov 10:02:11Z`
  const date = new Date(at);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${machine.slice(11, 19)}Z`;
}

/** `1h30m ago`, `in 2d3h`, `now`. */
export function ageText(at: number, now: number): string {
  if (Math.abs(now - at) < 1_000) return 'now';
  return at > now ? `in ${formatDuration(at - now)}` : `${formatDuration(now - at)} ago`;
}

/** Milliseconds for people: `250 ms`, `1.5 s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 7_200_000 ? `${(ms / 60_000).toFixed(1)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}
