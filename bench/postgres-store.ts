/** Empty databases of Debian's PostgreSQL for benchmarks, durable as in production. */
import pg from 'pg';
import { Secret } from '#foundation/platform/secret.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import type { Opened } from '#storage/meta.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { openPostgres, type PostgresDatabase } from '#storage/postgres/postgres-database.ts';
import { DebianServer, postgresPrograms } from '../test/support/postgres/debian-server.ts';

/** True if the server lists the statements that it has run. */
export const LISTS_STATEMENTS = process.env['STATEMENTS'] === '1';

let server: Promise<DebianServer> | undefined;
let databases = 0;

export interface EmptyPostgres extends AsyncDisposable {
  readonly database: PostgresDatabase;
  readonly identity: Opened;
}

/** Creates a database without tables, and returns its URL. The server starts once, and ends with this process. */
export async function emptyDatabase(): Promise<string> {
  const settings = { fsync: 'on', ...(LISTS_STATEMENTS && { shared_preload_libraries: 'pg_stat_statements' }) };
  const { url } = await (server ??= DebianServer.start(postgresPrograms()!, { settings }));
  const name = `bench_${(databases += 1)}`;
  const client = new pg.Client(`${url}/postgres`);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return `${url}/${name}`;
}

/** Creates a database with the schema. */
export async function emptyPostgres(): Promise<EmptyPostgres> {
  const url = Secret.of(await emptyDatabase());
  const database = openPostgres({ url, name: 'bench', poolSize: 8, clock: systemClock });
  const identity = await migrate(database);
  return { database, identity, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}
