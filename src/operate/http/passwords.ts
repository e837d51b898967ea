/**
 * Check of passwords. A comparison is slow by design, so it is made once, in a separate thread, one after the other,
 * and its result is remembered. If the queue is full, the caller must retry.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { HttpError } from './reply.ts';

/** Comparison of a password with a bcrypt hash. */
export interface Comparer extends Disposable {
  compare(password: string, hash: string): Promise<boolean>;
}

export interface Login {
  readonly user: string;
  readonly password: string;
}

/** Runs a comparison, or rejects it. */
type Limit = (compare: () => Promise<boolean>) => Promise<boolean>;

/** Wrong passwords are remembered separately, so that a flood of them does not evict right ones. */
const REMEMBERED = { right: 256, wrong: 256 };
/** Maximum number of queued comparisons. */
const LONGEST_ROW = 16;
const USUAL_COST = 10;

export class Passwords {
  readonly #comparer: Comparer;
  /** Secret of this process only: the remembered digests reveal no password. */
  readonly #secret = randomBytes(32);
  readonly #right = new Set<string>();
  readonly #wrong = new Set<string>();
  readonly #underWay = new Map<string, Promise<boolean>>();
  readonly #comparisons = new OneByOne();

  constructor(comparer: Comparer) {
    this.#comparer = comparer;
  }

  /**
   * Checks a password. An unknown user takes as long as a known one.
   *
   * @param limit runs each comparison. A remembered result needs none, so it is never limited
   * @throws {HttpError} 503 if the queue is full
   */
  async isRight(
    { user, password }: Login,
    users: ReadonlyMap<string, Secret>,
    limit: Limit = (compare) => compare(),
  ): Promise<boolean> {
    const known = users.get(user);
    const hash = known?.reveal() ?? this.#nobodys(user, users);
    const key = this.#digest(user, hash, password);
    if (this.#right.has(key)) return known !== undefined;
    if (this.#wrong.has(key)) return false;
    const isRight = await this.#once(key, () => limit(() => this.#compare(password, hash)));
    remember(isRight ? this.#right : this.#wrong, key, isRight ? REMEMBERED.right : REMEMBERED.wrong);
    return isRight && known !== undefined;
  }

  /** Compares once for all equal requests at the same time. */
  #once(key: string, compare: () => Promise<boolean>): Promise<boolean> {
    const before = this.#underWay.get(key);
    if (before !== undefined) return before;
    if (this.#underWay.size >= LONGEST_ROW) {
      const message = 'Too many passwords are being checked at the same time; retry.';
      throw new HttpError(503, 'busy', message, { 'Retry-After': '1' });
    }
    const done = compare().finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, done);
    return done;
  }

  #compare(password: string, hash: string): Promise<boolean> {
    return this.#comparisons.run(() => this.#comparer.compare(password, hash));
  }

  /** Hash that no password matches, with the cost of some user's hash: always the same for one name. */
  #nobodys(user: string, users: ReadonlyMap<string, Secret>): string {
    const costs = [...users.values()].map((hash) => hash.reveal().slice(4, 6));
    const digest = createHmac('sha256', this.#secret).update(user).digest();
    const cost = costs[digest.readUInt32BE(0) % Math.max(1, costs.length)] ?? String(USUAL_COST);
    return `$2b$${cost}$${digest.toString('hex').slice(0, 53)}`;
  }

  #digest(...parts: readonly string[]): string {
    const hmac = createHmac('sha256', this.#secret);
    // Prefixed by its length, so that two logins never have the same digest.
    for (const part of parts) hmac.update(`${part.length}\n`).update(part);
    return hmac.digest('base64');
  }
}

/** Remembers a key and forgets the oldest. */
function remember(known: Set<string>, key: string, most: number): void {
  known.add(key);
  if (known.size > most) known.delete(known.values().next().value!);
}

/** Idle time after which the thread ends. */
const IDLE_MS = 30_000;

/** Comparer in a thread that exists only while it is needed. One comparison at a time. */
export function threadComparer(clock: Clock): Comparer {
  let worker: import('node:worker_threads').Worker | undefined;
  let idle: Timer | undefined;

  function end(): void {
    idle?.cancel();
    void worker?.terminate();
    worker = undefined;
  }

  return {
    async compare(password, hash) {
      idle?.cancel();
      const { Worker } = await import('node:worker_threads');
      const thread = (worker ??= new Worker(new URL('bcrypt-worker.js', import.meta.url), { execArgv: [], env: {} }));
      thread.unref();
      try {
        return await answerOf(thread, { password, hash });
      } catch (error) {
        end();
        throw error;
      } finally {
        idle = clock.after(IDLE_MS, end);
      }
    },
    [Symbol.dispose]: end,
  };
}

function answerOf(thread: import('node:worker_threads').Worker, asked: object): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('the thread that compares passwords has ended'));
    const forget = (): void => void thread.off('message', onMessage).off('error', onError).off('exit', onExit);
    const onError = (error: Error): void => {
      forget();
      reject(error);
    };
    const onMessage = (isRight: boolean): void => {
      forget();
      resolve(isRight);
    };
    thread.on('message', onMessage).on('error', onError).on('exit', onExit);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    thread.postMessage(asked);
  });
}
