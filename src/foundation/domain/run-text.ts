/** Numbers of a run as text, the same on pages and in commands. */
import { formatCount } from './counted.ts';

interface RunNumbers {
  readonly matched?: number;
  readonly acted: number;
  readonly backlog?: number;
}

/** Returns the sum of a run: `17 matched: 5 acted on, 8 left, 4 denied or without effect`. */
export function runNumbersText({ matched, acted, backlog = 0 }: RunNumbers): string {
  const done = `${formatCount(acted)} acted on`;
  if (matched === undefined) return `number of matches unknown, ${done}`;
  const other = matched - acted - backlog;
  const rest = other > 0 ? `, ${formatCount(other)} denied or without effect` : '';
  return `${formatCount(matched)} matched: ${done}, ${formatCount(backlog)} left${rest}`;
}
