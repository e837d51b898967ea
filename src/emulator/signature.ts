/**
 * Signed deliveries: each request carries an HS256 JWT (RFC 7519) by which its receiver knows who sent it, to where,
 * when, and that the body is whole. An account has two keys: deliveries are signed with the current one, and a receiver
 * that accepts both goes on working when the next one takes its place.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

export interface SignedDelivery {
  /** Who signs. */
  readonly issuer: string;
  /** The destination, as it was given. */
  readonly url: string;
  /** Another one for each attempt: a receiver can refuse what it has seen. */
  readonly id: string;
  readonly body: Uint8Array;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A request that is this old is no longer to be believed. */
const LIFETIME_SECONDS = 300;
const HEADER = base64url(JSON.stringify({ alg: 'HS256', typ: 'JWT' }));

/** Claims: `iss`, `sub` (the destination), `iat`, `nbf`, `exp` (seconds), `jti`, and `body`, the body's SHA-256. */
export function signDelivery(key: string, { issuer, url, id, body, now }: SignedDelivery): string {
  const at = Math.floor(now / 1_000);
  const hash = createHash('sha256').update(body).digest('base64url');
  const claims = { iss: issuer, sub: url, iat: at, nbf: at, exp: at + LIFETIME_SECONDS, jti: id, body: hash };
  const signed = `${HEADER}.${base64url(JSON.stringify(claims))}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** The keys of all accounts: those given, else random ones. */
export class SigningKeyRing {
  readonly #keys = new Map<string, SigningKeys>();

  /** @throws {Error} when a key is empty */
  constructor(seeds: readonly { readonly id: string; readonly signingKeys?: Partial<SigningKeys> }[]) {
    for (const { id, signingKeys } of seeds) this.give(id, signingKeys);
  }

  /**
   * The keys of an account, random where not given.
   *
   * @throws {Error} when a key is empty
   */
  give(accountId: string, given: Partial<SigningKeys> = {}): SigningKeys {
    const keys = { current: given.current ?? randomKey(), next: given.next ?? randomKey() };
    if (keys.current === '' || keys.next === '') throw new Error(`account ${accountId} has an empty signing key`);
    this.#keys.set(accountId, keys);
    return keys;
  }

  of(accountId: string): SigningKeys {
    const known = this.#keys.get(accountId);
    if (known !== undefined) return known;
    const keys = { current: randomKey(), next: randomKey() };
    this.#keys.set(accountId, keys);
    return keys;
  }

  /** Keys of an earlier process. */
  restore(accountId: string, keys: SigningKeys): void {
    this.#keys.set(accountId, keys);
  }

  /** The next key takes the current one's place, and there is a new next one. */
  roll(accountId: string): SigningKeys {
    const keys = { current: this.of(accountId).next, next: randomKey() };
    this.#keys.set(accountId, keys);
    return keys;
  }
}

/** Never from seeded randomness: whoever knows the seed could sign. */
function randomKey(): string {
  return `sig_${randomBytes(24).toString('base64url')}`;
}
