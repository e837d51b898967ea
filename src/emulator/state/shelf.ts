/**
 * Bytes that are kept for long, side by side in slabs: as bytes they cost the heap nothing, and the collector need not
 * look at them. What is forgotten in the order of its coming frees whole slabs, so what goes at different times belongs
 * on different shelves.
 */
/** Larger things have a slab of their own. */
const MAX_SHARED_BYTES = 16_384;

export interface Shelved {
  readonly slab: Buffer;
  /** Where the text begins, where it ends and the bytes begin, and where they end. */
  readonly at: number;
  readonly split: number;
  readonly end: number;
}

export class Shelf {
  readonly #slabBytes: number;
  #slab = Buffer.alloc(0);
  #used = 0;

  /** The default size is large enough that the system gets the memory of a slab back. */
  constructor(slabBytes = 262_144) {
    this.#slabBytes = slabBytes;
  }

  /** Returns a copy that lies in a slab. */
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

/** Of what has ended: dead letters stay longer than the rest. */
export interface Shelves {
  readonly ended: Shelf;
  readonly dead: Shelf;
}
