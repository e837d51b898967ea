/**
 * Servers for tests of the stores. PostgreSQL is the server of `OPSD_TEST_POSTGRES` (a URL without a database), or
 * Debian's, which each process starts for itself. PGlite replaces it on a machine without PostgreSQL.
 */
import { DebianServer, postgresPrograms, type ServerOptions } from './debian-server.ts';

export type ServerName = 'PGlite' | 'PostgreSQL';

const MISSING = 'PostgreSQL is not installed: apt-get install postgresql';
const given = process.env['OPSD_TEST_POSTGRES'];
const programs = postgresPrograms();
const hasPostgres = given !== undefined || programs !== undefined;

/** The server to test with. CI must have PostgreSQL. */
export const SERVERS: readonly ServerName[] =
  hasPostgres || process.env['CI'] !== undefined ? ['PostgreSQL'] : ['PGlite'];

/** All servers, for tests that show that PGlite can replace PostgreSQL. */
export const ALL_SERVERS: readonly ServerName[] = ['PGlite', ...SERVERS.filter((name) => name !== 'PGlite')];

/** The name of PostgreSQL if a test can start a server of its own. CI must have the programs. */
export const OWN_SERVERS: readonly ServerName[] =
  programs !== undefined || process.env['CI'] !== undefined ? ['PostgreSQL'] : [];

/** Starts a server that the test may stop. It ends with this process. */
export function ownServer(options?: ServerOptions): Promise<DebianServer> {
  if (programs === undefined) throw new Error(MISSING);
  return DebianServer.start(programs, options);
}

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
  return (await ownServer()).url;
}
