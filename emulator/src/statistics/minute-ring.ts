/**
 * Counts per minute over the last 31 days, in typed arrays of fixed size: about 2.5 MB per account at any load. A slot
 * belongs to the minute in its stamp. A newer minute replaces the slot, and an older one is not counted.
 */

/** Number of minutes kept: the longest period and the longest month. */
export const KEPT_MINUTES = 31 * 24 * 60;

export class MinuteRing {
  readonly #columns: number;
  /** Minute since the epoch that each slot holds; -1 for none. */
  readonly #stamps = new Int32Array(KEPT_MINUTES).fill(-1);
  /** Counts, column by column. */
  readonly #counts: Uint32Array;
  readonly #bytes = new Float64Array(KEPT_MINUTES);

  constructor(columns: number) {
    this.#columns = columns;
    this.#counts = new Uint32Array(columns * KEPT_MINUTES);
  }

  /** Adds to a minute. Returns false when the minute has left the ring. */
  add(minute: number, column: number, count: number): boolean {
    const slot = this.#slotFor(minute);
    if (slot === undefined) return false;
    this.#counts[column * KEPT_MINUTES + slot]! += count;
    return true;
  }

  /** Adds bytes to a minute. Returns false when the minute has left the ring. */
  addBytes(minute: number, bytes: number): boolean {
    const slot = this.#slotFor(minute);
    if (slot === undefined) return false;
    this.#bytes[slot]! += bytes;
    return true;
  }

  /** Returns the sum of a column over [from, to), in minutes since the epoch. */
  sum(column: number, from: number, to: number): number {
    let sum = 0;
    for (let minute = from; minute < to; minute++) {
      const slot = slotOf(minute);
      if (this.#stamps[slot] === minute) sum += this.#counts[column * KEPT_MINUTES + slot]!;
    }
    return sum;
  }

  /** Returns the sum of bytes over [from, to), in minutes since the epoch. */
  sumBytes(from: number, to: number): number {
    let sum = 0;
    for (let minute = from; minute < to; minute++) {
      const slot = slotOf(minute);
      if (this.#stamps[slot] === minute) sum += this.#bytes[slot]!;
    }
    return sum;
  }

  #slotFor(minute: number): number | undefined {
    const slot = slotOf(minute);
    const stamp = this.#stamps[slot]!;
    if (stamp === minute) return slot;
    if (stamp > minute) return undefined;
    this.#stamps[slot] = minute;
    this.#bytes[slot] = 0;
    for (let column = 0; column < this.#columns; column++) this.#counts[column * KEPT_MINUTES + slot] = 0;
    return slot;
  }
}

function slotOf(minute: number): number {
  return ((minute % KEPT_MINUTES) + KEPT_MINUTES) % KEPT_MINUTES;
}
