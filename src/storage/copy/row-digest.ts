/** Number and checksum of the rows of a table, in any order. */
import { hash } from 'node:crypto';
import type { Value } from '../database.ts';
import type { Values } from './tables.ts';

const DIGITS = 12;
const MODULUS = 2 ** 48;

export class RowDigest {
  rows = 0;
  /** Sums of two halves of the rows' hashes, each an exact integer. */
  #high = 0;
  #low = 0;

  add(values: Values): void {
    const digest = hash('sha256', values.map(encoded).join(''));
    this.rows += 1;
    this.#high = (this.#high + Number.parseInt(digest.slice(0, DIGITS), 16)) % MODULUS;
    this.#low = (this.#low + Number.parseInt(digest.slice(DIGITS, 2 * DIGITS), 16)) % MODULUS;
  }

  get digest(): string {
    return [this.#high, this.#low].map((half) => half.toString(16).padStart(DIGITS, '0')).join('');
  }
}

/** Returns a text that is unique to the value, also at the start of a longer text. */
function encoded(value: Value): string {
  if (typeof value === 'string') return `${value.length}:${value}`;
  if (value instanceof Uint8Array) return `x${hash('sha256', value)};`;
  return `${value};`;
}
