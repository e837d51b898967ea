/**
 * Limits that the lanes of an account share: concurrent deliveries to one URL and in total, and bytes per second. They
 * delay deliveries and reject none. A message larger than the bytes of a second is delivered alone in its second.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Limits } from '../state/limits.ts';

const SECOND_MS = 1_000;

/** Reason that delays an item: it waits for the end of another item, or for time. */
export interface Hold {
  readonly isOpen: () => boolean;
  /** Milliseconds until the hold opens; undefined when only the end of an item opens it. */
  readonly opensInMs?: () => number;
}

/** Facts of an item that are known before it begins. */
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
  /** Monotonic second that `bytes` belongs to. */
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

  /** Returns the hold of an item; undefined when it can begin. */
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

  /** Returns the holds that the item's end may have opened. */
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
          // At least 1: a fraction that rounds to 0 would make the timer fire at the same time forever.
          return Math.max(1, (account.second + 1) * SECOND_MS - this.#clock.monotonic());
        },
      },
    };
    this.#accounts.set(accountId, account);
    return account;
  }
}
