/** Empty databases of Debian's PostgreSQL for benchmarks, durable as in production. */
import pg from 'pg';
import { Secret } from '#foundation/platform/secret.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { migrate, type PostgresIdentity } from '#storage/postgres/migrate.ts';
import { openPostgres, type PostgresDatabase } from '#storage/postgres/postgres-database.ts';
import { DebianServer, postgresPrograms } from '../test/support/postgres/debian-server.ts';

let server: Promise<DebianServer> | undefined;
let databases = 0;

export interface EmptyPostgres extends AsyncDisposable {
  readonly database: PostgresDatabase;
  readonly identity: PostgresIdentity;
}

/** Creates a database with the schema. The server starts once, and ends with this process. */
export async function emptyPostgres(): Promise<EmptyPostgres> {
  const { url } = await (server ??= DebianServer.start(postgresPrograms()!, { settings: { fsync: 'on' } }));
  const name = `bench_${(databases += 1)}`;
  const client = new pg.Client(`${url}/postgres`);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const database = openPostgres({ url: Secret.of(`${url}/${name}`), name: 'bench', poolSize: 8, clock: systemClock });
  const identity = await migrate(database);
  return { database, identity, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}
