/** Identifiers of the embedded service. They come from the injected randomness, so that a seeded run is repeatable. */
import type { Random } from '#foundation/platform/random.ts';

const ALPHABET = Buffer.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz');
const LENGTH = 22;

/** Returns `prefix` with 22 random letters and digits (about 128 bits). */
export function randomId(prefix: string, random: Random): string {
  // One flat string: concatenated letter by letter, an id would take several times its size.
  const id = Buffer.alloc(prefix.length + LENGTH, prefix);
  for (let index = prefix.length; index < id.length; index++) {
    id[index] = ALPHABET[Math.floor(random() * ALPHABET.length)]!;
  }
  return id.toString('latin1');
}

/** Number of characters for the time, which is sufficient for every year to come. */
const TIME_LETTERS = 8;

/**
 * Returns an id whose first characters encode the time, so that later ids sort after earlier ones. A table with such
 * ids as keys is then written at its end. 14 characters (about 82 bits) stay random.
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
