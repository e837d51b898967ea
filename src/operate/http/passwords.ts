/**
 * Whether a password is a user's. Each comparison is made slow on purpose, so it is made once, in a thread of its own,
 * one after the other; what came of it is remembered. Who does not wait for a place in the row is told to come again.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { HttpError } from './reply.ts';

/** Compares a password with a bcrypt hash. */
export interface Comparer extends Disposable {
  compare(password: string, hash: string): Promise<boolean>;
}

export interface Login {
  readonly user: string;
  readonly password: string;
}

/** Wrong ones are remembered apart, so that a flood of them forgets none of the right ones. */
const REMEMBERED = { right: 256, wrong: 256 };
/** Comparisons that wait for others. */
const LONGEST_ROW = 16;
const USUAL_COST = 10;

export class Passwords {
  readonly #comparer: Comparer;
  /** Of this process alone: what is remembered tells nobody a password. */
  readonly #secret = randomBytes(32);
  readonly #right = new Set<string>();
  readonly #wrong = new Set<string>();
  readonly #underWay = new Map<string, Promise<boolean>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(comparer: Comparer) {
    this.#comparer = comparer;
  }

  /**
   * A user who is not known takes as long as one who is.
   *
   * @throws {HttpError} 503 when too many wait
   */
  async isRight({ user, password }: Login, users: ReadonlyMap<string, Secret>): Promise<boolean> {
    const known = users.get(user);
    const hash = known?.reveal() ?? this.#nobodys(user, users);
    const key = this.#digest(user, hash, password);
    if (this.#right.has(key)) return known !== undefined;
    if (this.#wrong.has(key)) return false;
    const isRight = await this.#compare(key, password, hash);
    remember(isRight ? this.#right : this.#wrong, key, isRight ? REMEMBERED.right : REMEMBERED.wrong);
    return isRight && known !== undefined;
  }

  /** Those who ask the same at the same time share one comparison. */
  #compare(key: string, password: string, hash: string): Promise<boolean> {
    const before = this.#underWay.get(key);
    if (before !== undefined) return before;
    if (this.#underWay.size >= LONGEST_ROW) {
      const message = 'Too many passwords are being checked at the same time; try again.';
      throw new HttpError(503, 'busy', message, { 'Retry-After': '1' });
    }
    const compared = this.#last.then(() => this.#comparer.compare(password, hash));
    this.#last = compared.catch(() => undefined);
    const done = compared.finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, done);
    return done;
  }

  /** A hash that no password has, of a cost that some user's has: for the same name always the same. */
  #nobodys(user: string, users: ReadonlyMap<string, Secret>): string {
    const costs = [...users.values()].map((hash) => hash.reveal().slice(4, 6));
    const digest = createHmac('sha256', this.#secret).update(user).digest();
    const cost = costs[digest.readUInt32BE(0) % Math.max(1, costs.length)] ?? String(USUAL_COST);
    return `$2b$${cost}$${digest.toString('hex').slice(0, 53)}`;
  }

  #digest(...parts: readonly string[]): string {
    const hmac = createHmac('sha256', this.#secret);
    // The length before each: two logins never read as one.
    for (const part of parts) hmac.update(`${part.length}\n`).update(part);
    return hmac.digest('base64');
  }
}

/** The one that was found out first is forgotten first. */
function remember(known: Set<string>, key: string, most: number): void {
  known.add(key);
  if (known.size > most) known.delete(known.values().next().value!);
}

/** With nothing to compare for so long the thread ends. */
const IDLE_MS = 30_000;

/** A thread that is there while it is needed. One comparison at a time. */
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
