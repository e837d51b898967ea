/**
 * Limits that the lanes of an account share: deliveries in progress to one URL and to all, and the bytes of a second.
 * They make deliveries wait and refuse none. A message that is larger than a second's bytes goes alone in its second.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Limits } from '../state/limits.ts';

const SECOND_MS = 1_000;

/** Why an item may not begin yet: an end must come first, or time. */
export interface Hold {
  readonly isOpen: () => boolean;
  /** Milliseconds until time opens it; undefined when only an end does. */
  readonly opensInMs?: () => number;
}

/** What is known of an item before it begins. */
export interface Load {
  readonly accountId: string;
  readonly url: string;
  readonly bytes: number;
}

interface UrlLoad extends Hold {
  active: number;
}

interface AccountLoad {
  active: number;
  readonly urls: Map<string, UrlLoad>;
  /** Monotonic second that `bytes` counts in. */
  second: number;
  bytes: number;
  readonly parallelism: Hold;
  readonly bandwidth: Hold;
}

export class SharedLimits {
  readonly #clock: Clock;
  readonly #limitsOf: (accountId: string) => Limits;
  readonly #accounts = new Map<string, AccountLoad>();

  constructor(clock: Clock, limitsOf: (accountId: string) => Limits) {
    this.#clock = clock;
    this.#limitsOf = limitsOf;
  }

  /** What holds an item back; undefined when it may begin. */
  holding({ accountId, url, bytes }: Load): Hold | undefined {
    const account = this.#accountOf(accountId);
    if (!account.parallelism.isOpen()) return account.parallelism;
    const load = account.urls.get(url);
    if (load !== undefined && !load.isOpen()) return load;
    this.#roll(account);
    const fits = account.bytes === 0 || account.bytes + bytes <= this.#limitsOf(accountId).bytesPerSecond;
    return fits ? undefined : account.bandwidth;
  }

  begin({ accountId, url, bytes }: Load): void {
    const account = this.#accountOf(accountId);
    let load = account.urls.get(url);
    if (load === undefined) {
      const made: UrlLoad = { active: 0, isOpen: () => made.active < this.#limitsOf(accountId).parallelism };
      load = made;
      account.urls.set(url, load);
    }
    account.active++;
    load.active++;
    this.#roll(account);
    account.bytes += bytes;
  }

  /** The holds that it may have opened. */
  end({ accountId, url }: Load): readonly Hold[] {
    const account = this.#accountOf(accountId);
    const load = account.urls.get(url)!;
    account.active--;
    load.active--;
    if (load.active === 0) account.urls.delete(url);
    return [load, account.parallelism];
  }

  #roll(account: AccountLoad): void {
    const second = Math.floor(this.#clock.monotonic() / SECOND_MS);
    if (second === account.second) return;
    account.second = second;
    account.bytes = 0;
  }

  #accountOf(accountId: string): AccountLoad {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) return known;
    const account: AccountLoad = {
      active: 0,
      urls: new Map(),
      second: -Infinity,
      bytes: 0,
      parallelism: { isOpen: () => account.active < this.#limitsOf(accountId).globalParallelism },
      bandwidth: {
        isOpen: () => {
          this.#roll(account);
          return account.bytes <= this.#limitsOf(accountId).bytesPerSecond;
        },
        opensInMs: () => {
          this.#roll(account);
          // Not less: a fraction that rounds to nothing would be waited for in the same moment for ever.
          return Math.max(1, (account.second + 1) * SECOND_MS - this.#clock.monotonic());
        },
      },
    };
    this.#accounts.set(accountId, account);
    return account;
  }
}
