/** Faults of a history. Each one has a number, so that a failing history can be repeated with fewer of them. */
import type { Random } from '#foundation/platform/random.ts';

/** Changes to the faults of a seed. */
export interface Changes {
  /** No fault happens from this number on. */
  readonly from?: number | undefined;
  /** Numbers of single faults that do not happen. */
  readonly single?: readonly number[] | undefined;
  /** Factors of the probabilities of some kinds. */
  readonly worse?: Readonly<Record<string, number>> | undefined;
}

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
  readonly #changes: Required<Changes>;
  /** Kinds of `worse` that this history does not have. */
  readonly unknown: Set<string>;
  /** False before the first and after the last fault. */
  active = false;
  /** Factor of all probabilities: the seed makes calm and wild histories. */
  rate = 1;
  /** Number of faults so far, with the spared ones. */
  count = 0;
  readonly struck: Fault[] = [];

  constructor(randomOf: (purpose: string) => Random, now: () => number, changes: Changes) {
    this.#randomOf = randomOf;
    this.#random = randomOf('faults');
    this.#details = randomOf('details');
    this.#now = now;
    const { from = Infinity, single = [], worse = {} } = changes;
    this.#changes = { from, single, worse };
    this.unknown = new Set(Object.keys(worse));
  }

  /** Returns true if this fault happens now. */
  strikes(kind: string, probability: number): boolean {
    const { from, single } = this.#changes;
    const factor = this.factor(kind);
    if (!this.active || this.#random() >= probability * this.rate * factor) return false;
    const number = this.count++;
    if (number >= from || single.includes(number)) return false;
    this.#details = this.#randomOf(`fault ${number}`);
    this.struck.push({ number, kind, at: this.#now() });
    return true;
  }

  /** Returns how many times as likely this kind of fault is as in other histories. */
  factor(kind: string): number {
    this.unknown.delete(kind);
    return this.#changes.worse[kind] ?? 1;
  }

  below(max: number): number {
    return Math.floor(this.#details() * max);
  }
}
