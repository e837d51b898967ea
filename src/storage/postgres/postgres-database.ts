/** Database on PostgreSQL. Each transaction has its own connection, and awaits one statement after the other. */
import type { PoolClient, QueryResult } from 'pg';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { Database, Job, Row } from '../database.ts';
import { StoreError } from '../store-error.ts';
import { openPool, databasePlace } from './connections.ts';
import { createViews } from './read-views.ts';
import { CommitUnknownError, explainPostgres, isConnectionLost, isReadOnly, LeaseLostError } from './postgres-error.ts';
import { drive, firstStep, together } from './statements.ts';
import { isOfTimeline, TIMELINE } from './timeline.ts';
import { POSTGRES } from './translate.ts';

export interface PostgresOptions {
  readonly url: Secret;
  /** Name that the server shows for the connections. */
  readonly name: string;
  /** Maximum number of connections. */
  readonly poolSize: number;
  readonly clock: Clock;
  /** Epoch of this replica's lease on an account; absent without replicas. */
  readonly epochOf?: (account: string) => number | undefined;
}

export interface PostgresDatabase extends Database, AsyncDisposable {
  /** Host, port and database, for messages. */
  readonly place: string;
  /** Replaces all connections, which may be dead without an error. Their transactions fail at once. */
  renew(): void;
}

/** Maximum duration of a statement. The driver waits longer, so that the server reports the error. */
const STATEMENT_MS = 30_000;
const RESPONSE_MS = STATEMENT_MS + 5_000;
/** The server ends the transaction of a process that does not continue, because others wait for its locks. */
const IDLE_MS = 5_000;
const LIMITS = `SET LOCAL statement_timeout = ${STATEMENT_MS}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`;

const READ = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${LIMITS}`;
const WRITE = `BEGIN; ${LIMITS}; SELECT CAST(pg_current_xact_id() AS TEXT) AS id, ${TIMELINE} AS timeline`;
const FENCE = 'SELECT account, epoch FROM leases WHERE account = ANY ($1) FOR SHARE';
const STATUS = `SELECT pg_xact_status(CAST($1 AS xid8)) AS status, ${TIMELINE} AS timeline`;

/** Attempts to find out the outcome of a commit, one each second. */
const STATUS_ATTEMPTS = 20;

export function openPostgres({ url, name, poolSize, clock, epochOf }: PostgresOptions): PostgresDatabase {
  const place = databasePlace(url);
  const pool = openPool({ url, name, timeoutMs: RESPONSE_MS }, poolSize);
  const closing = new AbortController();

  /** Runs `use` with a connection, which is not used again if its state is unknown. */
  async function connected<T>(use: (client: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient | undefined;
    let isBroken = false;
    try {
      client = await pool.connect();
      return await use(client);
    } catch (error) {
      isBroken = isConnectionLost(error) || isReadOnly(error) || !(await isRolledBack(client));
      throw explainPostgres(error, place);
    } finally {
      client?.release(isBroken);
    }
  }

  /** @throws {LeaseLostError} if this replica does not own one of the accounts */
  async function begin(client: PoolClient, accounts: readonly string[]): Promise<Row> {
    if (accounts.length === 0 || epochOf === undefined) return lastRow(await client.query<Row>(WRITE));
    const held = new Map(accounts.map((account) => [account, epochOf(account)]));
    for (const [account, epoch] of held) if (epoch === undefined) throw new LeaseLostError(account, epoch, undefined);
    const [begun, leases] = await together([client.query<Row>(WRITE), client.query<Row>(FENCE, [accounts])]);
    const current = new Map(leases.rows.map((lease) => [lease['account'], lease['epoch'] as number]));
    const row = lastRow(begun);
    for (const [account, epoch = 0] of held) {
      if (current.get(account) === epoch && isOfTimeline(epoch, String(row['timeline']))) continue;
      throw new LeaseLostError(account, epoch, current.get(account));
    }
    return row;
  }

  async function transaction<T>(job: Job<T>, owned: string | readonly string[] = []): Promise<T> {
    /** Set from the moment at which the transaction may be committed. */
    let pending: { readonly begun: Row; readonly result: T } | undefined;
    try {
      return await connected(async (client) => {
        const begun = await begin(client, typeof owned === 'string' ? [owned] : owned);
        const result = await drive(client, job);
        pending = { begun, result };
        await commit(client);
        return result;
      });
    } catch (error) {
      if (pending === undefined || !(error instanceof Error) || !isConnectionLost(error.cause)) throw error;
      const status = await statusOf(pending.begun);
      if (status === 'committed') return pending.result;
      if (status === 'aborted') throw error;
      throw new CommitUnknownError(
        `${place}: the connection was lost during a commit, and its outcome is unknown: the state in memory must be loaded again`,
        { cause: error },
      );
    }
  }

  /** Returns the status of a transaction whose commit got no response; undefined if it cannot be found out. */
  async function statusOf(begun: Row): Promise<unknown> {
    for (let attempt = 0; attempt < STATUS_ATTEMPTS && !closing.signal.aborted; attempt += 1) {
      try {
        if (attempt > 0) await sleep(clock, 1_000, closing.signal);
        const { rows } = await connected((client) => client.query<Row>(STATUS, [begun['id']]));
        const [found] = rows;
        if (found?.['timeline'] !== begun['timeline']) return undefined;
        if (found?.['status'] !== 'in progress') return found?.['status'];
      } catch {
        // The server is still unavailable.
      }
    }
    return undefined;
  }

  const read = async <T>(job: Job<T>): Promise<T> => {
    const reading = firstStep(job);
    // Many reads are about no rows, such as those of no ids.
    if (reading.step.done === true) return reading.step.value;
    return connected(async (client) => {
      const [, result] = await together<[unknown, T]>([client.query(READ), drive(client, reading)]);
      await commit(client);
      return result;
    });
  };
  // The other connections remain for what the daemon does by itself.
  const most = Math.ceil(poolSize / 2);
  return {
    dialect: POSTGRES,
    place,
    read,
    view: createViews({ place, most, clock, connected, begin: READ, commit, transaction }),
    transaction,
    renew: () => pool.renew(),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await pool.end();
    },
  };
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT');
  // The server rolls back if a statement failed, even if the work continued.
  if (command !== 'COMMIT')
    throw new StoreError('the transaction was rolled back, because one of its statements failed');
}

/** Ends a failed transaction. Returns false if the connection cannot be used again. */
async function isRolledBack(client: PoolClient | undefined): Promise<boolean> {
  try {
    await client?.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/** Returns the row of the last one of several statements. */
function lastRow(results: unknown): Row {
  return (results as readonly QueryResult<Row>[]).at(-1)!.rows[0]!;
}
