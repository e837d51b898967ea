/**
 * Where a character of a YAML value stands in the file. A value is not always written as it reads: quotes have
 * escapes, blocks are indented, and lines are folded into one.
 */
import type { Scalar } from 'yaml';

/** The offset in `source` of the character at `index` of the scalar's value; the nearest one before it if in doubt. */
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

/** An escape at an offset: its length in the file, and in the value. Zero in the value joins two lines. */
type Escape = (source: string, at: number) => { readonly written: number; readonly read: number } | undefined;

/** Walks file and value side by side. A run of line breaks stands for one space, or for one break less than it has. */
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

/** Of the styles that have any. */
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
    // Folding made a space of one break, or left a break out; a literal block keeps each of them.
    if (value[read] === ' ' || value[read] === '\n') read++;
    at += breaks.length;
    at += indentAt(source, at, indent);
    // A run of blank lines: the value has one break less than the file.
    while (value[read] !== '\n' && /^\r?\n/.test(source.slice(at, at + 2))) {
      at += source[at] === '\r' ? 2 : 1;
      at += indentAt(source, at, indent);
    }
  }
  return Math.min(at, end);
}

/** The indentation that is not part of the value: that of the first line with text, less what its value begins with. */
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
