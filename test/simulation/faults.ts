/** Faults of a history. Each one has a number, so that a failing history can be repeated with fewer of them. */
import type { Random } from '#foundation/platform/random.ts';

/** Faults that do not happen: those from `from` on, and single ones. */
export interface Spared {
  readonly from: number;
  readonly single: ReadonlySet<number>;
}

export const NONE_SPARED: Spared = { from: Infinity, single: new Set() };

/** A fault that happened. */
export interface Fault {
  readonly number: number;
  readonly kind: string;
  /** Milliseconds since the start of the history. */
  readonly at: number;
}

export class Faults {
  readonly #randomOf: (purpose: string) => Random;
  readonly #random: Random;
  /** Source of the details of the last fault. They do not depend on earlier faults. */
  #details: Random;
  readonly #now: () => number;
  readonly #spared: Spared;
  /** False before the first and after the last fault. */
  active = false;
  /** Factor of all probabilities: the seed makes calm and wild histories. */
  rate = 1;
  /** Number of faults so far, with the spared ones. */
  count = 0;
  readonly struck: Fault[] = [];

  constructor(randomOf: (purpose: string) => Random, now: () => number, spared: Spared) {
    this.#randomOf = randomOf;
    this.#random = randomOf('faults');
    this.#details = randomOf('details');
    this.#now = now;
    this.#spared = spared;
  }

  /** Returns true if this fault happens now. */
  strikes(kind: string, probability: number): boolean {
    if (!this.active || this.#random() >= probability * this.rate) return false;
    const number = this.count++;
    if (number >= this.#spared.from || this.#spared.single.has(number)) return false;
    this.#details = this.#randomOf(`fault ${number}`);
    this.struck.push({ number, kind, at: this.#now() });
    return true;
  }

  below(max: number): number {
    return Math.floor(this.#details() * max);
  }
}
