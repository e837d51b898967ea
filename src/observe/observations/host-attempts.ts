/** Attempts to one host by minute, and the decision if the host is down. */
import type { EndedAttempts } from '#foundation/domain/ended-attempts.ts';
import type { Outage } from '#foundation/domain/outage.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

export const MINUTE_MS = 60_000;
/** Maximum window in minutes. */
export const MINUTES = 360;

/** Conditions of an outage: minimum number of attempts, and an upper limit of the share delivered. */
const FEWEST_ATTEMPTS = 10;
const MOST_DELIVERED = 0.1;
/**
 * Minimum duration in minutes: retries take minutes, so a brief failure is not an outage. It does not apply if enough
 * messages failed finally.
 */
const FEWEST_MINUTES = 3;
const FEWEST_LOST = 10;
/** Maximum age of an attempt that still shows the current state of the host. */
const LATELY_MS = 60 * MINUTE_MS;
/** Silence before the first failure after which that failure is treated as the start of the outage. */
const SILENT_MS = 5 * MINUTE_MS;
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
   * Returns the outage that the attempts show. It starts after the last minute when half of them were delivered.
   *
   * @param watermark end of the counted log, in epoch milliseconds
   */
  outage(watermark: number): Omit<Outage, 'host'> | undefined {
    const newest = minuteOf(watermark);
    const oldest = Math.max(minuteOf(this.since), newest - (MINUTES - 1) * MINUTE_MS);
    const sum = { delivered: 0, failed: 0, lost: 0, minutes: 0, since: newest, lastAt: 0 };
    let isStartSeen = false;
    let recent: AttemptCounts | undefined;
    for (let minute = newest; minute >= oldest; minute -= MINUTE_MS) {
      const place = placeOf(minute);
      if (this.#minutes[place] !== minute) continue;
      const [delivered, failed] = [this.#delivered[place]!, this.#failed[place]!];
      if (delivered + failed > 0 && delivered >= failed) {
        isStartSeen = true;
        break;
      }
      sum.delivered += delivered;
      sum.failed += failed;
      sum.lost += this.#lost[place]!;
      if (failed === 0) continue;
      sum.minutes += 1;
      sum.since = this.#failedFrom[place]!;
      sum.lastAt ||= minute;
      if (sum.delivered + sum.failed >= FEWEST_ATTEMPTS) {
        recent ??= { delivered: sum.delivered, all: sum.delivered + sum.failed };
      }
    }
    const { minutes, ...found } = sum;
    const isDown = recent !== undefined && isMostlyFailed(recent) && isMostlyFailed(countsOf(found));
    const isLasting = minutes >= FEWEST_MINUTES || found.lost >= FEWEST_LOST;
    if (!isDown || !isLasting || newest - found.lastAt > LATELY_MS) return undefined;
    const isSinceKnown = isStartSeen || found.since - oldest >= SILENT_MS;
    return { ...found, isSinceKnown, reasons: this.#reasonsFrom(minuteOf(found.since)) };
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

function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS) * MINUTE_MS;
}

function placeOf(minute: number): number {
  return (minute / MINUTE_MS) % MINUTES;
}

function countsOf({ delivered, failed }: { readonly delivered: number; readonly failed: number }): AttemptCounts {
  return { delivered, all: delivered + failed };
}

function isMostlyFailed({ delivered, all }: AttemptCounts): boolean {
  return delivered < MOST_DELIVERED * all;
}
