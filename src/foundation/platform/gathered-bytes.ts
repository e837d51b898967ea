/**
 * A body put together from the chunks in which it comes. They are copied into blocks: a chunk of one byte would cost an
 * object of its own, and keep what it was cut from. A block is never copied into a larger one, so that a large body
 * needs its own size alone until it is whole.
 */

const FIRST_BYTES = 16_384;
const MOST_BLOCK_BYTES = 1_048_576;

export class GatheredBytes {
  readonly #blocks: Buffer<ArrayBuffer>[] = [];
  /** Bytes used of the last block. */
  #used = 0;
  #length = 0;

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

  /** Returns all that came; nothing may be added afterwards. */
  take(): Buffer<ArrayBuffer> {
    const [first, ...more] = this.#blocks;
    if (first === undefined || more.length === 0) return (first ?? Buffer.alloc(0)).subarray(0, this.#length);
    const whole = Buffer.allocUnsafeSlow(this.#length);
    let at = 0;
    for (const block of this.#blocks) at += block.copy(whole, at, 0, Math.min(block.length, this.#length - at));
    this.discard();
    return whole;
  }

  /** Frees the memory at once, without waiting for the garbage collector; nothing may be added or taken afterwards. */
  discard(): void {
    for (const { buffer } of this.#blocks.splice(0)) buffer.transfer(0);
  }

  /** The last block, with room for at least one byte. Blocks grow with the body, so that there are few of them. */
  #room(): Buffer {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#used < last.length) return last;
    const block = Buffer.allocUnsafeSlow(Math.min(Math.max(this.#length, FIRST_BYTES), MOST_BLOCK_BYTES));
    this.#blocks.push(block);
    this.#used = 0;
    return block;
  }
}

/**
 * Frees the memory of what `take` returned, once it was read. The garbage collector takes its time with memory outside
 * its heap: without this a process that reads much grows by tens of megabytes.
 */
export function freeBytes(taken: Buffer<ArrayBuffer>): void {
  taken.buffer.transfer(0);
}
