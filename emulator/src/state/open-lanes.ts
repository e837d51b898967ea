/**
 * Lanes of messages without a flow-control key: one for each URL. A destination at its limit therefore delays only its
 * own messages.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { FlowLane } from './flow-lane.ts';

/** Minimum number of lanes for a search of idle lanes. The next search follows at twice the remaining number. */
const MANY = 1_000;

export class OpenLanes<T> {
  readonly #clock: Clock;
  readonly #lanes = new Map<string, FlowLane<T>>();
  #pruneAt = MANY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#lanes.size;
  }

  of(url: string): FlowLane<T> {
    return getOrAdd(this.#lanes, url, () => {
      this.#prune();
      return new FlowLane<T>(this.#clock);
    });
  }

  #prune(): void {
    if (this.#lanes.size < this.#pruneAt) return;
    for (const [url, lane] of this.#lanes) {
      if (lane.idle) this.#lanes.delete(url);
    }
    this.#pruneAt = Math.max(MANY, 2 * this.#lanes.size);
  }
}
