/** Attempts to one host by minute. */
import {
  destinationStatus,
  outageOf,
  type AttemptFacts,
  type AttemptMinute,
  type DestinationStatus,
  type Outage,
} from '#foundation/domain/destination-state.ts';
import type { EndedAttempts } from '#foundation/domain/ended-attempts.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

export const MINUTE_MS = 60_000;
/** Maximum window in minutes. */
export const MINUTES = 360;

/** Maximum number of reasons per host; further reasons count as `other`. */
const MOST_REASONS = 8;

export interface AttemptCounts {
  readonly delivered: number;
  /** Number of attempts, delivered and failed. */
  readonly all: number;
}

/** Ring buffer of minutes. */
export class HostAttempts {
  readonly since: number;
  newest = 0;
  readonly #minutes = new Float64Array(MINUTES);
  readonly #delivered = new Uint32Array(MINUTES);
  readonly #failed = new Uint32Array(MINUTES);
  readonly #lost = new Uint32Array(MINUTES);
  readonly #failedFrom = new Float64Array(MINUTES);
  readonly #reasons = new Map<string, Uint32Array>();

  constructor(since: number) {
    this.since = since;
  }

  add({ minute, delivered, failed, failedFrom, lost, reasons }: EndedAttempts): void {
    const place = placeOf(minute);
    if (this.#minutes[place]! > minute) return;
    if (this.#minutes[place] !== minute) {
      this.#minutes[place] = minute;
      this.#failedFrom[place] = Infinity;
      for (const counts of [this.#delivered, this.#failed, this.#lost, ...this.#reasons.values()]) counts[place] = 0;
    }
    this.#failedFrom[place] = Math.min(this.#failedFrom[place]!, failedFrom);
    this.#delivered[place]! += delivered;
    this.#failed[place]! += failed;
    this.#lost[place]! += lost;
    for (const [reason, count] of reasons) {
      const name = this.#reasons.has(reason) || this.#reasons.size < MOST_REASONS ? reason : 'other';
      getOrAdd(this.#reasons, name, () => new Uint32Array(MINUTES))[place]! += count;
    }
    this.newest = Math.max(this.newest, minute);
  }

  sumFrom(first: number): AttemptCounts {
    let delivered = 0;
    let failed = 0;
    for (let place = 0; place < MINUTES; place++) {
      if (this.#minutes[place]! < first) continue;
      delivered += this.#delivered[place]!;
      failed += this.#failed[place]!;
    }
    return { delivered, all: delivered + failed };
  }

  /**
   * Returns the outage that the attempts show.
   *
   * @param watermark end of the counted log, in epoch milliseconds
   */
  outage(watermark: number): Omit<Outage, 'host'> | undefined {
    const failure = outageOf(this.#facts(watermark));
    return failure && { ...failure, reasons: this.#reasonsFrom(minuteOf(failure.since)) };
  }

  status(watermark: number): DestinationStatus {
    return destinationStatus(this.#facts(watermark));
  }

  #facts(until: number): AttemptFacts {
    const from = Math.max(this.since, minuteOf(until) - (MINUTES - 1) * MINUTE_MS);
    return { minutes: () => this.#newestFirst(from, until), from, until };
  }

  *#newestFirst(from: number, until: number): Generator<AttemptMinute> {
    for (let minute = minuteOf(until); minute >= minuteOf(from); minute -= MINUTE_MS) {
      const place = placeOf(minute);
      if (this.#minutes[place] !== minute) continue;
      const [delivered, failed, lost] = [this.#delivered[place]!, this.#failed[place]!, this.#lost[place]!];
      yield { minute, delivered, failed, failedFrom: this.#failedFrom[place]!, lost };
    }
  }

  #reasonsFrom(first: number): Outage['reasons'] {
    return [...this.#reasons]
      .map(([reason, counts]) => ({
        reason,
        count: counts.reduce((sum, count, place) => (this.#minutes[place]! < first ? sum : sum + count), 0),
      }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count);
  }
}

export function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS) * MINUTE_MS;
}

function placeOf(minute: number): number {
  return (minute / MINUTE_MS) % MINUTES;
}
