/**
 * The memory of answers that are being read, of all connections of the process together: answers that are each within
 * `client.maxResponseBytes` can be more than the process has. When they are too much, the largest is given up, so that
 * no account waits for another.
 */

const MOST_BYTES = 67_108_864;

/** One answer that is being read; disposed once its bytes are no longer needed. */
export interface AnswerReading extends Disposable {
  /** Counts bytes that came. */
  add(bytes: number): void;
  /** Called when this answer must be given up, with the reason. */
  onTooMuch: (reason: string) => void;
}

export class AnswerMemory {
  readonly #most: number;
  readonly #bytes = new Map<AnswerReading, number>();
  #total = 0;

  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  begin(): AnswerReading {
    const end = (): void => {
      this.#total -= this.#bytes.get(reading) ?? 0;
      this.#bytes.delete(reading);
    };
    const reading: AnswerReading = {
      onTooMuch: () => undefined,
      add: (bytes) => {
        const before = this.#bytes.get(reading);
        if (before === undefined) return;
        this.#bytes.set(reading, before + bytes);
        this.#total += bytes;
        this.#giveUpLargest();
      },
      [Symbol.dispose]: end,
    };
    this.#bytes.set(reading, 0);
    return reading;
  }

  #giveUpLargest(): void {
    // One that is alone has a limit of its own.
    if (this.#total <= this.#most || this.#bytes.size < 2) return;
    const [largest] = [...this.#bytes].reduce((a, b) => (b[1] > a[1] ? b : a));
    largest[Symbol.dispose]();
    largest.onTooMuch(`answers take more than ${this.#most} bytes together, and this is the largest of them`);
  }
}
