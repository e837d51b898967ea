/** Identifiers of the embedded service: from the injected randomness, so that a seeded run repeats itself. */
import type { Random } from '#foundation/platform/random.ts';

const ALPHABET = Buffer.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz');
const LENGTH = 22;

/** `prefix` followed by 22 random letters and digits (about 128 bits). */
export function randomId(prefix: string, random: Random): string {
  // One flat string: put together letter by letter, an id would take several times its size.
  const id = Buffer.alloc(prefix.length + LENGTH, prefix);
  for (let index = prefix.length; index < id.length; index++) {
    id[index] = ALPHABET[Math.floor(random() * ALPHABET.length)]!;
  }
  return id.toString('latin1');
}

/** Letters that tell a time: enough for every year to come. */
const TIME_LETTERS = 8;

/**
 * The same, but its first letters tell the time, so that later ids sort after earlier ones: whoever keeps rows by id
 * writes to the end of a table, and not all over it. 14 letters (about 82 bits) stay random.
 *
 * @param now epoch milliseconds
 */
export function orderedId(prefix: string, now: number, random: Random): string {
  const id = Buffer.from(randomId(prefix, random), 'latin1');
  let rest = Math.floor(now);
  for (let index = prefix.length + TIME_LETTERS - 1; index >= prefix.length; index--) {
    id[index] = ALPHABET[rest % ALPHABET.length]!;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return id.toString('latin1');
}
