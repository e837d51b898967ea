/**
 * Limit of wrong passwords and tokens from one network address, in memory. What is known to be right or wrong without a
 * comparison never gets here, so a flood locks out nobody whose credentials work.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '#foundation/platform/clock.ts';
import { HttpError } from './reply.ts';

const WINDOW_MS = 300_000;
const MOST_FAILURES = 10;
/** Maximum number of remembered addresses; the oldest is forgotten first. */
const MOST_ADDRESSES = 2_000;
/** Maximum number of remembered wrong tokens; a client that repeats one counts once. */
const MOST_TOKENS = 256;

export class SignInLimit {
  readonly #clock: Clock;
  readonly #failures = new Map<string, { count: number; readonly endsAt: number }>();
  /** Digests. */
  readonly #wrongTokens = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs an attempt. It counts as failed until it succeeds, so that many attempts at once do not exceed the limit.
   *
   * @throws {HttpError} 429 after too many failures
   */
  async attempt<T>(address: string | undefined, signIn: () => Promise<T | undefined>): Promise<T | undefined> {
    const key = networkOf(address ?? '');
    const now = this.#clock.monotonic();
    let known = this.#failures.get(key);
    if (known === undefined || known.endsAt <= now) {
      this.#failures.delete(key);
      if (this.#failures.size >= MOST_ADDRESSES) this.#failures.delete(this.#failures.keys().next().value!);
      this.#failures.set(key, (known = { count: 0, endsAt: now + WINDOW_MS }));
    }
    if (known.count >= MOST_FAILURES) {
      const seconds = Math.ceil((known.endsAt - now) / 1_000);
      const message = `Too many failed sign-ins from this address. Retry in ${seconds} s.`;
      throw new HttpError(429, 'rate_limited', message, { 'Retry-After': String(seconds) });
    }
    known.count++;
    const entrant = await signIn();
    if (entrant !== undefined) known.count--;
    return entrant;
  }

  /**
   * Counts a token that was compared and is wrong.
   *
   * @throws {HttpError} 429 after too many failures
   */
  async wrongToken(address: string | undefined, token: string): Promise<void> {
    const digest = createHash('sha256').update(token).digest('base64');
    if (this.#wrongTokens.has(digest)) return;
    await this.attempt(address, async () => undefined);
    this.#wrongTokens.add(digest);
    if (this.#wrongTokens.size > MOST_TOKENS) this.#wrongTokens.delete(this.#wrongTokens.values().next().value!);
  }
}

/** IPv4 address, or the first 64 bits of an IPv6 address: one client has all addresses after them. */
function networkOf(address: string): string {
  const v4 = /(?:^|:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (v4 !== undefined) return v4;
  const [start = '', end] = address.split('::');
  const groups = start.split(':').filter((group) => group !== '');
  return end === undefined ? groups.slice(0, 4).join(':') : [...groups, '0', '0', '0', '0'].slice(0, 4).join(':');
}
