/** Counts in texts. Pure. */

/** `12,345`, independent of the machine's locale. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 run`, `1,200 runs`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}
