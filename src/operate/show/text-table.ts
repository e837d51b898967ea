/** Tables for terminals and files: alignment, and truncation to the width of the terminal. Pure. */
import { printable } from './terminal.ts';

export interface Column<Row> {
  readonly title: string;
  /** @param at time of the reading, for ages */
  text(row: Row, at: number): string;
  readonly align?: 'right';
  /** Only in the output `wide`. */
  readonly isWide?: true;
  /** Never truncated, because it is copied: an id. */
  readonly isWhole?: true;
}

const GAP = 2;
/** Minimum width of a truncated column. */
const NARROWEST = 6;

/** Table that ends with a newline. @param width columns of the terminal; absent if nothing has to be truncated */
export function listTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: { readonly at: number; readonly width?: number },
): string {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map((column) => printable(column.text(row, options.at)))),
  ];
  const widths = columns.map((_column, index) => Math.max(...cells.map((line) => textWidth(line[index]!))));
  shrink(widths, columns, options.width);
  return cells
    .map((line) => line.map((cell, index) => fitted(cell, widths[index]!, columns[index]!.align)).join(' '.repeat(GAP)))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** Takes room from the widest columns until the table fits, or no column can become narrower. */
function shrink(widths: number[], columns: readonly Column<never>[], room = Infinity): void {
  let excess = widths.reduce((sum, width) => sum + width, GAP * (widths.length - 1)) - room;
  while (excess > 0) {
    let widest = -1;
    for (const [index, width] of widths.entries()) {
      if (columns[index]!.isWhole === true || width <= Math.max(NARROWEST, columns[index]!.title.length)) continue;
      if (widest === -1 || width > widths[widest]!) widest = index;
    }
    if (widest === -1) return;
    widths[widest]! -= 1;
    excess -= 1;
  }
}

function fitted(text: string, width: number, align: 'right' | undefined): string {
  const cut = truncated(text, width);
  const space = ' '.repeat(Math.max(0, width - textWidth(cut)));
  return align === 'right' ? space + cut : cut + space;
}

/** Text of at most `width` columns, with an ellipsis in place of what is missing. */
function truncated(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let cut = '';
  let used = 1;
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += graphemeWidth(segment);
    if (used > width) break;
    cut += segment;
  }
  return `${cut}…`;
}

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Columns that a terminal needs for the text. */
export function textWidth(text: string): number {
  if (/^[\u0020-\u024F\u2010-\u2027]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Characters that take two columns: emoji, and the scripts of East Asia. */
const DOUBLE =
  /\p{Emoji_Presentation}|\uFE0F|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6]|[\u{20000}-\u{3FFFD}]/u;

function graphemeWidth(grapheme: string): number {
  return DOUBLE.test(grapheme) ? 2 : 1;
}
