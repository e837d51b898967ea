/** Difference of two texts by lines. Pure. */

/** Lines of each text; more would take too long. */
const MOST_LINES = 1_000;

/** Returns the lines of both texts, marked `-`, `+`, or with a blank; undefined if a text has too many lines. */
export function diffOf(before: string, after: string): string | undefined {
  const [a, b] = [before.split('\n'), after.split('\n')];
  if (a.length > MOST_LINES || b.length > MOST_LINES) return undefined;
  /** Length of the longest common part from line i of the first and line j of the second text on. */
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i]![j] = a[i] === b[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(`  ${a[i]}`);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push(`- ${a[i]}`);
      i += 1;
    } else {
      lines.push(`+ ${b[j]}`);
      j += 1;
    }
  }
  return lines.join('\n');
}
