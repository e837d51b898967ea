/**
 * Connections to PostgreSQL. Nothing depends on the state of a session, so that a pooler can give each transaction
 * another connection of its own (PgBouncer in transaction mode): statements are unnamed, and timeouts are set in each
 * transaction.
 */
import pg, { type ClientConfig, type PoolClient } from 'pg';
import type { Secret } from '#foundation/platform/secret.ts';
import { connectionUri } from './connection-uri.ts';
import type { LeaseConnection } from './leases.ts';
import type { ConnectNotices } from './notices.ts';
import { explainPostgres, isTlsDeclined } from './postgres-error.ts';
import { drive } from './statements.ts';
import { TYPES } from './values.ts';

export interface ConnectionSettings {
  /** URI with the user and the password, read for each new connection. */
  readonly url: Secret;
  /** Name that the server shows for the connections. */
  readonly name: string;
  /** Maximum time of a response of the server, and of waiting for a free connection. */
  readonly timeoutMs: number;
}

export interface Connections {
  connect(): Promise<PoolClient>;
  /** Cuts all connections of now. Their statements fail at once, and the next ones get new connections. */
  renew(): void;
  end(): Promise<void>;
}

/** Maximum time of connecting. */
const CONNECT_MS = 10_000;

/**
 * Opens a pool. A server that cannot be reached is no error before the first use.
 *
 * @param size maximum number of connections
 */
export function openPool(settings: ConnectionSettings, size: number): Connections {
  const live = new Set<pg.Client>();
  const { client, connected } = connector(settings, (created) => {
    live.add(created);
    // A lost connection is an error of the next statement. Without a listener, it would end the process.
    created.on('error', () => undefined).once('end', () => live.delete(created));
  });
  const pool = new pg.Pool({
    Client: client as unknown as new () => pg.Client,
    max: size,
    connectionTimeoutMillis: settings.timeoutMs,
  });
  pool.on('error', () => undefined);
  return {
    connect: () => connected(() => pool.connect()),
    renew() {
      for (const created of live) {
        // The pool drops an unused connection at this event; the end of its socket would be later.
        created.emit('error', new Error('Connection terminated'));
        created.connection.stream.destroy();
      }
    },
    end: () => pool.end(),
  };
}

/** Opens one connection outside of the pool. Each statement is a transaction of its own. */
export async function openLeaseConnection(settings: ConnectionSettings): Promise<LeaseConnection> {
  const place = databasePlace(settings.url);
  const { client, connected } = connector(settings);
  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw explainPostgres(error, place);
    }
  };
  return explained(() =>
    connected(async () => {
      const created = client();
      created.on('error', () => undefined);
      await created.connect();
      return { run: (work) => explained(() => drive(created, work)), close: () => created.end() };
    }),
  );
}

/** Opens one connection outside of the pool for notices. A pooler of transactions delivers none. */
export function noticeConnections(settings: ConnectionSettings): ConnectNotices {
  const { client, connected } = connector(settings);
  return (onNotice, onEnd) =>
    connected(async () => {
      const created = client();
      created.on('error', onEnd).on('end', onEnd);
      created.on('notification', ({ payload = '' }) => onNotice(payload));
      await created.connect();
      return { run: (work) => drive(created, work), close: () => void created.end().catch(() => undefined) };
    });
}

/** Returns host, port and database of the URI, for messages. */
export function databasePlace(url: Secret): string {
  return connectionUri(url).place;
}

function connector({ url, name, timeoutMs }: ConnectionSettings, onCreated?: (client: pg.Client) => void) {
  /** True after the server declined TLS, which `sslmode=prefer` accepts. */
  let isPlain = false;

  function config(): ClientConfig {
    const uri = new URL(connectionUri(url).href);
    if (isPlain) uri.searchParams.set('sslmode', 'disable');
    return {
      connectionString: uri.href,
      application_name: name,
      types: TYPES,
      // Statements that do not depend on each other wait for one round trip.
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: Math.min(CONNECT_MS, timeoutMs),
      query_timeout: timeoutMs,
    };
  }

  /** Reads the URI anew, because the password may have been replaced. */
  function client(): pg.Client {
    try {
      const created = new pg.Client(config());
      // Otherwise, the driver looks for a password in files.
      created.password ??= '';
      onCreated?.(created);
      return created;
    } catch (error) {
      // The pool also creates clients in its timers, where nothing would catch this error.
      const connect = (callback?: (thrown: unknown) => void): unknown =>
        callback === undefined ? Promise.reject(error) : process.nextTick(callback, error);
      return Object.assign(new pg.Client({}), { connect });
    }
  }

  async function connected<T>(connect: () => Promise<T>): Promise<T> {
    try {
      return await connect();
    } catch (error) {
      isPlain = isTlsDeclined(error) && connectionUri(url).isTlsOptional;
      if (!isPlain) throw error;
      return connect();
    }
  }

  return { client, connected };
}
