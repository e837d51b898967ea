/**
 * Views of the database: reads of one moment, on one connection. Those of requests have a signal that ends them, and their
 * number at the same time is limited. A view that was ended sends no more statements, and gives its place up when the
 * server has responded to the last one.
 */
import type { PoolClient } from 'pg';
import type { Clock } from '#foundation/platform/clock.ts';
import { Slots } from '#foundation/platform/slots.ts';
import type { Database } from '../database.ts';
import { StoreError } from '../store-error.ts';
import { drive } from './statements.ts';
import { POSTGRES } from './translate.ts';

interface ViewDeps {
  /** Host, port and database, for messages. */
  readonly place: string;
  /** Maximum number of views of requests at the same time. */
  readonly most: number;
  readonly clock: Clock;
  readonly connected: <T>(use: (client: PoolClient) => Promise<T>) => Promise<T>;
  /** Statements that begin the transaction. */
  readonly begin: string;
  readonly commit: (client: PoolClient) => Promise<void>;
  readonly transaction: Database['transaction'];
}

/** Minimum duration of a view of a slow store. */
const SLOW_MS = 5_000;

export function createViews(deps: ViewDeps): Database['view'] {
  const { place, most, clock, connected, begin, commit, transaction } = deps;
  const slots = new Slots(most);
  /** Start of the first one of the views that were slow, without a quick one since. */
  let slowSince: number | undefined;

  async function timed<T>(run: () => Promise<T>): Promise<T> {
    const begun = { at: clock.now(), monotonic: clock.monotonic() };
    const isSlow = (): boolean => clock.monotonic() - begun.monotonic >= SLOW_MS;
    try {
      const result = await run();
      if (!isSlow()) slowSince = undefined;
      return result;
    } finally {
      if (isSlow()) slowSince ??= begun.at;
    }
  }

  async function onConnection<T>(use: (database: Database) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return connected(async (client) => {
      let isEnded = false;
      const check = (): void => {
        signal?.throwIfAborted();
        if (isEnded) throw new Error('the view of the store has ended');
      };
      const database: Database = {
        dialect: POSTGRES,
        read: (job) => drive(client, job, check),
        view: (within) => within(database),
        transaction,
      };
      const begun = client.query(begin);
      // A failure of it is also one of the statements that follow.
      begun.catch(() => undefined);
      let result: T;
      try {
        result = await use(database);
      } finally {
        isEnded = true;
      }
      await begun;
      await commit(client);
      return result;
    });
  }

  return async (use, signal) => {
    // The daemon's own work must not wait for requests.
    if (signal === undefined) return onConnection(use);
    const startedAt = clock.now();
    const viewed = timed(() => slots.run(() => onConnection(use, signal), signal));
    return untilAborted(viewed, signal, () => slowStore(place, slowSince ?? startedAt));
  };
}

function slowStore(place: string, since: number): StoreError {
  return new StoreError(
    `${place}: the PostgreSQL store has responded slowly since ${new Date(since).toISOString()}: check the load of the server, and the network to it`,
  );
}

/**
 * Returns the result of work, or rejects at once when the signal aborts. The work may then continue.
 *
 * @param late returns the error if the signal is that of a deadline
 */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal, late: () => Error): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => {
    const reason = signal.reason as Error;
    reject(reason.name === 'TimeoutError' ? late() : reason);
  };
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
    work.catch(() => undefined);
  }
}
