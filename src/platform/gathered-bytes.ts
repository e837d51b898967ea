/**
 * A body put together from the chunks in which it comes. It is copied into one buffer: a chunk of one byte would cost
 * an object of its own, and keep what it was cut from.
 */

const FIRST_BYTES = 16_384;

export class GatheredBytes {
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) this.#grow(needed);
    this.#buffer.set(chunk, this.#length);
    this.#length = needed;
  }

  /** Returns all that came; nothing may be added afterwards. */
  take(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length, FIRST_BYTES));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}
