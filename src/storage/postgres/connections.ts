/**
 * Connections to PostgreSQL. Nothing depends on the state of a session, so that a pooler can give each transaction
 * another connection of its own (PgBouncer in transaction mode): statements are unnamed, and timeouts are set in each
 * transaction.
 */
import pg, { type ClientConfig } from 'pg';
import type { Secret } from '#foundation/platform/secret.ts';
import { StoreError } from '../store-error.ts';
import type { LeaseConnection } from './leases.ts';
import { drive } from './statements.ts';
import { TYPES } from './values.ts';

export interface ConnectionSettings {
  /** URI with the user and the password, read for each new connection. */
  readonly url: Secret;
  /** Name that the server shows for the connections. */
  readonly name: string;
  /** Maximum time of connecting, and of a response of the server. */
  readonly timeoutMs: number;
}

/**
 * Opens a pool. A server that cannot be reached is no error before the first use.
 *
 * @param size maximum number of connections
 */
export function openPool(settings: ConnectionSettings, size: number): pg.Pool {
  /** Client that reads the URL itself, because the password may have been replaced. */
  class Client extends pg.Client {
    constructor() {
      super(clientConfig(settings));
    }
  }
  const pool = new pg.Pool({ Client, max: size, connectionTimeoutMillis: settings.timeoutMs });
  // A lost connection is an error of the next statement. Without a listener, it would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Opens one connection outside of the pool. Each statement is a transaction of its own. */
export async function openLeaseConnection(settings: ConnectionSettings): Promise<LeaseConnection> {
  const client = new pg.Client(clientConfig(settings));
  client.on('error', () => undefined);
  await client.connect();
  return { run: (work) => drive(client, work), close: () => client.end() };
}

function clientConfig({ url, name, timeoutMs }: ConnectionSettings): ClientConfig {
  return {
    connectionString: parsed(url).href,
    application_name: name,
    types: TYPES,
    // Statements that do not depend on each other wait for one round trip.
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  };
}

/** Returns host, port and database of the URI, for messages. */
export function placeOf(url: Secret): string {
  const { hostname, port, pathname, searchParams } = parsed(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return `${host || 'localhost'}:${port || '5432'}${decodeURIComponent(pathname)}`;
}

/** @throws {StoreError} without the text of the URI, which contains a password */
function parsed(url: Secret): URL {
  const parts = URL.parse(url.reveal());
  if (parts === null || !/^postgres(?:ql)?:$/.test(parts.protocol)) {
    throw new StoreError('storage.postgres.url must be a URI such as postgres://user:password@host:5432/opsd');
  }
  // `sslmode` then means what it means to all other programs of PostgreSQL.
  if (!parts.searchParams.has('uselibpqcompat')) parts.searchParams.set('uselibpqcompat', 'true');
  return parts;
}
