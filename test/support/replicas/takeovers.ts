/** Times from a fault to the first request of the next owner, as the service sees them. */
import type { FaultName } from './faults.ts';
import type { Arrival } from './replica-host.ts';

export interface Takeover {
  readonly fault: FaultName;
  readonly ms: number;
}

interface Awaited {
  readonly fault: FaultName;
  /** Replica whose requests do not count; absent if its process has ended. */
  readonly from?: string;
}

export class Takeovers {
  readonly all: Takeover[] = [];
  readonly #awaited = new Map<string, Awaited & { readonly at: number }>();

  expect(accounts: readonly string[], awaited: Awaited): void {
    for (const account of accounts) this.#awaited.set(account, { ...awaited, at: Date.now() });
  }

  arrived({ replica, account, at }: Arrival): void {
    const awaited = this.#awaited.get(account);
    if (awaited === undefined || awaited.from === replica) return;
    this.#awaited.delete(account);
    this.all.push({ fault: awaited.fault, ms: at - awaited.at });
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
