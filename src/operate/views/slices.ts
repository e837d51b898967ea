/**
 * Lists in slices that keep their borders when rows come and go: a row ends its slice if the hash of its id says so. A
 * change therefore replaces the slices around it, and no others. Pure.
 */
import { createHash } from 'node:crypto';

/** A row ends its slice with this probability, so that a slice has about as many rows. */
const ROWS = 256;
/** Limits of a slice. */
const MOST_ROWS = 2_048;
const MOST_CHARACTERS = 1_048_576;
const ID_LENGTH = 20;

export interface Slice {
  /** Hash of the text. */
  readonly id: string;
  /** Rows as a JSON array. */
  readonly text: string;
}

/** Yields the slices of a list, in order. @param idOf a text that is the same whenever the row is */
export function* slicesOf<Row>(rows: readonly Row[], idOf: (row: Row) => string): Generator<Slice> {
  let texts: string[] = [];
  let characters = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    texts.push(text);
    characters += text.length;
    const isFull = texts.length >= MOST_ROWS || characters >= MOST_CHARACTERS;
    if (!isFull && hashOf(idOf(row)) % ROWS !== 0) continue;
    yield slice(texts);
    texts = [];
    characters = 0;
  }
  if (texts.length > 0) yield slice(texts);
}

function slice(texts: readonly string[]): Slice {
  const text = `[${texts.join(',')}]`;
  return { id: createHash('sha256').update(text).digest('base64url').slice(0, ID_LENGTH), text };
}

/** FNV-1a, mixed so that all bits of the text reach the low ones. */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}
