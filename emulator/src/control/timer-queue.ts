/** Timers in the order of their due times. Equal due times keep the order of insertion. */
import type { Timer } from '#foundation/platform/clock.ts';

interface Entry {
  readonly due: number;
  readonly order: number;
  /** Undefined when canceled. */
  run: (() => void) | undefined;
}

/** Minimum number of canceled entries before a sweep. A sweep also requires that they outnumber the active ones. */
const MIN_TO_SWEEP = 1_024;

export class TimerQueue {
  /** Binary heap: every entry precedes its children at 2i + 1 and 2i + 2. */
  #heap: Entry[] = [];
  #order = 0;
  #canceled = 0;

  /** Number of pending timers. */
  get size(): number {
    return this.#heap.length - this.#canceled;
  }

  /** Due time of the first timer; undefined when none is pending. */
  get nextDue(): number | undefined {
    while (this.#heap[0] !== undefined && this.#heap[0].run === undefined) {
      this.#removeFirst();
      this.#canceled--;
    }
    return this.#heap[0]?.due;
  }

  add(due: number, run: () => void): Timer {
    const entry: Entry = { due, order: this.#order++, run };
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
    const cancel = (): void => {
      if (entry.run === undefined) return;
      entry.run = undefined;
      this.#canceled++;
      if (this.#canceled > MIN_TO_SWEEP && this.#canceled > this.#heap.length / 2) this.#sweep();
    };
    return { cancel, [Symbol.dispose]: cancel };
  }

  /** Removes and returns the first timer if it is due by then. The caller runs it. */
  takeDue(by: number): (() => void) | undefined {
    const due = this.nextDue;
    if (due === undefined || due > by) return undefined;
    const entry = this.#removeFirst();
    const { run } = entry;
    // A later cancel has no effect.
    entry.run = undefined;
    return run;
  }

  #sweep(): void {
    // A sorted array is a heap.
    this.#heap = this.#heap.filter((entry) => entry.run !== undefined).sort(compare);
    this.#canceled = 0;
  }

  #removeFirst(): Entry {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) {
      heap[0] = last;
      this.#sink();
    }
    return first;
  }

  #rise(from: number): void {
    const heap = this.#heap;
    const entry = heap[from]!;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (compare(heap[parent]!, entry) < 0) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #sink(): void {
    const heap = this.#heap;
    const entry = heap[0]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && compare(heap[child + 1]!, heap[child]!) < 0) child++;
      if (compare(entry, heap[child]!) < 0) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = entry;
  }
}

function compare(a: Entry, b: Entry): number {
  return a.due - b.due || a.order - b.order;
}
