/**
 * Mapping from a character of a YAML value to its offset in the file. The written form differs from the value: quotes
 * have escapes, blocks are indented, and lines are folded.
 */
import type { Scalar } from 'yaml';

/** Length of a part in the file, and in the value. */
type Lengths = readonly [written: number, read: number];

/** Offset in `source` of the character at `index` of the scalar's value; if unclear, the nearest one before it. */
export function scalarOffset(source: string, scalar: Scalar, index: number): number {
  const { range, type, value } = scalar;
  if (range === undefined || range === null || typeof value !== 'string') return range?.[0] ?? 0;
  const isBlock = type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED';
  const isQuoted = type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE';
  // The first line of a block is its header.
  let at = isBlock ? source.indexOf('\n', range[0]) + 1 : range[0] + (isQuoted ? 1 : 0);
  const lengthAt = (read: number): Lengths => {
    const fold = isBlock ? undefined : /^[ \t]*(?:\r?\n[ \t]*)+/.exec(source.slice(at, range[1]))?.[0];
    // A run of line breaks becomes one space, or one break fewer than it has.
    if (fold !== undefined) return [fold.length, Math.max(1, fold.split('\n').length - 2)];
    if (type === 'QUOTE_DOUBLE' && source[at] === '\\') return escapeAt(source, at);
    if (type === 'QUOTE_SINGLE' && source.startsWith("''", at)) return [2, 1];
    if (value[read] === source[at]) return [1, 1];
    // Space of a block that is not part of its value: indentation, or a folded line break.
    return isSpace(source[at]) ? [1, 0] : [0, 1];
  };
  for (let read = 0; at < range[1];) {
    const [written, passed] = lengthAt(read);
    if (passed > 0 && index < read + passed) return at;
    at += written;
    read += passed;
  }
  return Math.min(at, range[1]);
}

const ESCAPE_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** A backslash before a line break joins two lines. */
function escapeAt(source: string, at: number): Lengths {
  const joined = /^\\\r?\n(?:[ \t]*\r?\n)*[ \t]*/.exec(source.slice(at))?.[0];
  if (joined !== undefined) return [joined.length, joined.split('\n').length - 2];
  const digits = ESCAPE_DIGITS[source[at + 1] ?? ''] ?? 0;
  const isWide = Number.parseInt(source.slice(at + 2, at + 2 + digits), 16) > 0xff_ff;
  return [2 + digits, isWide ? 2 : 1];
}

function isSpace(text: string | undefined): boolean {
  return text === ' ' || text === '\t' || text === '\n' || text === '\r';
}
