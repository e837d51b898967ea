/**
 * Recent delivery attempts by account and host: counts from the log for the last hours, per minute of the entries' own
 * time. Missing data is unknown, never 0. Data is missing until the daemon has observed the whole window, and while
 * the log is read with a lag. It is also missing for hosts that were forgotten because of the limit.
 */
import { DESTINATION_RULES, type DestinationStatus, type Outage } from '#foundation/domain/destination-state.ts';
import type { EndedAttemptsRead, KnownAttempts } from '#foundation/domain/ended-attempts.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { NewestFailures } from '#foundation/domain/newest-failures.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { HostAttempts, MINUTE_MS, minuteOf, MINUTES, type AttemptCounts } from './host-attempts.ts';

/** Maximum number of hosts per account. The host that was silent longest is removed first. */
const MOST_HOSTS = 500;
/** Maximum lag of the log counting. */
const BEHIND_MS = 5 * MINUTE_MS;

/** Attempts of one account for other replicas. */
export interface SharedAttempts {
  /** End of the counted log, in epoch milliseconds. */
  readonly watermark: number;
  readonly outages: readonly Outage[];
  /** Hosts with attempts within the window whose counts are known. */
  readonly hosts: readonly (readonly [host: string, delivered: number, all: number])[];
  /** True if hosts that are not in the list had no attempts. */
  readonly isComplete: boolean;
}

export class RecentAttempts {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountAttempts>();
  readonly #failures = new Map<string, NewestFailures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Restores what an earlier process or generation counted. Must be called before the first `take`. */
  restore(account: string, known: KnownAttempts): void {
    this.#accounts.set(account, new AccountAttempts(known));
  }

  /** Adds a commit of the log reading. Must be called once per commit, in order. */
  take(account: string, read: EndedAttemptsRead): void {
    const failures = getOrAdd(this.#failures, account, () => new NewestFailures());
    for (const entry of read.failures) failures.add(entry);
    const known = this.#accounts.get(account);
    if (known === undefined) this.#accounts.set(account, new AccountAttempts(read));
    else known.take(read);
  }

  /** Returns the newest failed deliveries since the start, newest first. Undefined before the first reading. */
  failures(account: string): readonly LogEntry[] | undefined {
    return this.#failures.get(account)?.newest();
  }

  /** Returns the attempts that ended within the last `windowMs` milliseconds. At most one extra minute is included. */
  of(account: string, host: string, windowMs: number): AttemptCounts | undefined {
    return this.#current(account)?.of(host, this.#clock.now() - windowMs);
  }

  /**
   * Returns the attempts of the known part of the window. Attempts that were not seen may be missing. While the reading
   * of the log is behind, the window ends where it stopped: what failed then does not become unknown at once.
   */
  seen(account: string, host: string, windowMs: number): AttemptCounts | undefined {
    const known = this.#accounts.get(account);
    const now = this.#clock.now();
    if (known === undefined || now - known.watermark > DESTINATION_RULES.latelyMs) return undefined;
    return known.seen(host, (isBehind(known, now) ? known.watermark : now) - windowMs);
  }

  /** Returns the state of a destination. Undefined if the log is not counted far enough. */
  destination(account: string, host: string): DestinationStatus | undefined {
    return this.#current(account)?.destination(host);
  }

  /** Returns destinations that fail nearly all attempts, most failures first. Undefined if unknown. */
  outages(account: string): readonly Outage[] | undefined {
    return this.#current(account)?.outages();
  }

  /** Returns the outages of an account, and the attempts of the window, whatever the lag. Undefined if unknown. */
  share(account: string, windowMs: number): SharedAttempts | undefined {
    return this.#accounts.get(account)?.share(this.#clock.now() - windowMs);
  }

  #current(account: string): AccountAttempts | undefined {
    const known = this.#accounts.get(account);
    return known === undefined || isBehind(known, this.#clock.now()) ? undefined : known;
  }
}

/** As `RecentAttempts.outages`, for attempts that another replica shared. */
export function sharedOutages(shared: SharedAttempts | undefined, now: number): readonly Outage[] | undefined {
  return shared === undefined || isBehind(shared, now) ? undefined : shared.outages;
}

/** As `RecentAttempts.of`, for attempts that another replica shared. */
export function sharedAttemptsOf(
  shared: SharedAttempts | undefined,
  host: string,
  now: number,
): AttemptCounts | undefined {
  if (shared === undefined || isBehind(shared, now)) return undefined;
  const found = shared.hosts.find(([name]) => name === host);
  if (found === undefined) return shared.isComplete ? { delivered: 0, all: 0 } : undefined;
  return { delivered: found[1], all: found[2] };
}

function isBehind({ watermark }: { readonly watermark: number }, now: number): boolean {
  return now - watermark > BEHIND_MS;
}

class AccountAttempts {
  watermark: number;
  /** Time since when data is complete, including for hosts without an entry: they had no attempts. */
  #since: number;
  readonly #hosts = new Map<string, HostAttempts>();

  constructor(known: KnownAttempts) {
    this.#since = known.from;
    this.watermark = known.from;
    this.take(known);
  }

  take({ watermark, attempts }: KnownAttempts): void {
    this.watermark = watermark;
    for (const ended of attempts) {
      getOrAdd(this.#hosts, ended.host, () => new HostAttempts(this.#since)).add(ended);
    }
    this.#forgetSilent();
  }

  of(host: string, from: number): AttemptCounts | undefined {
    return this.#isComplete(from, this.#hosts.get(host)?.since ?? this.#since) ? this.seen(host, from) : undefined;
  }

  destination(host: string): DestinationStatus {
    return (this.#hosts.get(host) ?? new HostAttempts(this.#since)).status(this.watermark);
  }

  #isComplete(from: number, since: number): boolean {
    // The current minute also uses a slot of the ring.
    return from >= since && minuteOf(from) > this.watermark - (MINUTES - 1) * MINUTE_MS;
  }

  seen(host: string, from: number): AttemptCounts {
    return this.#hosts.get(host)?.sumFrom(minuteOf(from)) ?? { delivered: 0, all: 0 };
  }

  share(from: number): SharedAttempts {
    const hosts = [...this.#hosts.keys()].flatMap((host) => {
      const counts = this.of(host, from);
      return counts === undefined || counts.all === 0 ? [] : [[host, counts.delivered, counts.all] as const];
    });
    return {
      watermark: this.watermark,
      outages: this.outages(),
      hosts,
      isComplete: this.#isComplete(from, this.#since),
    };
  }

  outages(): Outage[] {
    return [...this.#hosts]
      .flatMap(([host, attempts]) => {
        const outage = attempts.outage(this.watermark);
        return outage === undefined ? [] : [{ host, ...outage }];
      })
      .sort((a, b) => b.failed - a.failed);
  }

  /**
   * Forgets the hosts that were silent longest. Data of hosts without an entry is unknown up to the last attempt of a
   * forgotten host.
   */
  #forgetSilent(): void {
    const tooMany = this.#hosts.size - MOST_HOSTS;
    if (tooMany <= 0) return;
    const silent = [...this.#hosts].sort(([, a], [, b]) => a.newest - b.newest).slice(0, tooMany);
    for (const [host] of silent) this.#hosts.delete(host);
    this.#since = Math.max(this.#since, silent.at(-1)![1].newest + MINUTE_MS);
  }
}
