/**
 * Limit on the memory of rows that are kept during a listing. The number of pages is not a limit, because the service
 * determines the size of a page.
 */
import { getHeapStatistics } from 'node:v8';

/**
 * Share of the heap. The previous listing is kept while the next one is read, and pages are parsed at the same time.
 */
export const MOST_ROW_BYTES = getHeapStatistics().heap_size_limit / 4;
/**
 * Number of characters of a row that are counted without inspection. Most rows have no more, and none of them is wide.
 */
const FEW = 400;
/** Maximum size of a text in memory per byte of its UTF-8. */
const BYTES_PER_BYTE = 2;

export class RowMemory {
  readonly most: number;
  #bytes = 0;

  constructor(most = MOST_ROW_BYTES) {
    this.most = most;
  }

  /**
   * Counts the texts of rows. Returns false if they exceed the limit. The bytes of the response are an upper bound, which
   * suffices until a quarter of the limit is used. From then on, the texts themselves are measured.
   *
   * @param responseBytes number of bytes that the rows were parsed from, if they are known
   */
  keep(rows: readonly object[], responseBytes = Infinity): boolean {
    const most = BYTES_PER_BYTE * responseBytes;
    if (this.#bytes + most <= this.most / 4) {
      this.#bytes += most;
      return true;
    }
    for (const row of rows) {
      const characters = sumOf(row, (text) => text.length);
      this.#bytes += characters <= FEW ? characters : sumOf(row, bytesOf);
    }
    return this.#bytes <= this.most;
  }
}

/** Sums the texts of a row, including those in lists. */
function sumOf(value: object, measure: (text: string) => number): number {
  let sum = 0;
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof member === 'string') sum += measure(member);
    else if (Array.isArray(member)) sum += sumOf(member, measure);
  }
  return sum;
}

/** Returns the size of a text. V8 uses one byte per character, or two if any character needs it. */
function bytesOf(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}
