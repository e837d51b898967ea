/**
 * The port through which the fold of flow control keeps its counters, and what it holds in memory besides: the last
 * reading of each key, and keys that were seen elsewhere. Both end with the process: what happened while nobody read is
 * not known, and keys are seen again.
 */
import type { Increment } from './totals.ts';

/** What keeps messages waiting. `other`: no limit that can be seen, or not the same one all the time. */
export const CONSTRAINTS = ['parallelism', 'rate', 'paused', 'other'] as const;
export type Constraint = (typeof CONSTRAINTS)[number];

/** A reading of a key. */
export interface KeyReading {
  /** On the monotonic clock, milliseconds. */
  readonly at: number;
  /** Undefined when no message waited. */
  readonly heldBy: Constraint | undefined;
}

const MOST_SEEN = 1_000;
const FORGOTTEN_AFTER_MS = 86_400_000;

/** Keys that entries carried, the first to be seen first; those not seen for a day are forgotten. */
class SeenKeys {
  readonly #seenAt = new Map<string, number>();
  readonly #unwatched = new Set<string>();

  /** @param at on the monotonic clock, milliseconds */
  add(key: string, at: number): void {
    if (this.#seenAt.has(key) || this.#seenAt.size < MOST_SEEN) this.#seenAt.set(key, at);
  }

  /** The key does not exist any more. */
  delete(key: string): void {
    this.#seenAt.delete(key);
  }

  /**
   * Chooses keys to watch besides those that are configured.
   *
   * @returns the keys, and how many found no place that were not told of before
   */
  choose(
    configured: readonly string[],
    limit: number,
    at: number,
  ): { readonly keys: readonly string[]; readonly newlyUnwatched: number } {
    for (const [key, seenAt] of this.#seenAt) if (at - seenAt > FORGOTTEN_AFTER_MS) this.#seenAt.delete(key);
    const others = [...this.#seenAt.keys()].filter((key) => !configured.includes(key));
    const left = others.slice(limit).filter((key) => !this.#unwatched.has(key));
    for (const key of left) this.#unwatched.add(key);
    for (const key of this.#unwatched) if (!this.#seenAt.has(key)) this.#unwatched.delete(key);
    return { keys: others.slice(0, limit), newlyUnwatched: left.length };
  }
}

export class FlowControlMemory {
  readonly seen = new SeenKeys();
  /** The last reading of each key that was read. */
  readings: ReadonlyMap<string, KeyReading> = new Map();
  /** Labels whose counters exist. */
  readonly counted = new Set<string>();
  /** Whether the counters without labels exist. */
  isBegun = false;
}

export interface FlowControlFoldStore {
  /** What is remembered for an account; its owner is the store. */
  memory(account: string): FlowControlMemory;
  /** @throws {Error} when it cannot be written; then nothing of it is */
  commitFlowControl(account: string, increments: readonly Increment[]): void;
}
