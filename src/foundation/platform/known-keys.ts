/**
 * Keys of JSON objects, with what they mean to the reader. The members of similar objects have the same order: each key
 * remembers the one that followed it, and one comparison recognizes it there.
 */

/** Maximum number of keys that are remembered. Above it they are forgotten, which only costs time. */
const MOST_KEYS = 1_000;

const NO_WORDS = new Int32Array(0);

export class KnownKey<T> {
  readonly text: string;
  readonly meaning: T;
  next: KnownKey<T> | undefined;
  /** Number of bytes, with quotes and colon. 0 before they are known: most keys of a hostile response are read once. */
  length = 0;
  #words = NO_WORDS;
  /** Bits of the last word. */
  #mask = 0;

  constructor(text: string, meaning: T) {
    this.text = text;
    this.meaning = meaning;
  }

  /** Returns true if the key with its quotes and colon is at this position, before `end`. */
  isAt(view: DataView, at: number, end: number): boolean {
    if (this.length === 0) this.#spell();
    if (at + this.length + 4 > end) return false;
    const words = this.#words;
    const last = words.length - 1;
    for (let word = 0; word < last; word += 1) if (view.getInt32(at + 4 * word, true) !== words[word]) return false;
    return (view.getInt32(at + 4 * last, true) & this.#mask) === words[last];
  }

  #spell(): void {
    const bytes = Buffer.from(`${JSON.stringify(this.text)}:`);
    this.length = bytes.length;
    const padded = Buffer.alloc((bytes.length & ~3) + 4);
    bytes.copy(padded);
    this.#words = Int32Array.from({ length: padded.length / 4 }, (_, at) => padded.readInt32LE(4 * at));
    this.#mask = (1 << (8 * (bytes.length & 3))) - 1;
  }
}

export class KnownKeys<T> {
  /** The last key that was read. */
  last: KnownKey<T> | undefined;
  readonly #keys = new Map<string, KnownKey<T>>();
  readonly #meaningOf: (text: string) => T;

  constructor(meaningOf: (text: string) => T) {
    this.#meaningOf = meaningOf;
  }

  of(text: string): KnownKey<T> {
    let key = this.#keys.get(text);
    if (key === undefined) {
      key = new KnownKey(text, this.#meaningOf(text));
      if (this.#keys.size >= MOST_KEYS) this.#keys.clear();
      this.#keys.set(text, key);
    }
    if (this.last !== undefined) this.last.next = key;
    return (this.last = key);
  }
}
