/**
 * Long-lived bytes, packed into slabs. As bytes they cost no heap, and the garbage collector does not scan them. Data
 * that is removed in the order of its arrival frees whole slabs. Data with different lifetimes therefore belongs on
 * different shelves.
 */
/** Larger items have a separate slab. */
const MAX_SHARED_BYTES = 16_384;

export interface Shelved {
  readonly slab: Buffer;
  /** Start of the text, its end, which is the start of the bytes, and the end of the bytes. */
  readonly at: number;
  readonly split: number;
  readonly end: number;
}

export class Shelf {
  readonly #slabBytes: number;
  #slab = Buffer.alloc(0);
  #used = 0;

  /** The default size is large enough for the system to get the memory of a slab back. */
  constructor(slabBytes = 262_144) {
    this.#slabBytes = slabBytes;
  }

  /** Returns a copy that is in a slab. */
  bytes(value: Uint8Array): Uint8Array {
    const { slab, split, end } = this.put('', value);
    return slab.subarray(split, end);
  }

  put(text: string, bytes: Uint8Array): Shelved {
    const textLength = Buffer.byteLength(text);
    const length = textLength + bytes.length;
    const alone = length > MAX_SHARED_BYTES;
    if (!alone && this.#used + length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(this.#slabBytes);
      this.#used = 0;
    }
    const slab = alone ? Buffer.allocUnsafeSlow(length) : this.#slab;
    const at = alone ? 0 : this.#used;
    slab.write(text, at);
    slab.set(bytes, at + textLength);
    if (!alone) this.#used += length;
    return { slab, at, split: at + textLength, end: at + length };
  }
}

/** Shelves of ended messages. Dead letters stay longer than the rest. */
export interface Shelves {
  readonly ended: Shelf;
  readonly dead: Shelf;
}
