/**
 * Port for the counters of the flow control aggregation. It also has the aggregation's state in memory: the last reading of each key,
 * and keys seen in log entries. The state in memory ends with the process. Waits during downtime are unknown, and keys
 * are seen again.
 */
import type { Constraint } from '#foundation/domain/flow-control.ts';
import type { Increment } from './totals.ts';

/** Reading of a key. */
export interface KeyReading {
  /** Milliseconds on the monotonic clock. */
  readonly at: number;
  /** Undefined if no message was waiting. */
  readonly heldBy: Constraint | undefined;
}

const MOST_SEEN = 1_000;
const FORGOTTEN_AFTER_MS = 86_400_000;

/** Flow control keys seen in log entries, the first seen first. A key that is not seen for a day is forgotten. */
class SeenKeys {
  readonly #seenAt = new Map<string, number>();
  readonly #unwatched = new Set<string>();

  /** @param at milliseconds on the monotonic clock */
  add(key: string, at: number): void {
    if (this.#seenAt.has(key) || this.#seenAt.size < MOST_SEEN) this.#seenAt.set(key, at);
  }

  /** Removes a key that no longer exists. */
  delete(key: string): void {
    this.#seenAt.delete(key);
  }

  /**
   * Chooses keys to watch in addition to the configured ones.
   *
   * @returns the keys, and the number of keys that newly exceed the limit
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
  /** Last reading of each key that was read. */
  readings: ReadonlyMap<string, KeyReading> = new Map();
  /** Labels whose counters exist. */
  readonly counted = new Set<string>();
  /** True if the counters without labels exist. */
  isBegun = false;
}

export interface FlowControlAggregationStore {
  /** Returns the state in memory of an account. The store owns it. */
  memory(account: string): FlowControlMemory;
  /** Rejects if the write fails; nothing is written then. */
  commitFlowControl(account: string, increments: readonly Increment[]): Promise<void>;
}
