/** Times from a fault to the first request of the next owner, as the service sees them. */
import type { Arrival } from './replica-host.ts';

interface Awaited {
  readonly from: string;
  readonly at: number;
}

export class Takeovers {
  /** Milliseconds of each takeover. */
  readonly times: number[] = [];
  readonly #awaited = new Map<string, Awaited>();

  /** @param from replica whose requests do not count; '' if its process has ended */
  expect(accounts: readonly string[], from: string): void {
    for (const account of accounts) this.#awaited.set(account, { from, at: Date.now() });
  }

  arrived({ replica, account, at }: Arrival): void {
    const awaited = this.#awaited.get(account);
    if (awaited === undefined || awaited.from === replica) return;
    this.#awaited.delete(account);
    this.times.push(at - awaited.at);
  }

  /** Accounts without a new owner. */
  get open(): readonly string[] {
    return [...this.#awaited.keys()];
  }

  /** Forgets takeovers that need not happen any more, because the owner before acts again. */
  forget(): void {
    this.#awaited.clear();
  }
}
