/** Counts in texts, the same on pages and in commands. Pure. */

/** `12,345`, independent of the machine's locale. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 run`, `1,200 runs`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

const USD = { style: 'currency', currency: 'USD', trailingZeroDisplay: 'stripIfInteger' } as const;

/** `$1,250`, `$71.20`; `unlimited` for null and Infinity. */
export function formatUsd(amount: number | null): string {
  return amount === null || !Number.isFinite(amount) ? 'unlimited' : amount.toLocaleString('en-US', USD);
}

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
