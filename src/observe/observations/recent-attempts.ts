/**
 * How attempts to deliver fared lately, by account and host: what the log told in the last hours, by the entries' own
 * time, in minutes. What is not held is not known, never 0: before the process has watched for the whole window, while
 * the reading of the log is behind, and of hosts that were forgotten since there were too many.
 */
import type { EndedAttemptsRead } from '#foundation/domain/ended-attempts.ts';
import type { Outage } from '#foundation/domain/outage.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { HostAttempts, MINUTE_MS, MINUTES, type AttemptCounts } from './host-attempts.ts';

/** Of one account; the one that was silent the longest goes first. */
const MOST_HOSTS = 500;
/** The log may be counted so far behind the present. */
const BEHIND_MS = 5 * MINUTE_MS;

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
    return this.#current(account)?.of(host, this.#clock.now() - windowMs);
  }

  /** The same, of the part of the window that is held: attempts that were not seen may be missing. */
  seen(account: string, host: string, windowMs: number): AttemptCounts | undefined {
    return this.#current(account)?.seen(host, this.#clock.now() - windowMs);
  }

  /** Destinations that fail nearly all attempts, most failures first; undefined when that is not known. */
  outages(account: string): readonly Outage[] | undefined {
    return this.#current(account)?.outages();
  }

  #current(account: string): AccountAttempts | undefined {
    const known = this.#accounts.get(account);
    return known === undefined || this.#clock.now() - known.watermark > BEHIND_MS ? undefined : known;
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
    for (const ended of attempts) {
      getOrAdd(this.#hosts, ended.host, () => new HostAttempts(this.#since)).add(ended);
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

  seen(host: string, from: number): AttemptCounts {
    return this.#hosts.get(host)?.sumFrom(Math.floor(from / MINUTE_MS) * MINUTE_MS) ?? { delivered: 0, all: 0 };
  }

  outages(): Outage[] {
    return [...this.#hosts]
      .flatMap(([host, attempts]) => {
        const outage = attempts.outage(this.watermark);
        return outage === undefined ? [] : [{ host, ...outage }];
      })
      .sort((a, b) => b.failed - a.failed);
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
