/** Databases for tests of the stores. */
import { createHash } from 'node:crypto';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { run } from '#storage/database.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { openPostgres, type PostgresDatabase, type PostgresOptions } from '#storage/postgres/postgres-database.ts';
import { POSTGRES_MIGRATIONS } from '#storage/postgres/schema.ts';
import { urlOf, type ServerName } from './servers.ts';

/** Creates an empty database, and returns its URL. It is dropped after the test. */
export async function emptyDatabase(server: ServerName, template?: string): Promise<string> {
  const url = await urlOf(server);
  const name = `test_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
  const change = (sql: string) => inSession(url, (client) => client.query(sql));
  if (server === 'PostgreSQL') {
    await change(`CREATE DATABASE ${name} ${template === undefined ? '' : `TEMPLATE ${template}`}`);
    onTestFinished(async () => void (await change(`DROP DATABASE ${name} WITH (FORCE)`)));
  } else {
    onTestFinished(async () => void (await change(`DROP SCHEMA IF EXISTS ${name} CASCADE`)));
  }
  return `${url}/${name}`;
}

async function inSession<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(`${url}/postgres`);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Lock of the sessions that create the template. */
const TEMPLATE_LOCK = 7_201;
const SCHEMA_HASH = createHash('sha256').update(String(POSTGRES_MIGRATIONS)).digest('hex').slice(0, 12);
const templates = new Map<string, Promise<string>>();

/**
 * Returns the name of a database with the schema, from which others are copied: that takes less than half of the time of
 * the migrations. All processes use one, which stays on the server.
 */
function templateOn(url: string): Promise<string> {
  const name = `test_template_${SCHEMA_HASH}`;
  const made = templates.get(url) ?? inSession(url, (client) => makeTemplate(client, url, name));
  templates.set(url, made);
  return made;
}

async function makeTemplate(client: pg.Client, url: string, name: string): Promise<string> {
  await client.query(`SELECT pg_advisory_lock(${TEMPLATE_LOCK})`);
  const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
  if (rowCount === 1) return name;
  const unready = `${name}_unready`;
  await client.query(`DROP DATABASE IF EXISTS ${unready}`);
  await client.query(`CREATE DATABASE ${unready}`);
  const database = openPostgres({
    url: Secret.of(`${url}/${unready}`),
    name: 'template',
    poolSize: 1,
    clock: systemClock,
  });
  await migrate(database);
  // Each copy gets an identity of its own.
  await database.transaction(run(`DELETE FROM meta WHERE key <> 'schema'`));
  await database[Symbol.asyncDispose]();
  await client.query(`ALTER DATABASE ${unready} RENAME TO ${name}`);
  return name;
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
  const template = server === 'PostgreSQL' ? await templateOn(await urlOf(server)) : undefined;
  const url = await emptyDatabase(server, template);
  await migrate(opened(url));
  return url;
}
