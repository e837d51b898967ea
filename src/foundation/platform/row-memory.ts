/**
 * A bound on the memory of rows that are kept together while a listing is read. The number of pages is no bound:
 * a page has as much as its service wants.
 */
import { getHeapStatistics } from 'node:v8';

/** A part of the heap: the listing before is kept while the next one is read, and a page is parsed meanwhile. */
export const MOST_ROW_BYTES = getHeapStatistics().heap_size_limit / 4;
/** Characters of a row that are not looked at: most rows have no more, and none of them is wide. */
const FEW = 400;

export class RowMemory {
  readonly most: number;
  #bytes = 0;

  constructor(most = MOST_ROW_BYTES) {
    this.most = most;
  }

  /** Counts the texts of rows. Returns false if they are more than may be kept. */
  keep(rows: readonly object[]): boolean {
    for (const row of rows) {
      const characters = sumOf(row, (text) => text.length);
      this.#bytes += characters <= FEW ? characters : sumOf(row, bytesOf);
    }
    return this.#bytes <= this.most;
  }
}

/** Sums up the texts of a row, and those in lists. */
function sumOf(value: object, measure: (text: string) => number): number {
  let sum = 0;
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof member === 'string') sum += measure(member);
    else if (Array.isArray(member)) sum += sumOf(member, measure);
  }
  return sum;
}

/** V8 takes one byte a character, or two once a character needs it. */
function bytesOf(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}
