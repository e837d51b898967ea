/** Numbers of a run as text, the same on pages and in commands. */
import { formatCount } from './counted.ts';

interface RunNumbers {
  readonly matched?: number;
  readonly acted: number;
  readonly backlog?: number;
}

/** Returns the sum of a run: `17 matched: 5 acted on, 8 left, 4 denied or without effect`. Unknown numbers are left out. */
export function runNumbersText({ matched, acted, backlog }: RunNumbers): string {
  const done = `${formatCount(acted)} acted on`;
  if (matched === undefined) return `number of matches unknown, ${done}`;
  const other = backlog === undefined ? 0 : matched - acted - backlog;
  const left = backlog === undefined || backlog === 0 ? '' : `, ${formatCount(backlog)} left`;
  const rest = other > 0 ? `, ${formatCount(other)} denied or without effect` : '';
  return `${formatCount(matched)} matched: ${done}${left}${rest}`;
}
