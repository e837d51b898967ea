/**
 * Keys that identify a log entry when it is read again: 96 bits of message id, state, time, status and target. No text
 * is kept, so the store contains no URL and no secret.
 *
 * A false match would lose an entry. Two entries of one message that differ in time or state never match, because each
 * step of the mixing is a bijection. Entries of different messages match with a probability of 2^-96 per pair. Only
 * entries of the same minute are compared: at 1,000 entries a second, that is one false match in 10^13 years.
 */

/** Key of three 32-bit lanes. */
export interface Key {
  a: number;
  b: number;
  c: number;
}

export function emptyKey(): Key {
  return { a: 0, b: 0, c: 0 };
}

/** Writes the key of a text to `key`. */
export function setTextKey(key: Key, text: string): void {
  let a = 0x243f6a88 ^ text.length;
  let b = 0x85a308d3 ^ text.length;
  let c = 0x13198a2e ^ text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x85ebca6b);
    a ^= a >>> 13;
    b = Math.imul(b ^ code, 0xc2b2ae35);
    b ^= b >>> 16;
    c = Math.imul(c ^ code, 0x27d4eb2f);
    c ^= c >>> 15;
  }
  key.a = a;
  key.b = b;
  key.c = c;
}

export interface EntryFacts {
  /** Key of the message id. */
  readonly message: Key;
  /** Key of the URL or, without one, of the endpoint's name. */
  readonly target: Key;
  /** Epoch milliseconds. */
  readonly time: number;
  /** Rank of the state. */
  readonly state: number;
  /** HTTP status; 0 if there is none. */
  readonly status: number;
}

const TWO_32 = 4_294_967_296;

/** Writes the key of an entry to `key`. */
export function setEntryKey(key: Key, { message, target, time, state, status }: EntryFacts): void {
  const low = (time % TWO_32) | 0;
  const rest = (state + status * 16) ^ Math.imul(Math.floor(time / TWO_32), 0x01000193);
  key.a = lane(message.a, target.a, low, rest, 0x9e3779b1);
  key.b = lane(message.b, target.b, low, rest, 0xcc9e2d51);
  key.c = lane(message.c, target.c, low, rest, 0x1b873593);
}

// oxlint-disable-next-line max-params -- the innermost step of every entry: an object here would cost more than the
// rest
function lane(message: number, target: number, low: number, rest: number, factor: number): number {
  let mixed = Math.imul(message ^ low, factor);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed ^ rest, 0x2c1b3c6d);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed ^ target, 0x297a2d39);
  return mixed ^ (mixed >>> 16);
}

const LANES = 3;
const KEY_BYTES = 4 * LANES;

/** Set of keys without objects: a table of numbers, half of it empty. */
class KeySet {
  #table = new Int32Array(16 * LANES);
  #mask = 15;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: Key): boolean {
    return this.#table[this.#placeOf(key) + 2] !== 0;
  }

  /** @returns true if the key is new */
  add(key: Key): boolean {
    const place = this.#placeOf(key);
    if (this.#table[place + 2] !== 0) return false;
    this.#put(place, key);
    if (this.#size * 2 > this.#mask) this.#grow();
    return true;
  }

  /** Returns the keys in sequence, twelve bytes each. */
  pack(): Uint8Array {
    const packed = new Int32Array(this.#size * LANES);
    let at = 0;
    for (let place = 0; place < this.#table.length; place += LANES) {
      if (this.#table[place + 2] === 0) continue;
      packed[at] = this.#table[place]!;
      packed[at + 1] = this.#table[place + 1]!;
      packed[at + 2] = this.#table[place + 2]!;
      at += LANES;
    }
    return new Uint8Array(packed.buffer);
  }

  unpack(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const key = emptyKey();
    for (let at = 0; at + KEY_BYTES <= bytes.byteLength; at += KEY_BYTES) {
      key.a = view.getInt32(at, true);
      key.b = view.getInt32(at + 4, true);
      key.c = view.getInt32(at + 8, true);
      this.add(key);
    }
  }

  addAll(other: KeySet): void {
    const key = emptyKey();
    const table = other.#table;
    for (let place = 0; place < table.length; place += LANES) if (read(table, place, key)) this.add(key);
  }

  /**
   * Returns the position of the key, or its free position. The third lane of a key is never 0: 0 marks an empty
   * position.
   */
  #placeOf({ a, b, c }: Key): number {
    const table = this.#table;
    const third = c | 0 || 1;
    for (let slot = a & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const place = slot * LANES;
      const there = table[place + 2];
      if (there === 0) return place;
      if (there === third && table[place] === (a | 0) && table[place + 1] === (b | 0)) return place;
    }
  }

  #put(place: number, { a, b, c }: Key): void {
    this.#table[place] = a;
    this.#table[place + 1] = b;
    this.#table[place + 2] = c | 0 || 1;
    this.#size += 1;
  }

  #grow(): void {
    const before = this.#table;
    this.#table = new Int32Array(before.length * 2);
    this.#mask = this.#mask * 2 + 1;
    this.#size = 0;
    const key = emptyKey();
    for (let place = 0; place < before.length; place += LANES) {
      if (read(before, place, key)) this.#put(this.#placeOf(key), key);
    }
  }
}

/** Reads the key at a position of a table. @returns false if the position is free */
function read(table: Int32Array, place: number, key: Key): boolean {
  key.a = table[place]!;
  key.b = table[place + 1]!;
  key.c = table[place + 2]!;
  return key.c !== 0;
}

/** Keys by time slice, so that old keys are forgotten one slice at a time. */
export class KeySlices {
  readonly sliceMs: number;
  readonly #slices = new Map<number, KeySet>();
  /** Last slice that was used. Consecutive entries are mostly in the same one. */
  #last: { readonly slice: number; readonly keys: KeySet } | undefined;

  constructor(sliceMs: number) {
    this.sliceMs = sliceMs;
  }

  get size(): number {
    let size = 0;
    for (const keys of this.#slices.values()) size += keys.size;
    return size;
  }

  has(time: number, key: Key): boolean {
    return this.#find(Math.floor(time / this.sliceMs))?.has(key) ?? false;
  }

  /** Returns true if any slice has the key. */
  hasAnywhere(key: Key): boolean {
    for (const keys of this.#slices.values()) if (keys.has(key)) return true;
    return false;
  }

  /** @returns true if the key is new */
  add(time: number, key: Key): boolean {
    return this.#sliceOf(Math.floor(time / this.sliceMs)).add(key);
  }

  /** Yields the number and the keys of each slice that ends after `from` (epoch milliseconds). */
  *packed(from: number): Generator<readonly [slice: number, keys: Uint8Array]> {
    for (const [slice, keys] of this.#slices) if (this.#reaches(slice, from)) yield [slice, keys.pack()];
  }

  /** Moves the other's slices that end after `from` into this one. The other must not be used afterwards. */
  absorb(other: KeySlices, from: number): void {
    for (const [slice, keys] of other.#slices) {
      if (!this.#reaches(slice, from)) continue;
      const known = this.#slices.get(slice);
      if (known === undefined) this.#slices.set(slice, keys);
      else known.addAll(keys);
    }
  }

  unpack(slice: number, keys: Uint8Array): void {
    this.#sliceOf(slice).unpack(keys);
  }

  /** Forgets slices that end before `from` (epoch milliseconds). */
  forgetBefore(from: number): void {
    for (const slice of this.#slices.keys()) if (!this.#reaches(slice, from)) this.#slices.delete(slice);
    this.#last = undefined;
  }

  #reaches(slice: number, from: number): boolean {
    return (slice + 1) * this.sliceMs > from;
  }

  #sliceOf(slice: number): KeySet {
    let keys = this.#find(slice);
    if (keys === undefined) this.#slices.set(slice, (keys = new KeySet()));
    return keys;
  }

  #find(slice: number): KeySet | undefined {
    if (this.#last?.slice === slice) return this.#last.keys;
    const keys = this.#slices.get(slice);
    if (keys !== undefined) this.#last = { slice, keys };
    return keys;
  }
}
