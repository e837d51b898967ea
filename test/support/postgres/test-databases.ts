/** Databases for tests of the stores. */
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { openPostgres, type PostgresDatabase, type PostgresOptions } from '#storage/postgres/postgres-database.ts';
import { urlOf, type ServerName } from './servers.ts';

/** Creates an empty database, and returns its URL. It is dropped after the test. */
export async function emptyDatabase(server: ServerName): Promise<string> {
  const url = await urlOf(server);
  const name = `test_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
  const change = async (sql: string): Promise<void> => {
    const client = new pg.Client(`${url}/postgres`);
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  if (server === 'PostgreSQL') {
    await change(`CREATE DATABASE ${name}`);
    onTestFinished(() => change(`DROP DATABASE ${name} WITH (FORCE)`));
  } else {
    onTestFinished(() => change(`DROP SCHEMA IF EXISTS ${name} CASCADE`));
  }
  return `${url}/${name}`;
}

/** Opens a database. It is closed after the test. */
export function opened(url: string, options: Partial<PostgresOptions> = {}): PostgresDatabase {
  const database = openPostgres({ url: Secret.of(url), name: 'test', poolSize: 4, clock: systemClock, ...options });
  onTestFinished(() => database[Symbol.asyncDispose]());
  return database;
}

/** Opens a new database with the schema of the stores. */
export async function postgresStore(server: ServerName): Promise<PostgresDatabase> {
  return opened(await migratedUrl(server));
}

/** Creates a database with the schema of the stores, and returns its URL. */
export async function migratedUrl(server: ServerName): Promise<string> {
  const url = await emptyDatabase(server);
  await migrate(opened(url));
  return url;
}
