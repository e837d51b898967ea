/** Values of one label of one account: those that metrics export by name, and those that they export as `other`. */
import { isStamp } from '#foundation/domain/lineage.ts';
import type { LabelValue } from '../aggregation/label-store.ts';
import { FrequentValues, type Frequent } from './frequent-values.ts';
import type { LabelRule } from './label-rules.ts';
import { cleanLabel, OTHER } from './labels.ts';

const HOUR_MS = 3_600_000;
/** Time without being seen after which a value loses its place. */
const IDLE_MS = 7 * 24 * HOUR_MS;

/** Number of overflowed values with known amounts. */
const WATCHED = 64;
/** Number of raw texts whose place is cached without cleaning them again, and their maximum length. */
const MEMO = 4_096;
const MEMO_LENGTH = 512;

/** Use of a label of an account. */
export interface LabelUse {
  readonly account: string;
  readonly label: string;
  readonly max: number;
  /** Number of exported values, including those in the configuration. */
  readonly shown: number;
  readonly configured: number;
  /** Number of values in the store without a place. */
  readonly hidden: number;
  /** Occurrences of values without a place, since the start of the process. */
  readonly overflowAmount: number;
  readonly largestOverflow: readonly Frequent[];
}

/** Last complete readings of the running collectors that see a label, and their interval. */
export interface Readings {
  /** Epoch milliseconds, one per collector; undefined before its first success. */
  readonly lastSuccesses: readonly (number | undefined)[];
  readonly intervalMs: number;
}

interface Place {
  readonly value: string;
  readonly isConfigured: boolean;
  readonly isHidden: boolean;
  isSeen: boolean;
  idleMs: number;
  isSaved: boolean;
}

interface LabelPlacesOptions {
  readonly account: string;
  readonly rule: LabelRule;
  /** Values named in the configuration. */
  readonly configured: readonly string[];
  /** Values that had a place before, oldest first. */
  readonly stored: readonly LabelValue[];
  /** Monotonic milliseconds. */
  readonly now: number;
  /** Called each time a value is overflowed. */
  readonly onOverflow: (account: string, label: string, value: string) => void;
}

export class LabelPlaces {
  readonly account: string;
  readonly rule: LabelRule;
  readonly #places = new Map<string, Place>();
  readonly #configured: ReadonlySet<string>;
  readonly #memo = new Map<string, Place>();
  readonly #overflowed = new FrequentValues(WATCHED);
  readonly #onOverflow: LabelPlacesOptions['onOverflow'];
  #shown = 0;
  /** Monotonic time of the last count of idle time. */
  #countedAt: number;
  #lastSuccesses: Readings['lastSuccesses'] = [];

  constructor({ account, rule, configured, stored, now, onOverflow }: LabelPlacesOptions) {
    this.account = account;
    this.rule = rule;
    this.#onOverflow = onOverflow;
    this.#countedAt = now;
    const first = [...configured, ...rule.first].filter(
      (value) => value !== '' && value !== OTHER && !isStamp(value) && rule.isAllowed(value),
    );
    this.#configured = new Set(first.map(cleanLabel));
    for (const value of this.#configured) this.#put(value, { isConfigured: true });
    for (const { value, idleMs } of stored) {
      if (this.#places.has(value)) continue;
      this.#put(value, { isHidden: !this.#mayShow(value), idleMs, isSaved: true });
    }
  }

  /** Returns the exported text for a value that was just seen. Gives it a place if one is free. */
  admit(raw: string, amount: number): string {
    let place = this.#memo.get(raw);
    if (place === undefined) {
      const value = this.#clean(raw);
      if (value === OTHER || value === '') return value;
      place = this.#places.get(value);
      if (place === undefined && this.#mayShow(value)) place = this.#put(value, {});
      if (place === undefined || place.isHidden) return this.#overflow(value, amount);
      this.#remember(raw, place);
    }
    place.isSeen = true;
    return place.value;
  }

  /**
   * Returns the exported text for a value in the store; undefined if it is hidden. The value does not count as seen.
   */
  keep(raw: string): string | undefined {
    // Every commit of an aggregation passes here, nearly always with a known value.
    const known = this.#memo.get(raw);
    if (known !== undefined) return known.value;
    const value = this.#clean(raw);
    if (value === OTHER || value === '') return value;
    // The value was admitted just before the end of an earlier process, which could not store it.
    const place = this.#places.get(value) ?? this.#put(value, { isHidden: !this.#mayShow(value) });
    if (place.isHidden) return undefined;
    this.#remember(raw, place);
    return place.value;
  }

  /** Adds to the idle time of values that were not seen since the last count, if all collectors have read since. */
  countIdle({ lastSuccesses, intervalMs }: Readings, now: number): void {
    const before = this.#lastSuccesses;
    const haveRead =
      lastSuccesses.length > 0 && lastSuccesses.every((at, index) => at !== undefined && at !== before[index]);
    if (!haveRead) return;
    // Time without readings, for example an outage, does not count.
    const elapsed = Math.min(now - this.#countedAt, 2 * Math.max(HOUR_MS, intervalMs));
    this.#lastSuccesses = lastSuccesses;
    this.#countedAt = now;
    for (const place of this.#places.values()) {
      const idleMs = place.isSeen ? 0 : place.idleMs + elapsed;
      if (idleMs !== place.idleMs) place.isSaved = false;
      place.idleMs = idleMs;
      place.isSeen = false;
    }
  }

  /** Returns the values that were idle long enough to lose their place. */
  idle(): string[] {
    return [...this.#places.values()]
      .filter((place) => !place.isConfigured && place.idleMs >= IDLE_MS)
      .map(({ value }) => value);
  }

  remove(value: string): void {
    const place = this.#places.get(value);
    if (place === undefined) return;
    this.#places.delete(value);
    this.#memo.clear();
    if (!place.isHidden) this.#shown -= 1;
  }

  /** Returns the values whose stored state is missing or outdated. The caller stores them. */
  takeUnsaved(): LabelValue[] {
    const unsaved = [...this.#places.values()].filter((place) => !place.isSaved);
    for (const place of unsaved) place.isSaved = true;
    return unsaved.map(({ value, idleMs }) => ({ account: this.account, label: this.rule.label, value, idleMs }));
  }

  /** Returns values that could not be stored. */
  putBack(values: readonly LabelValue[]): void {
    for (const { value } of values) {
      const place = this.#places.get(value);
      if (place !== undefined) place.isSaved = false;
    }
  }

  use(): LabelUse {
    return {
      account: this.account,
      label: this.rule.label,
      max: this.rule.max,
      shown: this.#shown,
      configured: this.#configured.size,
      hidden: this.#places.size - this.#shown,
      overflowAmount: this.#overflowed.total,
      largestOverflow: this.#overflowed.largest(10),
    };
  }

  #mayShow(value: string): boolean {
    return this.#shown < this.rule.max && this.rule.isAllowed(value);
  }

  #put(value: string, how: Partial<Place>): Place {
    const place = { value, isConfigured: false, isHidden: false, isSeen: false, idleMs: 0, isSaved: false, ...how };
    this.#places.set(value, place);
    if (!place.isHidden) this.#shown += 1;
    return place;
  }

  /** Returns the cleaned value. The daemon's own stamps are unique to a run and never become labels. */
  #clean(raw: string): string {
    if (this.#configured.has(raw)) return raw;
    return isStamp(raw) ? OTHER : this.rule.normalise(raw);
  }

  #overflow(value: string, amount: number): string {
    this.#overflowed.add(value, amount);
    this.#onOverflow(this.account, this.rule.label, value);
    return OTHER;
  }

  #remember(raw: string, place: Place): void {
    if (raw.length > MEMO_LENGTH) return;
    if (this.#memo.size >= MEMO) this.#memo.clear();
    this.#memo.set(raw, place);
  }
}
