/**
 * Reads JSON from its bytes and builds only what is wanted. The grammar is checked, except within skipped texts. Anything
 * unusual throws `UnusualJson`: the caller then parses the same bytes with JSON.parse, which decides.
 */
import { endOfText } from './json-bounds.ts';
import type { KnownKey, KnownKeys } from './known-keys.ts';
import type { KnownTexts } from './known-texts.ts';

/** Error for JSON that is invalid, or that this reader does not read. */
export class UnusualJson extends Error {
  override readonly name = 'UnusualJson';
}

const [QUOTE, COMMA, COLON, ZERO, NINE, SPACE] = Buffer.from('",:09 ') as unknown as readonly [
  number,
  number,
  number,
  number,
  number,
  number,
];
/** Opening characters. */
export const [OBJECT, LIST] = Buffer.from('{[') as unknown as readonly [number, number];
/** Distance of a closing character from its opening character, for both kinds. */
const CLOSING = 2;
/** Maximum number of digits of an integer that is certainly exact. */
const MOST_DIGITS = 15;
/** Minimum size of a skipped text that is not counted as a part of the page. */
const WORTH_BYTES = 64;
/** Bounds of what is read here. The values are objects, lists, and their members after the first. */
const MOST_LEVELS = 8;
const MOST_VALUES = 25_000;

export type Scalar = string | number | boolean | null;

export class JsonScan {
  /** Number of bytes in long texts that were skipped. */
  skipped = 0;
  readonly #bytes: Buffer<ArrayBuffer>;
  readonly #view: DataView<ArrayBuffer>;
  readonly #length: number;
  readonly #texts: KnownTexts;
  #at = 0;
  #values = 0;
  /** Hash and last word of the text that was read last. */
  #hash = 0;
  #last = 0;

  constructor(bytes: Buffer<ArrayBuffer>, texts: KnownTexts) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#length = bytes.length;
    this.#texts = texts;
  }

  /** Enters an object or a list. Returns true if it has a member. */
  enter(opening: number): boolean {
    if (this.next() !== opening) throw new UnusualJson();
    this.#at += 1;
    this.#count();
    if (this.next() !== opening + CLOSING) return true;
    this.#at += 1;
    return false;
  }

  /** Returns true if the object or list that was entered has another member. */
  hasMore(opening: number): boolean {
    const byte = this.next();
    if (byte !== COMMA && byte !== opening + CLOSING) throw new UnusualJson();
    this.#at += 1;
    if (byte !== COMMA) return false;
    this.#count();
    return true;
  }

  /** Returns the key of a member. The value is next. Keys mostly follow each other as in the object before. */
  key<T>(keys: KnownKeys<T>): KnownKey<T> {
    const next = keys.last?.next;
    if (next !== undefined && next.isAt(this.#view, this.#at, this.#length)) {
      this.#at += next.length;
      return (keys.last = next);
    }
    const text = this.#text();
    if (this.next() !== COLON) throw new UnusualJson();
    this.#at += 1;
    return keys.of(text);
  }

  /** Returns a scalar, or the scalars of a list. */
  value(): Scalar | readonly Scalar[] {
    if (this.next() !== LIST) return this.scalar();
    const items: Scalar[] = [];
    for (let more = this.enter(LIST); more; more = this.hasMore(LIST)) items.push(this.scalar());
    return items;
  }

  scalar(): Scalar {
    const byte = this.next();
    if (byte === QUOTE) return this.#text();
    return byte >= ZERO && byte <= NINE ? this.#number() : this.#rare();
  }

  /** Skips a value. Returns true if it is an object or a list with members. */
  skip<T>(keys: KnownKeys<T>, levels = MOST_LEVELS): boolean {
    const byte = this.next();
    if (byte === QUOTE) this.#skipText();
    else if (byte !== OBJECT && byte !== LIST) this.scalar();
    else {
      if (levels === 0) throw new UnusualJson();
      const hasMembers = this.enter(byte);
      for (let more = hasMembers; more; more = this.hasMore(byte)) {
        if (byte === OBJECT) this.key(keys);
        this.skip(keys, levels - 1);
      }
      return hasMembers;
    }
    return false;
  }

  /** Moves to the next byte that is not blank, and returns it. Returns 0 at the end. */
  next(): number {
    const byte = this.#bytes[this.#at] ?? 0;
    return byte > SPACE ? byte : this.#nextAfterBlanks();
  }

  #nextAfterBlanks(): number {
    for (; this.#at < this.#length; this.#at += 1) {
      const byte = this.#bytes[this.#at]!;
      if (byte > SPACE) return byte;
      // Blank, tab, and ends of lines.
      if (byte !== SPACE && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) throw new UnusualJson();
    }
    return 0;
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > MOST_VALUES) throw new UnusualJson();
  }

  #text(): string {
    if (this.next() !== QUOTE) throw new UnusualJson();
    const start = this.#at + 1;
    const end = this.#endOfPlain(start, this.#length);
    if (end === -1) return this.#parsed(endOfText(this.#bytes, start) + 1) as string;
    this.#at = end + 1;
    return this.#texts.of(this.#view, { start, end, hash: this.#hash, last: this.#last });
  }

  #skipText(): void {
    const start = this.#at + 1;
    const plain = this.#endOfPlain(start, start + WORTH_BYTES);
    const end = plain === -1 ? endOfText(this.#bytes, start, 0) : plain;
    if (end - start >= WORTH_BYTES) this.skipped += end - start;
    this.#at = end + 1;
  }

  /** Returns the end of a text, which is read four bytes at a time; -1 if it is long or has other bytes than plain ones. */
  #endOfPlain(start: number, most: number): number {
    const last = Math.min(most, this.#length - 4);
    let hash = 0;
    for (let at = start; at <= last; at += 4) {
      const word = this.#view.getInt32(at, true);
      const special = specialBytes(word);
      if (special !== 0) {
        const bit = 31 - Math.clz32(special & -special) - 7;
        if (((word >>> bit) & 0xff) !== QUOTE) return -1;
        this.#last = word & ((1 << bit) - 1);
        this.#hash = mixed(hash, this.#last);
        return at + (bit >> 3);
      }
      hash = mixed(hash, word);
    }
    return -1;
  }

  #number(): number {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    let value = 0;
    for (let byte = bytes[at]!; byte >= ZERO && byte <= NINE; byte = bytes[at] ?? 0) {
      value = value * 10 + byte - ZERO;
      at += 1;
    }
    const isExact = at - start <= MOST_DIGITS && (bytes[start] !== ZERO || at === start + 1);
    if (!isExact || !this.#ends(at)) return this.#rare() as number;
    this.#at = at;
    return value;
  }

  /** Returns a literal, or a number that is no plain integer. */
  #rare(): Scalar {
    let end = this.#at;
    while (!this.#ends(end)) end += 1;
    return this.#parsed(end);
  }

  /** Returns true if a number or a literal ends at this position. */
  #ends(at: number): boolean {
    const byte = this.#bytes[at] ?? 0;
    return byte <= SPACE || byte === COMMA || byte === OBJECT + CLOSING || byte === LIST + CLOSING;
  }

  #parsed(end: number): Scalar {
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end;
    try {
      return JSON.parse(text) as Scalar;
    } catch {
      throw new UnusualJson();
    }
  }
}

function mixed(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x85ebca6b);
  return product ^ (product >>> 15);
}

/**
 * Returns a number whose lowest bit is the highest bit of the first quote, backslash, control character, or byte of a
 * longer character in a word; 0 if there is none.
 */
function specialBytes(word: number): number {
  const quotes = word ^ 0x22222222;
  const escapes = word ^ 0x5c5c5c5c;
  const controls = (word - 0x20202020) & ~word;
  return (((quotes - 0x01010101) & ~quotes) | ((escapes - 0x01010101) & ~escapes) | controls | word) & 0x80808080;
}
