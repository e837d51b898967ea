/**
 * Mapping from a character of a YAML value to its offset in the file. The written form differs from the value: quotes
 * have escapes, blocks are indented, and lines are folded.
 */
import type { Scalar } from 'yaml';

/** Offset in `source` of the character at `index` of the scalar's value; if unclear, the nearest one before it. */
export function scalarOffset(source: string, scalar: Scalar, index: number): number {
  const range = scalar.range;
  const value = scalar.value;
  if (range === undefined || range === null || typeof value !== 'string') return range?.[0] ?? 0;
  const [start, end] = range;
  if (scalar.type === 'BLOCK_LITERAL' || scalar.type === 'BLOCK_FOLDED') {
    return blockOffset({ source, start, end, value }, index);
  }
  const escape = scalar.type === undefined ? undefined : ESCAPES[scalar.type];
  if (escape === undefined) return flowOffset({ source, start, end, value, escape: () => undefined }, index);
  return flowOffset({ source, start: start + 1, end, value, escape }, index);
}

interface Text {
  readonly source: string;
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** Escape at an offset: its length in the file, and in the value. Zero in the value joins two lines. */
type Escape = (source: string, at: number) => { readonly written: number; readonly read: number } | undefined;

/** Walks file and value in parallel. A run of line breaks becomes one space, or one break fewer than it has. */
function flowOffset(text: Text & { readonly escape: Escape }, index: number): number {
  const { source, end, escape } = text;
  let at = text.start;
  for (let read = 0; at < end;) {
    const fold = /^[ \t]*(?:\r?\n[ \t]*)+/.exec(source.slice(at, end))?.[0];
    const escaped = fold === undefined ? escape(source, at) : undefined;
    const step =
      fold === undefined
        ? (escaped ?? { written: 1, read: 1 })
        : { written: fold.length, read: Math.max(1, fold.split('\n').length - 2) };
    if (step.read > 0 && index < read + step.read) return at;
    at += step.written;
    read += step.read;
  }
  return Math.min(at, end);
}

const ESCAPE_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function doubleQuoteEscape(source: string, at: number): ReturnType<Escape> {
  if (source[at] !== '\\') return undefined;
  const joined = /^\\\r?\n(?:[ \t]*\r?\n)*[ \t]*/.exec(source.slice(at))?.[0];
  if (joined !== undefined) return { written: joined.length, read: joined.split('\n').length - 2 };
  const digits = ESCAPE_DIGITS[source[at + 1] ?? ''] ?? 0;
  const wide = Number.parseInt(source.slice(at + 2, at + 2 + digits), 16) > 0xff_ff;
  return { written: 2 + digits, read: wide ? 2 : 1 };
}

function singleQuoteEscape(source: string, at: number): ReturnType<Escape> {
  return source.startsWith("''", at) ? { written: 2, read: 1 } : undefined;
}

/** Escapes of the styles that have any. */
const ESCAPES: Readonly<Partial<Record<Scalar.Type, Escape>>> = {
  QUOTE_DOUBLE: doubleQuoteEscape,
  QUOTE_SINGLE: singleQuoteEscape,
};

function blockOffset(text: Text, index: number): number {
  const { source, end, value } = text;
  const header = source.indexOf('\n', text.start) + 1;
  if (header === 0) return text.start;
  const indent = blockIndent(source.slice(text.start, header), source.slice(header, end), value);
  let at = header + indentAt(source, header, indent);
  for (let read = 0; read < index && at < end;) {
    const breaks = /^\r?\n/.exec(source.slice(at, at + 2))?.[0];
    if (breaks === undefined) {
      read++;
      at++;
      continue;
    }
    // Folding replaced one break by a space, or removed a break; a literal block keeps all of them.
    if (value[read] === ' ' || value[read] === '\n') read++;
    at += breaks.length;
    at += indentAt(source, at, indent);
    // For a run of blank lines, the value has one break fewer than the file.
    while (value[read] !== '\n' && /^\r?\n/.test(source.slice(at, at + 2))) {
      at += source[at] === '\r' ? 2 : 1;
      at += indentAt(source, at, indent);
    }
  }
  return Math.min(at, end);
}

/** Indentation outside the value: that of the first line with text, minus the value's own leading spaces. */
function blockIndent(header: string, body: string, value: string): number {
  const line = body.split('\n').find((candidate) => candidate.trim() !== '');
  if (line === undefined) return 0;
  const spaces = line.length - line.trimStart().length;
  if (!/[1-9]/.test(header)) return spaces;
  const first = value.split('\n').find((candidate) => candidate.trim() !== '') ?? '';
  return spaces - (first.length - first.trimStart().length);
}

function indentAt(source: string, at: number, indent: number): number {
  let width = 0;
  while (width < indent && source[at + width] === ' ') width++;
  return width;
}
