/**
 * How attempts to deliver fared lately, by account and host: what the log told in the last hours, by the entries' own
 * time, in minutes. What is not held is not known, never 0: before the process has watched for the whole window, while
 * the reading of the log is behind, and of hosts that were forgotten since there were too many.
 */
import type { EndedAttemptsRead } from '../domain/ended-attempts.ts';
import type { Clock } from '../platform/clock.ts';
import { getOrAdd } from '../platform/get-or-add.ts';

const MINUTE_MS = 60_000;
/** Longer windows are not known. */
const MINUTES = 360;
/** Of one account; the one that was silent the longest goes first. */
const MOST_HOSTS = 500;
/** The log may be counted so far behind the present. */
const BEHIND_MS = 5 * MINUTE_MS;

export interface AttemptCounts {
  readonly delivered: number;
  /** Delivered, and failed. */
  readonly all: number;
}

export class RecentAttempts {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountAttempts>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** To be called with each commit of the reading, in their order. */
  take(account: string, read: EndedAttemptsRead): void {
    getOrAdd(this.#accounts, account, () => new AccountAttempts(read.from)).take(read);
  }

  /** Attempts that ended within the last `windowMs` milliseconds, of which at most a minute more is counted. */
  of(account: string, host: string, windowMs: number): AttemptCounts | undefined {
    const known = this.#accounts.get(account);
    const now = this.#clock.now();
    if (known === undefined || now - known.watermark > BEHIND_MS) return undefined;
    return known.of(host, now - windowMs);
  }
}

class AccountAttempts {
  watermark: number;
  /** Everything since is held, of hosts that have no place as well: there was nothing. */
  #since: number;
  readonly #hosts = new Map<string, HostAttempts>();

  constructor(since: number) {
    this.#since = since;
    this.watermark = since;
  }

  take({ watermark, attempts }: EndedAttemptsRead): void {
    this.watermark = watermark;
    for (const { host, minute, delivered, failed } of attempts) {
      getOrAdd(this.#hosts, host, () => new HostAttempts(this.#since)).add(minute, delivered, failed);
    }
    this.#forgetSilent();
  }

  of(host: string, from: number): AttemptCounts | undefined {
    const first = Math.floor(from / MINUTE_MS) * MINUTE_MS;
    const known = this.#hosts.get(host);
    const since = known?.since ?? this.#since;
    // The present minute takes a place of the ring as well.
    if (!(from >= since) || first <= this.watermark - (MINUTES - 1) * MINUTE_MS) return undefined;
    return known?.sumFrom(first) ?? { delivered: 0, all: 0 };
  }

  /** Of a host without a place nothing is known any more until the last that any of them did. */
  #forgetSilent(): void {
    const tooMany = this.#hosts.size - MOST_HOSTS;
    if (tooMany <= 0) return;
    const silent = [...this.#hosts].sort(([, a], [, b]) => a.newest - b.newest).slice(0, tooMany);
    for (const [host] of silent) this.#hosts.delete(host);
    this.#since = Math.max(this.#since, silent.at(-1)![1].newest + MINUTE_MS);
  }
}

/** A ring of minutes. */
class HostAttempts {
  readonly since: number;
  newest = 0;
  readonly #minutes = new Float64Array(MINUTES);
  readonly #delivered = new Uint32Array(MINUTES);
  readonly #failed = new Uint32Array(MINUTES);

  constructor(since: number) {
    this.since = since;
  }

  add(minute: number, delivered: number, failed: number): void {
    const place = (minute / MINUTE_MS) % MINUTES;
    if (this.#minutes[place]! > minute) return;
    if (this.#minutes[place] !== minute) {
      this.#minutes[place] = minute;
      this.#delivered[place] = 0;
      this.#failed[place] = 0;
    }
    this.#delivered[place]! += delivered;
    this.#failed[place]! += failed;
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
}
