/**
 * Notices between replicas: LISTEN on a connection of its own, and NOTIFY within the transaction that they are about.
 * A notice only makes work begin sooner. Everything that it is about is in the store as well, and is looked for
 * periodically: a notice can be lost with its connection, and a pooler of transactions (PgBouncer) delivers none.
 */
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { get, run, type Work } from '../database.ts';

const CHANNEL = 'opsd';

/** Time between two checks of the connection: a half-open connection delivers nothing, without an error. */
const CHECK_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

/** Subject of a notice: `commands` of an account, the state of one `command`, or the pauses and plans of a `ledger`. */
export type Topic = 'commands' | 'command' | 'ledger';

export interface Notice {
  readonly topic: Topic;
  /** Account or id. */
  readonly key: string;
}

/** @param notice undefined if notices may have been lost: everything must be looked at */
type Listener = (notice: Notice | undefined) => void;

export interface NoticeConnection {
  run<T>(work: Work<T>): Promise<T>;
  /** Does not wait: a server that is gone may never respond. */
  close(): void;
}

/** Opens a connection. It calls `onNotice` for each notification, and `onEnd` when it is lost. */
export type ConnectNotices = (onNotice: (payload: string) => void, onEnd: () => void) => Promise<NoticeConnection>;

/** Sends a notice when the transaction commits. */
export function* notify(topic: Topic, key = ''): Work<void> {
  yield* get('SELECT pg_notify(?, ?)', CHANNEL, `${topic} ${key}`);
}

export class Notices implements Disposable {
  readonly #connect: ConnectNotices;
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  #connection: NoticeConnection | undefined;
  #timer: Timer | undefined;
  #end: ((error: unknown) => void) | undefined;
  #retryMs = FIRST_RETRY_MS;
  #isDisposed = false;
  #problem: string | undefined = 'not connected yet';

  constructor(connect: ConnectNotices, clock: Clock) {
    this.#connect = connect;
    this.#clock = clock;
  }

  /** Reason why no notices arrive; undefined while they do. */
  get problem(): string | undefined {
    return this.#problem;
  }

  listen(listener: Listener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Connects, and again after each loss. The promise resolves after the first attempt; failures are in `problem`. */
  async start(): Promise<void> {
    let connection: NoticeConnection | undefined;
    let isOver = false;
    const end = (error: unknown): void => {
      if (isOver) return;
      isOver = true;
      connection?.close();
      this.#retry(error);
    };
    try {
      connection = await this.#connect(
        (payload) => this.#tell(noticeOf(payload)),
        () => end('the connection was closed'),
      );
      await connection.run(run(`LISTEN ${CHANNEL}`));
    } catch (error) {
      connection?.close();
      return end(error);
    }
    if (isOver || this.#isDisposed) return connection.close();
    this.#connection = connection;
    this.#end = end;
    this.#problem = undefined;
    this.#retryMs = FIRST_RETRY_MS;
    this.#tell(undefined);
    this.#checkLater(connection, end);
  }

  /** Replaces the connection, which may be dead without an error. */
  renew(): void {
    this.#end?.('the connection was replaced');
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer?.cancel();
    this.#connection?.close();
    this.#connection = undefined;
    this.#listeners.clear();
  }

  #checkLater(connection: NoticeConnection, end: (error: unknown) => void): void {
    this.#timer = this.#clock.after(CHECK_MS, () => {
      connection.run(get('SELECT 1 AS alive')).then(
        () => this.#connection === connection && this.#checkLater(connection, end),
        (error: unknown) => end(error),
      );
    });
  }

  #retry(error: unknown): void {
    this.#connection = undefined;
    this.#timer?.cancel();
    if (this.#isDisposed) return;
    this.#problem = errorMessage(error);
    this.#timer = this.#clock.after(this.#retryMs, () => void this.start());
    this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
  }

  #tell(notice: Notice | undefined): void {
    for (const listener of this.#listeners) listener(notice);
  }
}

function noticeOf(payload: string): Notice {
  const [topic = '', ...key] = payload.split(' ');
  return { topic: topic as Topic, key: key.join(' ') };
}
