/** Difference of two texts by lines. Pure. */
import { diff } from 'node:util';

/** Lines of each text; more would take too long. */
const MOST_LINES = 1_000;
/** Marks of lines by the codes of Node. */
const MARKS = { '1': '-', '0': ' ', '-1': '+' } as const;

/** Returns the lines of both texts, marked `-`, `+`, or with a blank; undefined if a text has too many lines. */
export function diffOf(before: string, after: string): string | undefined {
  const [a, b] = [before.split('\n'), after.split('\n')];
  if (a.length > MOST_LINES || b.length > MOST_LINES) return undefined;
  const lines = diff(a, b).map(([code, line]) => `${MARKS[code]} ${line}`);
  return lines.join('\n');
}
