/**
 * Servers for tests of the stores. PGlite is always available. PostgreSQL is the server of `OPSD_TEST_POSTGRES` (a URL
 * without a database), or Debian's, which each process starts for itself.
 */
import { postgresPrograms, startPostgres } from './debian-server.ts';

export type ServerName = 'PGlite' | 'PostgreSQL';

const given = process.env['OPSD_TEST_POSTGRES'];
const programs = postgresPrograms();
const hasPostgres = given !== undefined || programs !== undefined;

/** Servers to test with. CI must have PostgreSQL. */
export const SERVERS: readonly ServerName[] =
  hasPostgres || process.env['CI'] !== undefined ? ['PGlite', 'PostgreSQL'] : ['PGlite'];

const started = new Map<ServerName, Promise<string>>();

/** Returns the URL of a server without a database. The server is started at the first use. */
export function urlOf(name: ServerName): Promise<string> {
  const url = started.get(name) ?? start(name);
  started.set(name, url);
  return url;
}

async function start(name: ServerName): Promise<string> {
  if (name === 'PGlite') return (await import('./pglite-server.ts')).startPglite();
  if (given !== undefined) return given;
  if (programs === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql');
  return startPostgres(programs);
}
