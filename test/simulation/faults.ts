/** Faults of a history. Each one has a number, so that a failing history can be repeated with fewer of them. */
import type { Random } from '#foundation/platform/random.ts';

/** Faults that do not happen: those from `from` on, and single ones. */
export interface Spared {
  readonly from: number;
  readonly single: ReadonlySet<number>;
}

export const NONE_SPARED: Spared = { from: Infinity, single: new Set() };

export class Faults {
  readonly #random: Random;
  readonly #spared: Spared;
  /** False before the first and after the last fault. */
  active = false;
  /** Factor of all probabilities: the seed makes calm and wild histories. */
  rate = 1;
  /** Number of faults so far, with the spared ones. */
  count = 0;
  readonly byKind = new Map<string, number>();

  constructor(random: Random, spared: Spared) {
    this.#random = random;
    this.#spared = spared;
  }

  /** Returns true if this fault happens now. */
  strikes(kind: string, probability: number): boolean {
    if (!this.active || this.#random() >= probability * this.rate) return false;
    const number = this.count++;
    if (number >= this.#spared.from || this.#spared.single.has(number)) return false;
    this.byKind.set(kind, (this.byKind.get(kind) ?? 0) + 1);
    return true;
  }

  below(max: number): number {
    return Math.floor(this.#random() * max);
  }
}
