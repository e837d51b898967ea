/**
 * Limits the memory of responses that are being read, over all connections of the process. Responses that are each
 * within `client.maxResponseBytes` can together exceed the memory of the process. Above the limit, the largest one is
 * abandoned, so that no account waits for another.
 */

const MOST_BYTES = 67_108_864;

/** Response that is being read. Dispose it when its bytes are no longer needed. */
export interface AnswerReading extends Disposable {
  /** Counts received bytes. */
  add(bytes: number): void;
  /** Called with the reason when this response must be abandoned. */
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
    // A single response has its own limit.
    if (this.#total <= this.#most || this.#bytes.size < 2) return;
    const [largest] = [...this.#bytes].reduce((a, b) => (b[1] > a[1] ? b : a));
    largest[Symbol.dispose]();
    largest.onTooMuch(`responses use more than ${this.#most} bytes in total, and this is the largest of them`);
  }
}
