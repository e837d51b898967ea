/**
 * Collects a body from its chunks. The chunks are copied into blocks, because a chunk of one byte would need an object
 * of its own and keep its source in memory. A block is never copied into a larger one. A large body therefore needs
 * only its own size until it is complete.
 */

const FIRST_BYTES = 16_384;
const MOST_BLOCK_BYTES = 1_048_576;

export class GatheredBytes {
  /** Size of the first block. A body of this size is not copied again. */
  readonly #firstBytes: number;
  readonly #blocks: Buffer<ArrayBuffer>[] = [];
  /** Used bytes of the last block. */
  #used = 0;
  #length = 0;

  /** @param expected length that a response declares; memory is taken for no more than a block of it */
  constructor(expected = FIRST_BYTES) {
    this.#firstBytes = Math.min(Math.max(expected, 1), MOST_BLOCK_BYTES);
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    for (let rest = chunk; rest.length > 0;) {
      const block = this.#room();
      const part = rest.subarray(0, block.length - this.#used);
      block.set(part, this.#used);
      this.#used += part.length;
      this.#length += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /** Returns all bytes. No bytes may be added afterwards. */
  take(): Buffer<ArrayBuffer> {
    const [first, ...more] = this.#blocks;
    if (first === undefined || more.length === 0) return (first ?? Buffer.alloc(0)).subarray(0, this.#length);
    const whole = Buffer.allocUnsafeSlow(this.#length);
    let at = 0;
    for (const block of this.#blocks) at += block.copy(whole, at, 0, Math.min(block.length, this.#length - at));
    this.discard();
    return whole;
  }

  /**
   * Frees the memory immediately, without waiting for the garbage collector. The object must not be used afterwards.
   */
  discard(): void {
    for (const { buffer } of this.#blocks.splice(0)) buffer.transfer(0);
  }

  /**
   * Returns the last block, with space for at least one byte. Blocks grow with the body, so that there are few of them.
   */
  #room(): Buffer {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#used < last.length) return last;
    const block = Buffer.allocUnsafeSlow(Math.min(Math.max(this.#length, this.#firstBytes), MOST_BLOCK_BYTES));
    this.#blocks.push(block);
    this.#used = 0;
    return block;
  }
}

/**
 * Frees the memory of the result of `take` after it was read. The garbage collector is slow to free memory outside its
 * heap. Without this, a process that reads much grows by tens of megabytes.
 */
export function freeBytes(taken: Buffer<ArrayBuffer>): void {
  taken.buffer.transfer(0);
}
