/**
 * The two signing keys of each account. Deliveries are signed with the current key. A receiver that accepts both keys
 * keeps working when the next key becomes the current one.
 */
import { randomBytes } from 'node:crypto';

export interface AccountSigningKeys {
  readonly current: string;
  readonly next: string;
}

/** The keys of all accounts: given ones, else random ones. */
export class SigningKeyRing {
  readonly #keys = new Map<string, AccountSigningKeys>();

  /** @throws {Error} when a key is empty */
  constructor(seeds: readonly { readonly id: string; readonly signingKeys?: Partial<AccountSigningKeys> }[]) {
    for (const { id, signingKeys } of seeds) this.give(id, signingKeys);
  }

  /**
   * Sets the keys of an account; random when not given.
   *
   * @throws {Error} when a key is empty
   */
  give(accountId: string, given: Partial<AccountSigningKeys> = {}): AccountSigningKeys {
    const keys = { current: given.current ?? randomKey(), next: given.next ?? randomKey() };
    if (keys.current === '' || keys.next === '') throw new Error(`account ${accountId} has an empty signing key`);
    this.#keys.set(accountId, keys);
    return keys;
  }

  of(accountId: string): AccountSigningKeys {
    const known = this.#keys.get(accountId);
    if (known !== undefined) return known;
    const keys = { current: randomKey(), next: randomKey() };
    this.#keys.set(accountId, keys);
    return keys;
  }

  /** Loads the keys of an earlier process. */
  restore(accountId: string, keys: AccountSigningKeys): void {
    this.#keys.set(accountId, keys);
  }

  /** Makes the next key the current one, and generates a new next key. */
  roll(accountId: string): AccountSigningKeys {
    const keys = { current: this.of(accountId).next, next: randomKey() };
    this.#keys.set(accountId, keys);
    return keys;
  }
}

/** Generates a key, never from seeded randomness: with the seed, anyone could sign. */
function randomKey(): string {
  return `sig_${randomBytes(24).toString('base64url')}`;
}
